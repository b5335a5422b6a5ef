#!/usr/bin/env bash
# Builds and imports the package in the ways in which people install it:
#   tests/packaging/matrix.sh [python ...]       (default: every python3.10 to python3.13 on the PATH)
# From the source distribution, with the oldest and the newest NumPy for each Python; editable, in a folder with
# spaces and letters beyond ASCII; twice at once in one tree; with compilers that are not there, too old or
# broken; and as a wheel that auditwheel finds portable, with machine code for all architectures. For the others
# kernels are compiled once, for one architecture.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GPUREDUCE_CUDA_ARCHITECTURES=${GPUREDUCE_CUDA_ARCHITECTURES:-90} PIP_DISABLE_PIP_VERSION_CHECK=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH

pythons=("$@")
if ((${#pythons[@]} == 0)); then
    for minor in 10 11 12 13; do
        command -v "python3.$minor" >/dev/null && pythons+=("$(command -v "python3.$minor")")
    done
fi
newest=${pythons[-1]}

say() { printf '\n=== %s (after %d s)\n' "$1" "$SECONDS"; }

# Sums an array from outside the tree: rungs by their PTX, the default by its flat kernel.
check() {
    (cd / && "$1" - <<'PYTHON'
import warnings
import numpy as np
import gpureduce
warnings.simplefilter("ignore", gpureduce.SimulatorWarning)
a = np.arange(1003, dtype=np.float32)
for variant in ("auto", "v0", "v7", "v12"):
    assert gpureduce.sum(a, variant=variant, device="sim") == 502503, variant
assert (gpureduce.max(a.reshape(17, 59), axis=0, device="sim") == a.reshape(17, 59).max(axis=0)).all()
print(f"ok: NumPy {np.__version__}, gpureduce {gpureduce.__version__}, {gpureduce.__file__}")
PYTHON
    )
}

fails_with() { # a text, then a command that has to fail and to say it
    local text=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "did not fail: $*"
        exit 1
    fi
    grep -q "$text" "$work/log" || { tail -n 30 "$work/log"; echo "expected: $text"; exit 1; }
    echo "refused: $(grep -m 1 "$text" "$work/log")"
}

say "source distribution"
"$newest" -m venv "$work/tools"
"$work/tools/bin/pip" install -q build auditwheel 'setuptools>=77' numpy
"$work/tools/bin/python" -m build -q --sdist --outdir "$work" .
mkdir "$work/tree"
tar -xzf "$work"/gpureduce-*.tar.gz -C "$work/tree" --strip-components=1
mkdir -p "$work/tree/build"
if [[ -d build/kernels ]]; then cp -rL build/kernels "$work/tree/build/"; fi # what is compiled already
tree=$work/tree

for python in "${pythons[@]}"; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    for numpy in 1.26.4 2; do
        # NumPy 1.26 has no wheels for 3.13.
        if [[ $version == 3.13 && $numpy == 1.* ]]; then continue; fi
        say "Python $version, NumPy $numpy"
        rm -rf "$work/venv"
        "$python" -m venv "$work/venv"
        "$work/venv/bin/pip" install -q "numpy==$numpy.*" 2>/dev/null || "$work/venv/bin/pip" install -q "numpy==$numpy"
        "$work/venv/bin/pip" install -q "$tree"
        check "$work/venv/bin/python"
    done
done

say "editable, in a folder with spaces and letters beyond ASCII"
odd="$work/a folder/größer 数"
mkdir -p "$work/a folder"
cp -r "$tree" "$odd"
rm -rf "$work/venv"
"$newest" -m venv "$work/venv"
"$work/venv/bin/pip" install -q -e "$odd"
check "$work/venv/bin/python"

say "two builds at once in one tree"
rm -rf "$tree"/build/kernels/v* "$tree"/build/c* # some kernels are enough
"$newest" -m venv "$work/one" && "$newest" -m venv "$work/two"
"$work/one/bin/pip" install -q "$tree" & first=$!
"$work/two/bin/pip" install -q "$tree"
wait "$first"
check "$work/one/bin/python"
check "$work/two/bin/python"

say "compilers that will not do"
cat >"$work/old" <<'SH'
#!/bin/sh
echo "Cuda compilation tools, release 11.8, V11.8.89"
SH
chmod +x "$work/old"
fails_with "no program" env NVCC="$work/nowhere" "$work/one/bin/pip" install --force-reinstall --no-deps "$tree"
fails_with "11.8" env NVCC="$work/old" "$work/one/bin/pip" install --force-reinstall --no-deps "$tree"
fails_with "does not run" env NVCC=/bin/false "$work/one/bin/pip" install --force-reinstall --no-deps "$tree"

say "a wheel for all GPUs"
GPUREDUCE_CUDA_ARCHITECTURES=all "$work/one/bin/pip" wheel -q --no-deps -w "$work/wheel" "$tree"
PATH="$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" show "$work"/wheel/*.whl | tee "$work/audit"
grep -q manylinux "$work/audit"
# Behind the head of a fatbin, each entry has its kind (2: machine code), the size of its head and of what follows.
"$newest" - "$work"/wheel/*.whl <<'PYTHON'
import struct
import sys
import zipfile
wheel = zipfile.ZipFile(sys.argv[1])
expected = {"v8_vector_load": [75, 80, 90, 100, 120], "flat_sum": [75, 80, 90, 100, 120]}
expected |= {"flat_sum_90": [90, 100, 120], "exact_sum": [90, 100, 120], "exact_sum_75": [75, 80]}
for name, numbers in expected.items():
    data, at, found = wheel.read(f"gpureduce/_ptx/{name}.fatbin"), 16, []
    while at < len(data):
        kind, _, head, size = struct.unpack_from("<HHIQ", data, at)
        found += [struct.unpack_from("<I", data, at + 28)[0]] if kind == 2 else []
        at += head + size
    assert sorted(found) == numbers, (name, found)
print("machine code:", expected)
PYTHON
rm -rf "$work/venv"
"$newest" -m venv "$work/venv"
"$work/venv/bin/pip" install -q "$work"/wheel/*.whl
check "$work/venv/bin/python"
# Without driver and toolkit the commands work, and say what is missing.
bare() { (cd / && env -i PATH=/usr/bin:/bin GPUREDUCE_LIBCUDA="$work/no-driver.so" "$work/venv/bin/gpureduce" "$@"); }
bare info
"$work/venv/bin/python" -c "import numpy; numpy.save('$work/numbers.npy', numpy.arange(1003.0))"
bare sum "$work/numbers.npy" >"$work/sum" 2>&1
cat "$work/sum"
grep -q 502503 "$work/sum"
grep -q "no-driver.so" "$work/sum"
if env PATH=/usr/bin:/bin ldd "$(cd / && "$work/venv/bin/python" -c 'import gpureduce._core; print(gpureduce._core.__file__)')" |
    grep -i cuda; then
    echo "the extension is linked to CUDA"
    exit 1
fi

say "all builds work"
