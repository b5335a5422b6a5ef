#!/usr/bin/env bash
# A newcomer's first ten minutes: install, demo, a sum, wrong arguments, a profile, a notebook, each with its time.
#   tests/tools/first_ten_minutes.sh [--notebook] WHEEL [python]   the wheel, with pip's folder alone in PATH: no compiler
#   tests/tools/first_ten_minutes.sh [--notebook] README.md        the README's first command, in the clone where it lies
# --notebook installs JupyterLab, too, and has a browser (Debian's chromium and chromium-driver) open the ladder's
# notebook. tests/tools/bare.sh runs this in a bare Debian. The package's tests say what is right; this, that what people
# do first goes well.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
notebook=
if [[ ${1:-} == --notebook ]]; then notebook=yes && shift; fi
what=$(realpath "$1")
python=${2:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"

say() { printf '\n=== %s (after %d s)\n' "$1" "$SECONDS"; }

# What pip needs to know of this machine may stay, and nothing else.
mapfile -t kept < <(env | grep -E '^(PIP_|SSL_CERT|https?_proxy|no_proxy|GPUREDUCE_CUDA_ARCHITECTURES=)' || true)
clean() { (cd "$work/home" && env -i HOME="$work/home" LANG=C.UTF-8 PATH="$path" "${kept[@]}" "$@"); }

refuses() { # how it ends, a text that it says on standard error, a command
    local code=0
    clean "${@:3}" >"$work/out" 2>"$work/err" || code=$?
    if [[ $code != "$1" || -s $work/out ]] || ! grep -q -- "$2" "$work/err" || grep -q Traceback "$work/err"; then
        cat "$work/out" "$work/err"
        echo "ended with $code, not with $1 and '$2': ${*:3}" && exit 1
    fi
    echo "refused: $(tail -n 1 "$work/err")"
}

if [[ $what == *.whl ]]; then
    say "install $(basename "$what")"
    "$python" -m venv "$work/venv"
    bin=$work/venv/bin path=$work/venv/bin
    clean pip install -q "$what"
    say "demo"
    clean gpureduce demo | tee "$work/demo"
else
    say "install and demo, by the README's first command"
    command=$(sed -n '/<!-- install-command -->/,/<!-- end -->/p' "$what" | grep -v -e '^<!--' -e '^```')
    [[ $command == *pip\ install* && $command == *demo* ]]
    echo "$command"
    clone=$(dirname "$what")
    bin=$clone/.venv/bin path=$PATH
    clean bash -euo pipefail -c "cd '$clone'; $command" | tee "$work/demo"
    path=$bin:$path
fi
for rung in v0 v7 v12; do grep -qw "$rung" "$work/demo"; done

say "a sum"
clean python - 2>"$work/err" <<'PYTHON'
import numpy as np
import gpureduce

a = np.random.default_rng(0).random((1000, 1000), dtype=np.float32)
print(gpureduce.sum(a), gpureduce.sum(a, variant="v7"), a.sum(dtype=np.float64))
assert abs(gpureduce.sum(a) / a.sum(dtype=np.float64) - 1) < 1e-6
assert (gpureduce.max(a, axis=0) == a.max(axis=0)).all()
np.save("numbers.npy", np.arange(1003.0))
PYTHON
cat "$work/err"
clean gpureduce sum numbers.npy | tee "$work/sum"
grep -q 502503 "$work/sum"

say "wrong arguments"
refuses 2 'v99' gpureduce profile v99
refuses 2 'nowhere.npy' gpureduce sum nowhere.npy
refuses 1 'no such device' GPUREDUCE_LIBCUDA=/nowhere/libcuda.so.1 gpureduce sum numbers.npy --device cuda
clean python - <<'PYTHON'
import gpureduce

for options, error, said in [
    ({"variant": "v99"}, ValueError, "v0"),
    ({"varient": "v7"}, TypeError, "varient"),
    ({"axis": 2}, ValueError, "axis"),
]:
    try:
        gpureduce.sum([1.0, 2.0], **options)
    except error as what:
        assert said in str(what), what
        print(f"{type(what).__name__}: {what}")
    else:
        raise SystemExit(f"took {options}")
PYTHON

say "a profile"
clean gpureduce profile v1 --source >"$work/profile"
head -n 20 "$work/profile"
grep -q __global__ "$work/profile" || grep -q __device__ "$work/profile"
grep -q 'bank conflict' "$work/profile"

if [[ $notebook ]]; then
    say "a notebook"
    clean "$bin/pip" install -q "$([[ $what == *.whl ]] && echo "$what" || dirname "$what")[notebook]"
    "$python" "$here/tests/tools/notebooks_seen.py" --python "$bin/python" "$here/notebooks/ladder.ipynb"
fi
((SECONDS < 600))
say "all went well"
