"""Times NaN forms, norms and logsumexp.

Each is compared with the plain operator of gpureduce, and with PyTorch's and CuPy's function for the same, in
one run, as `benchmarks.suite.moments` does it.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Times, WrongResultError
from benchmarks.suite.moments import Case, GraphedCases
from gpureduce._bench.stats import summarize_times
from gpureduce._reduce import functions

DTYPES = ("float32", "float64", "float16")
EXPONENTS = (10, 14, 20, 24, 26, 28)
# Ours, and what it is compared with: the plain operator, and the functions of PyTorch and CuPy.
OURS: dict[str, tuple[str, str, str]] = {
    "nansum": ("sum", "nansum", "nansum"),
    "nanmean": ("mean", "nanmean", "nanmean"),
    "nanprod": ("prod", "", "nanprod"),
    "nanmin": ("min", "", ""),
    "nanmax": ("max", "", ""),
    "nanargmin": ("argmin", "", "nanargmin"),
    "norm": ("", "linalg.vector_norm", "linalg.norm"),
    "logsumexp": ("", "logsumexp", ""),
}
LIMITS = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-2}


def cases(dtypes: Iterable[str], largest: int) -> list[Case]:
    """Return flat arrays, and the square of 2^24 over both axes."""
    found = []
    for dtype in dtypes:
        found += [Case(dtype, (1 << exponent,), None) for exponent in EXPONENTS if exponent <= largest]
        found += [Case(dtype, (1 << 12, 1 << 12), axis) for axis in (0, 1) if largest >= 24]
    return found


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


class Floats(GraphedCases):
    """NaN forms, norms and logsumexp of flat arrays and of a square."""

    summary = "NaN forms, norms and logsumexp, compared with plain operators, PyTorch and CuPy"
    dtypes = DTYPES
    repeats = 9
    quick: ClassVar[Mapping[str, Any]] = {
        "dtypes": ["float32"],
        "max_exponent": 24,
        "repeats": 3,
        "operators": ["nansum", "norm"],
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        super().add_arguments(parser)
        parser.add_argument("--operators", nargs="+", default=list(OURS), choices=OURS, metavar="NAME")
        parser.add_argument("--seconds", type=float, default=600, help="after which no further case is begun")

    def cases(self) -> Iterator[Case]:
        """Yield cases as long as there is time."""
        gc.freeze()  # PyTorch collects garbage before each capture
        began = time.monotonic()
        for case in cases(self.options.dtypes, self.options.max_exponent):
            if time.monotonic() - began > self.options.seconds:
                return
            yield case

    def contenders(self, case: Case, inputs: list[Any]) -> dict[str, Callable[[int], Any]]:
        """Return, by name, what enqueues the reduction of one input into PyTorch's current stream."""
        torch, cupy, axis = self.torch, self.libraries.get("cupy"), case.axis
        arrays = [] if cupy is None else [cupy.from_dlpack(tensor) for tensor in inputs]
        found: dict[str, Callable[[int], Any]] = {}

        def by_gpureduce(name: str) -> Callable[[int], Any]:
            function = getattr(functions, name)
            like = torch.from_dlpack(function(inputs[0], axis=axis, as_device=True))
            outs = [torch.empty_like(like) for _ in inputs]
            return lambda i: function(inputs[i], axis=axis, out=outs[i])

        def by_torch(name: str) -> Callable[[int], Any]:
            function, dim = _attribute(torch, name), tuple(range(inputs[0].ndim)) if axis is None else axis
            return lambda i: function(inputs[i], dim=dim)

        def by_cupy(name: str) -> Callable[[int], Any]:
            function = _attribute(cupy, name)
            return self.in_cupy(lambda i: function(arrays[i], axis=axis))

        for name in self.options.operators:
            plain, in_torch, in_cupy = OURS[name]
            found[name] = by_gpureduce(name)
            if plain:
                found[plain] = by_gpureduce(plain)
            if in_torch:
                found[f"torch.{in_torch}"] = by_torch(in_torch)
            if in_cupy and cupy is not None:
                found[f"cupy.{in_cupy}"] = by_cupy(in_cupy)
        return found

    def check(self, case: Case, inputs: list[Any], contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError if a result is wrong."""
        torch, tensor = self.torch, inputs[0]
        axis = tuple(range(tensor.ndim)) if case.axis is None else case.axis
        wide = tensor.double()
        wanted = {
            "nansum": wide.sum(axis), "nanmean": wide.mean(axis), "nanmin": wide.amin(axis),
            "nanmax": wide.amax(axis),
            "norm": torch.linalg.vector_norm(wide, dim=axis), "logsumexp": torch.logsumexp(wide, axis),
            "nanargmin": torch.argmin(wide, case.axis),
        }  # fmt: skip
        for name, right in wanted.items():
            got = torch.from_dlpack(getattr(functions, name)(tensor, axis=case.axis, as_device=True)).double()
            off = float(((got - right).abs() / right.abs()).max()) if name != "nanargmin" else 0.0
            overflows = case.dtype == "float16" and not bool(got.isfinite().all())
            if not (off <= LIMITS[case.dtype] or overflows):
                raise WrongResultError(f"{case}: {name} is {off} off")

    def rows(self, case: Case, inputs: list[Any], times: Times) -> list[dict[str, Any]]:
        """Return a row: figures of all contenders, and the time of each of ours over its counterparts."""
        us = {name: summarize_times(taken, 3) for name, taken in times.items()}
        ratio = {}
        for name in self.options.operators:
            plain, in_torch, in_cupy = OURS[name]
            counterparts = (plain, f"torch.{in_torch}", f"cupy.{in_cupy}")
            ratio[name] = {
                each: round(us[name]["median"] / us[each]["median"], 3) for each in counterparts if each in us
            }
        return [{**case._asdict(), "us": us, "ratio": ratio}]

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the times of ours, and their ratios to the times of the counterparts."""
        rows = []
        for row in record["rows"]:
            shape = " x ".join(f"{length:,}" for length in row["shape"])
            for name, over in row["ratio"].items():
                plain, in_torch, in_cupy = OURS[name]
                counterparts = (plain, f"torch.{in_torch}", f"cupy.{in_cupy}")
                ratios = [markdown.cell(over.get(each), "{:.2f}") for each in counterparts]
                what = [f"{shape} {row['dtype']}", markdown.cell(row["axis"]), f"`{name}`"]
                rows.append([*what, markdown.median_us(row, name), *ratios])
        head = f"{markdown.source(record, 'torch', 'cupy')}: {record['method']}."
        heads = [
            "elements",
            "axis",
            "function",
            "us",
            "of the plain operator's time",
            "of PyTorch's",
            "of CuPy's",
        ]
        return "\n".join([head, "", *markdown.table(heads, "lrlr", rows)])


BENCHMARK = Floats
