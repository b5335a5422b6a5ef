#!/usr/bin/env python3
"""Which of the general and flat kernels the planner chooses: tests/tools/chosen_kernels.py [--shapes 10000].

Draws layouts (benchmarks/harness/drawn_shapes.py), plans the reduction of each by every operator and dtype,
as for a GPU, and runs nothing. Prints how often each kind of kernel is chosen, and the kernels of the package
that no plan has chosen. Plans depend on an operator's row in ops.def and on the size of an element, so that
each layout is planned for all of them.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import gpureduce  # noqa: E402
from benchmarks.harness.drawn_shapes import drawn_shapes  # noqa: E402
from gpureduce import _core  # noqa: E402
from gpureduce._rules.dtypes import DTYPE_TABLE, PAIRS  # noqa: E402

KERNEL_DIR = Path(gpureduce.__file__).parent / "_ptx"
GENERAL = re.compile(r"\.entry (general_\w+)\(")


def packaged() -> set[str]:
    """Return the names of all general kernels of the package."""
    texts = (_core.read_image(path).decode() for path in KERNEL_DIR.glob("general_*.ptx.xz"))
    return {name for text in texts for name in GENERAL.findall(text)}


def operators(kernels: set[str]) -> dict[str, set[str]]:
    """Return the dtypes of each operator that has general kernels."""
    found: dict[str, set[str]] = {}
    for name in kernels:
        op, _, dtype = (
            name.removeprefix("general_masked_").removeprefix("general_").split("_", 1)[1].rpartition("_")
        )
        found.setdefault(op, set()).add(dtype)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="name the kernels that no plan has chosen")
    args = parser.parse_args()
    kernels = packaged()
    elements = {row.name: (row.numpy_name, row.item_bytes) for row in DTYPE_TABLE}
    chosen: Counter[str] = Counter()
    flat = refused = 0
    takes = {op: sorted(dtypes) for op, dtypes in operators(kernels).items()}
    for drawn in drawn_shapes(args.shapes, args.seed):
        for op, dtypes in takes.items():
            for dtype in dtypes:
                try:
                    view = drawn.view(*elements[dtype])
                    second = view if op in PAIRS else drawn.mask()
                    launches = _core.plan_general(view, op, drawn.axes, second)
                except ValueError:  # too many dimensions that do not merge: the caller copies the array
                    refused += 1
                    continue
                flat += not launches
                chosen.update(name for *_, name in launches)
    unknown = chosen.keys() - kernels
    never = kernels - chosen.keys()
    kinds = Counter(name.split("_")[1] for name in chosen.elements())
    print(f"{args.shapes} layouts, {flat} plans of flat kernels, {refused} refused; launches by kind:")
    print("  " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    print(
        f"{len(kernels)} general kernels, {len(never)} chosen by no plan, {len(unknown)} chosen but not there"
    )
    if args.list:
        print("\n".join(sorted(never)))
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
