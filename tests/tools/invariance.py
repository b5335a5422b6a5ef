#!/usr/bin/env python3
"""Which results along an axis keep their bits: tests/tools/invariance.py [--device cuda] [--long].

Compares each row in batches of several sizes, and in arrays that begin at other addresses, with the same row
in the largest batch, for every operator, dtype and layout of tests/support/invariance.py. It prints those
that differ.
"""

import argparse
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.invariance import LONG, OPERATORS, QUICK, cells, differences  # noqa: E402


def main() -> int:
    """Print the cells that differ, and their number; return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="sim")
    parser.add_argument("--long", action="store_true", help="batches of 1 to 4,096 rows")
    parser.add_argument("--operator", choices=list(OPERATORS), action="append", help="only these operators")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [cell for cell in cells() if not options.operator or cell.operator in options.operator]
    differing = 0
    for cell in chosen:
        found = differences(cell, LONG if options.long else QUICK, options.device)
        if found:
            differing += 1
            print(*cell, "; ".join(found), sep=" | ", flush=True)
    print(f"{differing} of {len(chosen)} cells differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
