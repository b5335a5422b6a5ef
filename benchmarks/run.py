#!/usr/bin/env python3
"""Runs a benchmark: ``python benchmarks/run.py NAME [--out FILE]``, or ``--list`` for all names."""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    from benchmarks import suite

    names = [module.name for module in pkgutil.iter_modules(suite.__path__)]
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--list"]
    if name not in names:
        print("\n".join(names))
        return 0 if name == "--list" else 2
    return importlib.import_module(f"benchmarks.suite.{name}").main(rest)


if __name__ == "__main__":
    sys.path[0] = ""  # not the folder of this file, whose modules are those of `benchmarks`
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    raise SystemExit(main())
