"""How exact float32 sums are, compared with NumPy's.

Relative errors against the exact sum (math.fsum), the largest over a few random draws. They depend on the
launch plan and not on the device, so that the simulator gives the same figures.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times
from gpureduce._device.variants import AUTO, variants
from gpureduce._reduce import functions

CASES = ("uniform", "lognormal", "alternating", "ones", "ascending", "descending")
SHOWN = ("numpy", AUTO, "v0", "v8")


def draw(case: str, n: int, seed: int) -> np.ndarray:
    """Return `n` float32 of a named kind; "ones" is always 2^25 of them, more than float32 can count."""
    rng = np.random.default_rng(seed)
    if case == "ones":
        return np.ones(1 << 25, np.float32)
    if case == "lognormal":
        return rng.lognormal(0.0, 4.0, n).astype(np.float32)
    values = rng.random(n, dtype=np.float32)
    if case == "alternating":  # neighbours cancel but for a thousandth
        values[1::2] = -values[0 : 2 * (n // 2) : 2] * np.float32(0.999)
    elif case == "ascending":
        values.sort()
    elif case == "descending":
        values = np.sort(values)[::-1].copy()
    return values


class Accuracy(Benchmark):
    """Errors of the default and of the rungs that promise the same sum on every run."""

    summary = "relative errors of float32 sums, compared with NumPy's"
    method = "largest relative error of a float32 sum over the draws; numpy.sum for comparison"
    device = "cuda"
    quick: ClassVar[Mapping[str, Any]] = {"n": (1 << 16) + 7, "draws": 1, "kinds": CASES[:3]}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--n", type=int, default=(1 << 24) + 7, help="elements (default 2^24 + 7)")
        parser.add_argument("--draws", type=int, default=3)
        parser.add_argument("--kinds", nargs="+", default=list(CASES), choices=CASES, help="kinds of data")
        parser.add_argument("--variants", nargs="+", help="default: all that sum alike on every run")

    def cases(self) -> Iterable[str]:
        """Return the kinds of data."""
        return self.options.kinds

    def inputs(self, case: str) -> list[np.ndarray]:
        """Return the arrays of all draws."""
        draws = 1 if case == "ones" else self.options.draws
        return [draw(case, self.options.n, seed) for seed in range(draws)]

    def contenders(self, case: str, inputs: list[np.ndarray]) -> dict[str, Callable[[int], Any]]:
        """Return the sums of NumPy and of each variant."""
        names = self.options.variants or [
            AUTO,
            *(
                variant.name
                for variant in variants("reduction")
                if variant.role != "study" and not variant.float_atomics and variant.runs_on(self.where)
            ),
        ]

        def sum_by(name: str) -> Callable[[int], Any]:
            return lambda i: functions.sum(inputs[i], variant=name, device=str(self.where))

        return {"numpy": lambda i: np.sum(inputs[i]), **{name: sum_by(name) for name in names}}

    def measure(self, case: str, inputs: Any, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return relative errors, one per draw."""
        exact = [math.fsum(array) for array in inputs]
        return {
            name: [abs(float(call(i)) - right) / abs(right) for i, right in enumerate(exact)]
            for name, call in contenders.items()
        }

    def rows(self, case: str, inputs: list[np.ndarray], times: Times) -> list[dict[str, Any]]:
        """Return the largest errors."""
        errors = {name: max(found) for name, found in times.items()}
        return [{"case": case, "n": inputs[0].size, "relative_error": errors}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        errors = (f"{name} {error:.1e}" for name, error in row["relative_error"].items())
        return " ".join([f"{row['case']:12}", *errors])

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the errors of numpy.sum, the default and two rungs."""
        rows = (
            [
                row["case"],
                f"{row['n']:,}",
                *(markdown.cell(row["relative_error"].get(name), "{:.1e}") for name in SHOWN),
            ]
            for row in record["rows"]
        )
        heads = ["data", "n", *(f"`{name}`" for name in SHOWN)]
        head = f"{record['device']}, {record['date']}: {record['method']}."
        return "\n".join([head, "", *markdown.table(heads, "lr", rows)])


BENCHMARK = Accuracy
