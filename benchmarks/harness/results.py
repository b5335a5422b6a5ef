"""Committed results: the files of benchmarks/results, and the one that the package ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpureduce._bench import files

RESULTS = Path(__file__).parents[1] / "results"


def path_of(name: str) -> Path:
    """Return the path of a committed result file."""
    return files.SHIPPED if name == files.SHIPPED.name else RESULTS / name


def load(name: str) -> dict[str, Any]:
    """Return the record in a committed result file."""
    return files.read_result(path_of(name))


def load_matmul() -> dict[str, Any]:
    """Return the record of matrix multiplications, the rows of all precisions in one list."""
    record = load("matmul_h200.json")
    for path in sorted(RESULTS.glob("matmul_*_h200.json")):  # such as matmul_tf32_h200.json
        record["rows"] += load(path.name)["rows"]
    return record
