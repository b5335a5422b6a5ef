#!/usr/bin/env bash
# Part of the Python suite under valgrind's memcheck, some fifty times slower than without:
#   CFLAGS="-g -DPTX_NO_CLONES" PYTHON -m pip install '.[test]'      (without AVX2, see tests/ptxsim/Makefile)
#   tests/tools/memcheck.sh PYTHON [options of pytest]
set -euo pipefail
python=$1
shift
cd "$(dirname "$0")/../.."
(($#)) || set -- tests/api/test_numpy_like.py tests/arrays/test_device_array.py tests/arrays/test_views.py tests/reductions/test_ladder.py::test_quick
# Memory for Python's objects comes from malloc, so that each is checked by itself. Children run without valgrind.
PYTHONMALLOC=malloc valgrind --quiet --error-exitcode=9 --suppressions=tests/tools/memcheck.supp \
    "$python" "$(dirname "$python")/pytest" -q --timeout=0 -p no:cacheprovider "$@"
