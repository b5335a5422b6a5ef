"""Times extremes of groups by label and softmax by group, compared with PyTorch.

PyTorch's `scatter_reduce_` has no positions. Its softmax by group is made of a maximum, a gather, an
exponential, a sum by `index_add_` and a division.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Call, WrongResultError
from benchmarks.suite.groups import Groups, Inputs
from gpureduce import _functions as gpureduce


class Case(NamedTuple):
    """Operator, rows, columns, groups, and the distribution of the labels."""

    op: str
    rows: int
    columns: int
    groups: int
    labels: str = "uniform"
    values: str = "normal"
    dtype: str = "float32"


CASES = (
    *(Case("max", 10**7, 1, groups) for groups in (10**4, 100, 10**5, 10**6)),
    Case("softmax", 10**7, 1, 10**4),
    *(Case("max", 10**7, 1, 10**4, labels) for labels in ("zipf", "equal", "sorted")),
    Case("argmax", 10**7, 1, 10**4),
    *(Case("max", 10**7, 1, 10**4, dtype=dtype) for dtype in ("float64", "float16", "int32")),
    Case("max", 1 << 20, 1, 32768),
    Case("max", 156250, 64, 1000),
    Case("max", 10**7, 1, 10**6, "equal"),
    Case("argmax", 10**7, 1, 10**4, "equal"),
    Case("argmax", 10**7, 1, 10**6),
    Case("softmax", 10**7, 1, 10**6),
)


def _group_softmax(*arguments: Any) -> Any:
    from gpureduce.torch import group_softmax  # which needs PyTorch

    return group_softmax(*arguments)


class GroupExtremes(Groups):
    """Extremes of groups."""

    summary = "group_reduce max and argmax and group_softmax, compared with PyTorch"
    optional: ClassVar[tuple[str, ...]] = ()
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "cases": 4}
    listed: ClassVar[tuple[Any, ...]] = CASES

    def _largest(self, case: Any, values: Any, labels: Any) -> Any:
        torch = self.torch
        shape = (case.groups, *values.shape[1:])
        least = torch.finfo(values.dtype).min if values.is_floating_point() else -(2**31)
        index = labels if case.columns == 1 else labels[:, None].expand(-1, case.columns)
        return torch.full(shape, least, dtype=values.dtype, device="cuda").scatter_reduce_(
            0, index, values, "amax"
        )

    def _softmax(self, case: Any, values: Any, labels: Any) -> Any:
        torch = self.torch
        powers = (values - self._largest(case, values, labels)[labels]).exp_()
        return powers / torch.zeros(case.groups, device="cuda").index_add_(0, labels, powers)[labels]

    def contenders(self, case: Any, inputs: Inputs) -> dict[str, Call]:
        """Return the calls of all contenders."""
        torch, values, labels = self.torch, inputs.values, inputs.labels
        if case.op == "softmax":
            return {
                "gpureduce": lambda i: _group_softmax(values[i], labels[i], case.groups),
                "torch": lambda i: self._softmax(case, values[i], labels[i]),
            }
        shape = (case.groups, *values[0].shape[1:])
        dtype = torch.int64 if case.op == "argmax" else values[0].dtype
        out = torch.empty(shape, dtype=dtype, device="cuda")
        calls: dict[str, Call] = {
            "gpureduce": lambda i: gpureduce.group_reduce(values[i], labels[i], case.op, case.groups, out=out)
        }
        if case.op == "max":
            calls["torch"] = lambda i: self._largest(case, values[i], labels[i])
        return calls

    def check(self, case: Any, inputs: Inputs, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless the results are those of PyTorch, positions those of largest rows."""
        torch, (values, labels) = self.torch, (inputs.values[0], inputs.labels[0])
        if case.op == "softmax":
            found, wanted = (
                _group_softmax(values, labels, case.groups),
                self._softmax(case, values, labels),
            )
            if not torch.allclose(found, wanted, rtol=1e-4):
                raise WrongResultError(f"{case}: not PyTorch's softmax")
            return
        found = torch.from_dlpack(gpureduce.group_reduce(values, labels, case.op, case.groups))
        wanted = self._largest(case, values, labels)
        there = torch.bincount(labels, minlength=case.groups) > 0
        if case.op == "argmax":
            found = values[found.clamp(min=0)]
        if not torch.equal(found[there], wanted[there]):
            raise WrongResultError(f"{case}: not PyTorch's")

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        return f"{row['op']:8} {Groups.line(row)}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        rows = (
            [
                f"`{row['op']}`",
                f"{row['rows']:,}" + (f" x {row['columns']}" if row["columns"] > 1 else ""),
                f"{row['groups']:,}",
                row["dtype"],
                row["labels"],
                *(markdown.median_us(row, name) for name in ("before", "gpureduce", "torch")),
            ]
            for row in record["rows"]
        )
        heads = ["operator", "rows", "groups", "dtype", "labels", "before", "`gpureduce`", "PyTorch"]
        source = f"{markdown.source(record, 'torch')}: {record['method']}."
        return "\n".join([source, "", *markdown.table(heads, "lrrllrrr", rows)])


BENCHMARK = GroupExtremes
