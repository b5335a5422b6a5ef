#!/usr/bin/env python3
"""What a wheel holds, and how much of it: tests/packaging/contents.py dist/gpureduce-*.whl

Refuses what should not be in it, and more bytes than agreed.
"""

import re
import sys
import zipfile
from collections import defaultdict
from pathlib import PurePosixPath

# Bytes of a wheel of PTX alone, and of one with machine code, which PyPI takes up to 100 MB; bytes installed.
MOST = {False: (9_750_000, 18_000_000), True: (70_000_000, 100_000_000)}
EXPECTED = re.compile(
    r"gpureduce-[^/]*\.dist-info/.*"
    r"|gpureduce/(py\.typed|_core\.[\w-]+\.so|_program/libcudart\.so\.13|([\w]+/)*\w+\.pyi?|_bench/\w+\.json"
    r"|_profiles/\w+\.html|exercises/\w+/\w+\.(cu|md|py))"
    r"|gpureduce/_ptx/(\w+\.(ptx\.xz|fatbin)|src/.+\.(cu|cuh|h|def))"
)


def main(path: str) -> int:
    """Print a table; return how many files are not as expected."""
    files = zipfile.ZipFile(path).infolist()
    names = [file.filename for file in files]
    ladders = {
        PurePosixPath(name).stem: PurePosixPath(name).parts[3]
        for name in names
        if name.startswith("gpureduce/_ptx/src/") and name.endswith(".cu")
    }
    sizes = defaultdict(lambda: [0, 0, 0])
    for file in files:
        row = sizes[_group(file.filename, ladders)]
        for column, value in enumerate((1, file.compress_size, file.file_size)):
            row[column] += value
    sizes["all"] = [sum(column) for column in zip(*sizes.values(), strict=True)]
    print(f"{'':32}{'files':>6}{'in the wheel':>16}{'installed':>14}   bytes")
    for group, row in sorted(sizes.items(), key=lambda item: item[1][1]):
        print(f"{group:32}{row[0]:6}{row[1]:16,}{row[2]:14,}")
    wrong = [name for name in names if not EXPECTED.fullmatch(name)]
    packed, installed = MOST[any(name.endswith(".fatbin") for name in names)]
    if sizes["all"][1] > packed or sizes["all"][2] > installed:
        wrong.append(f"{path}: more than {packed:,} bytes, or than {installed:,} installed")
    stems = {
        suffix: {_stem(name) for name in names if name.endswith(suffix)} for suffix in (".xz", ".fatbin")
    }
    wrong += stems[".fatbin"] - stems[".xz"]
    print("".join(f"unexpected: {name}\n" for name in wrong), end="")
    return min(len(wrong), 100)


def _stem(name: str) -> str:
    return PurePosixPath(name).name.partition(".")[0]


def _group(name: str, ladders: dict[str, str]) -> str:
    if name.endswith((".xz", ".fatbin")):
        stem = _stem(name).removesuffix("_75").removesuffix("_90")
        # Of a source <prefix>_op.cu a file is compiled for each operator.
        ladder = ladders.get(stem) or ladders[f"{stem.partition('_')[0]}_op"]
        return f"kernels/{ladder}, {'PTX' if name.endswith('.xz') else 'for GPUs'}"
    if "/_ptx/src/" in name:
        return "kernels' sources"
    if ".so" in PurePosixPath(name).name:
        return "extension and CUDA runtime"
    return "results" if name.endswith(".json") else "Python and metadata"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
