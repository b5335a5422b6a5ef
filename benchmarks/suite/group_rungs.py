"""Times the rungs of the ladder of group sums, compared with the default and with PyTorch's `index_add_`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Call, WrongResultError
from benchmarks.suite.groups import Case, Groups, Inputs
from gpureduce import _functions as gpureduce
from gpureduce._device.variants import variants

RUNGS = tuple(variant.name for variant in variants("groups"))
NAMES = (*RUNGS, "auto", "index_add")
CASES = (
    *(Case(10**7, 1, groups) for groups in (100, 1000, 10**4, 10**6)),
    Case(1 << 20, 1, 32768),
    *(Case(10**7, 1, 10**4, labels) for labels in ("zipf", "equal", "sorted")),
)


def _takes(rung: str, groups: int) -> bool:
    """Whether the groups fit in the shared memory of a GPU of compute capability 9.0."""
    words = {"g2": 1, "g3": 2}.get(rung, 0)
    return 4 * words * groups <= 220 << 10


class GroupRungs(Groups):
    """Sums of groups by each rung."""

    summary = "the rungs g0 to g4 of group sums, compared with auto and PyTorch's index_add_"
    method = "graphs over inputs larger than the L2 cache; int32 labels, int64 for index_add_; us per call"
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "cases": 4}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--cases", type=int, default=len(CASES), help="the first cases of the list")

    def cases(self) -> Iterator[Case]:
        """Yield the cases."""
        yield from CASES[: self.options.cases]

    def contenders(self, case: Case, inputs: Inputs) -> dict[str, Call]:
        """Return the calls of all contenders."""
        torch, values, wide = self.torch, inputs.values, inputs.labels
        labels = [each.to(torch.int32) for each in wide]
        out = torch.empty(case.groups, device="cuda")

        def by(variant: str) -> Call:
            return lambda i: gpureduce.group_reduce(
                values[i], labels[i], num_groups=case.groups, variant=variant, out=out
            )

        calls = {rung: by(rung) for rung in (*RUNGS, "auto") if _takes(rung, case.groups)}
        calls["index_add"] = lambda i: torch.zeros(case.groups, device="cuda").index_add_(
            0, wide[i], values[i]
        )
        return calls

    def check(self, case: Case, inputs: Inputs, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless the rungs have the sums of the default, whose bits are exact."""
        super().check(case, inputs, contenders)
        torch = self.torch
        labels = inputs.labels[0].to(torch.int32)
        sums = {
            name: torch.from_dlpack(
                gpureduce.group_reduce(inputs.values[0], labels, num_groups=case.groups, variant=name)
            )
            for name in contenders
            if name != "index_add"
        }
        magnitudes = gpureduce.group_reduce(inputs.values[0].abs(), labels, num_groups=case.groups)
        bound = torch.from_dlpack(magnitudes) * 1e-3 + 1e-6
        for name, found in sums.items():
            if not ((found - sums["auto"]).abs() <= bound).all():
                raise WrongResultError(f"{case}: {name} is wrong")

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return all rows."""
        rows = (
            [
                f"{row['rows']:,}",
                f"{row['groups']:,}",
                row["labels"],
                *(markdown.median_us(row, name) for name in NAMES),
            ]
            for row in record["rows"]
        )
        heads = ["elements", "groups", "labels", *(f"`{name}`" for name in NAMES[:-1]), "`index_add_`"]
        source = f"{markdown.source(record, 'torch')}: {record['method']}."
        return "\n".join([source, "", *markdown.table(heads, "rrl" + "r" * len(NAMES), rows)])


BENCHMARK = GroupRungs
