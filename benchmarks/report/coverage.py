"""The page docs/reference/coverage.md: operator by dtype by variant by backend.

What it says comes from the core's own tables, and tests/reductions/test_coverage.py runs every cell of it.
"""

from __future__ import annotations

from gpureduce._device.variants import AUTO, Variant, variants
from gpureduce._rules.dtypes import COVERAGE

BACKENDS = ("cuda", "sim")
HEADING = """# Coverage

This page lists which variants of the reduction ladder support an operator and dtype, on a GPU (`cuda`) and
on the simulator (`sim`). `auto`, the default, supports any layout, `axis=`, `where=` and `initial=`; the
other variants reduce whole arrays. A number after a name is the compute capability that the variant needs on
a GPU.

`python benchmarks/docs_tables.py` writes this page from `gpureduce.variants("reduction")`, and
`tests/reductions/test_coverage.py` runs every cell.

These functions have kernels of their own, on both backends, which are not in the table:

| Functions | Dtypes |
|---|---|
| `nansum`, `nanprod`, `nanmean`, `nanmin`, `nanmax`, `nanargmin`, `nanargmax`, `fmin`, `fmax` | all |
| `logical_xor`, `trace`, `average`, `vecdot`, `inner`, `norm` | all; `norm` converts integers to float64 |
| `ptp` | all but bool |
| `logsumexp`, `softmax_denominator` | all but complex; integers are converted to float64 |
| `softmax`, `log_softmax`, `rms_norm`, `layer_norm` | all but complex; integers are converted to float64 |
| `median`, `quantile`, `percentile`, `nanmedian`, `nanquantile`, `nanpercentile` | all but complex |
| `topk`, `sort`, `argsort`, `unique_counts`, `cummax`, `cummin` | all but complex |
"""


def cells() -> dict[tuple[str, str], dict[str, tuple[str, ...]]]:
    """Return, for each operator and input dtype, the variants that cover them, each with its backends."""
    found: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
        (op, dtype): {AUTO: BACKENDS} for op, given in COVERAGE.items() for dtype in given
    }
    for variant in variants("reduction"):
        for pair in variant.coverage:
            found.setdefault(pair, {})[variant.name] = variant.backends
    return found


def _heading(variant: Variant) -> str:
    if variant.compute_capability <= (7, 5):
        return f"`{variant.name}`"
    return f"`{variant.name}` ({'.'.join(map(str, variant.compute_capability))})"


def page() -> str:
    """Return the whole page as Markdown; dtypes that agree in every column share a row."""
    columns = {AUTO: f"`{AUTO}`", **{variant.name: _heading(variant) for variant in variants("reduction")}}
    rows: dict[tuple[str, str], list[str]] = {}
    for (op, dtype), covered in cells().items():
        row = " | ".join(" ".join(covered.get(name, ())) for name in columns)
        rows.setdefault((op, row), []).append(dtype)
    lines = [
        "| operator | dtypes | " + " | ".join(columns.values()) + " |",
        "|---|---|" + "---|" * len(columns),
        *(f"| {op} | {', '.join(dtypes)} | {row} |" for (op, row), dtypes in rows.items()),
    ]
    return HEADING + "\n" + "\n".join(lines) + "\n"
