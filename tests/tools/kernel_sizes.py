#!/usr/bin/env python3
"""How many kernels the package has and how many bytes they take, by folder of sources.

tests/tools/kernel_sizes.py            prints a table
tests/tools/kernel_sizes.py --write    writes tests/data/kernel_sizes.json: ceilings that a test holds
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path

import gpureduce

KERNEL_DIR = Path(gpureduce.__file__).parent / "_ptx"
CEILINGS = Path(__file__).resolve().parents[1] / "data" / "kernel_sizes.json"
ROOM = 1.05  # of bytes: other releases of nvcc write other PTX
COLUMNS = ("kernels", "ptx_bytes", "packed_bytes")


def sizes() -> dict[str, dict[str, int]]:
    """Return kernels, bytes of PTX and packed bytes of each folder of cuda_kernels/, and of all."""
    folders = {path.stem: path.parent for path in (KERNEL_DIR / "src").rglob("*.cu")}
    found: dict[str, Counter[str]] = {}
    for path in sorted(KERNEL_DIR.glob("*.ptx.xz")):
        stem = re.sub("_(75|90)$", "", path.name.removesuffix(".ptx.xz"))
        # Of a source <prefix>_op.cu a file is compiled for each operator.
        folder = folders.get(stem) or folders[f"{stem.partition('_')[0]}_op"]
        family = folder.relative_to(KERNEL_DIR / "src").as_posix().removesuffix("_hopper")
        text = gpureduce._core.read_image(path)
        row = dict(
            zip(COLUMNS, (text.count(b"\n.visible .entry "), len(text), path.stat().st_size), strict=True)
        )
        for name in (family, "all"):
            found.setdefault(name, Counter()).update(row)
    return {family: dict(row) for family, row in sorted(found.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {CEILINGS.name}")
    now = sizes()
    if parser.parse_args().write:
        ceilings = {
            family: {name: count if name == "kernels" else round(count * ROOM) for name, count in row.items()}
            for family, row in now.items()
        }
        CEILINGS.write_text(json.dumps(ceilings, indent=1) + "\n")
    print(f"{'':16}" + "".join(f"{name:>14}" for name in COLUMNS))
    for family, row in sorted(now.items(), key=lambda item: item[1]["ptx_bytes"]):
        print(f"{family:16}" + "".join(f"{row[name]:14,}" for name in COLUMNS))


if __name__ == "__main__":
    main()
