#!/usr/bin/env python3
"""Runs a benchmark: ``python benchmarks/run.py NAME [--out FILE]``, or ``--list`` for all names."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = ""  # not the folder of this file, whose modules are those of `benchmarks`
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from benchmarks.harness.command import main

    raise SystemExit(main())
