#!/usr/bin/env bash
# The Python suite on a free-threaded build of CPython with its GIL off, in an environment made for it, then the tests
# of many threads again and again:
#   TIMES=100 tests/tools/free_threaded.sh python3.13t [options of pytest]
set -euo pipefail
python=$1
shift
cd "$(dirname "$0")/../.."
"$python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' ||
    { echo "$python always has a GIL" >&2; exit 2; }

# What has wheels for such builds, which Jupyter has not: the notebooks are left out.
export PIP_ONLY_BINARY=:all:
"$python" -m venv build/free
build/free/bin/pip install -q numpy pytest pytest-timeout pytest-xdist hypothesis setuptools ml_dtypes matplotlib pandas \
    'nvidia-cuda-nvrtc==13.0.*' cuda-pathfinder
build/free/bin/pip install -q --no-deps --force-reinstall .

# A package that does not know of such builds must not turn the GIL on for all.
export PYTHON_GIL=0
build/free/bin/pytest --ignore=tests/docs/test_notebooks.py "$@"
for ((i = 1; i <= ${TIMES:-20}; ++i)); do
    build/free/bin/pytest -q tests/robustness/test_threads.py || { echo "in run $i" >&2; exit 1; }
done
