"""The base class of benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from benchmarks.harness.libraries import Libraries
from gpureduce._bench import timing
from gpureduce._device.devices import Device

Call = Callable[[int], object]  # what enqueues one call, given the index of an input
Times = dict[str, list[float]]  # repeated measurements by contender


class WrongResultError(RuntimeError):
    """A result differs from its reference, so that its time counts for nothing."""


class Benchmark:
    """A benchmark: cases, for each of them inputs, contenders, a check and rows, and a table of all rows.

    Attributes
    ----------
    summary : str
        One line for ``--list``.
    method : str
        How figures are taken, for the head of the result file.
    required, optional : tuple of str
        Libraries without which the benchmark cannot run, and those that it leaves out if they lack.
    device : str
        The default of ``--device``.
    repeats : int
        The default of ``--repeats``.
    quick : mapping
        Defaults of options with ``--quick``.
    """

    summary: ClassVar[str]
    method: ClassVar[str]
    required: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()
    device: ClassVar[str] = "cuda:0"
    repeats: ClassVar[int] = 11
    quick: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, options: argparse.Namespace, libraries: Libraries, where: Device) -> None:
        self.options, self.libraries, self.where = options, libraries, where
        self.torch = libraries.get("torch")

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options that only this benchmark has."""

    def head(self) -> dict[str, Any]:
        """Return what the head of the result file says in addition to device, versions and method."""
        return {}

    def instead(self) -> str | None:
        """Return what is printed instead of measuring, if an option asks for it."""
        return None

    def cases(self) -> Iterable[Any]:
        """Return what is measured, one case after the other."""
        raise NotImplementedError

    def inputs(self, case: Any) -> Any:
        """Return the inputs of a case, over which the calls rotate; their number is their length."""
        raise NotImplementedError

    def contenders(self, case: Any, inputs: Any) -> Mapping[str, Callable[..., Any]]:
        """Return the call of each contender by name."""
        raise NotImplementedError

    def check(self, case: Any, inputs: Any, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Raise WrongResultError unless the results are right."""

    def launches(self, case: Any, inputs: Any) -> int | Mapping[str, int]:
        """Return the number of calls in a CUDA graph, or that of each contender."""
        return len(inputs)

    def turns(self) -> Sequence[int]:
        """Return the number of replays in each turn of a contender."""
        return [1] * self.options.repeats

    def measure(self, case: Any, inputs: Any, contenders: Mapping[str, Callable[..., Any]]) -> Times:
        """Return microseconds per call from replays of CUDA graphs, contenders taking turns."""
        return timing.graph_times(
            self.torch, contenders, len(inputs), self.launches(case, inputs), self.turns()
        )

    def rows(self, case: Any, inputs: Any, times: Times) -> Iterable[dict[str, Any]]:
        """Return the rows of the result file for a case."""
        raise NotImplementedError

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of all cases."""
        for case in self.cases():
            yield from self.run_case(case)

    def run_case(self, case: Any) -> list[dict[str, Any]]:
        """Return the rows of one case; its inputs are freed before those of the next one are made."""
        inputs = self.inputs(case)
        contenders = self.contenders(case, inputs)
        self.check(case, inputs, contenders)
        return list(self.rows(case, inputs, self.measure(case, inputs, contenders)))

    def finish(self, record: dict[str, Any]) -> None:
        """Add to the record what is known only behind the last row."""

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line of the terminal."""
        raise NotImplementedError

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the record as Markdown."""
        raise NotImplementedError

    @staticmethod
    def chart(record: dict[str, Any], dark: bool = False) -> str | None:
        """Return a chart of the record as SVG; None if the benchmark has none."""
        return None
