#!/usr/bin/env python3
"""Writes tables and charts of the README and docs/ from results: ``benchmarks/docs_tables.py [--check]``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = ""  # not the folder of this file, whose modules are those of `benchmarks`
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from benchmarks.report.documents import main

    raise SystemExit(main())
