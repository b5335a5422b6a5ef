"""Reads the report that csrc/cudart writes about a program."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpureduce._profiles.counts import COUNTER_FIELDS
from gpureduce._profiles.from_core import kernel_profiles, outer_file
from gpureduce._profiles.itanium_demangle import demangled
from gpureduce._profiles.player import Player, player
from gpureduce._profiles.profile import Profile


@dataclass(frozen=True)
class Failure:
    """A launch that failed.

    Attributes
    ----------
    kernel : str
        Name of the kernel.
    code : int
        The ``cudaError_t`` that the program gets.
    message : str
        The simulator's message, with the source line.
    """

    kernel: str
    code: int
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass
class Report:
    """The contents of a report."""

    launches: int = 0
    failed: int = 0
    repeated: int = 0
    warp_instructions: int = 0
    failures: list[Failure] = field(default_factory=list)
    kernels: list[tuple] = field(default_factory=list)  # as records of launches from the core
    traced: tuple | None = None  # the launch whose steps are recorded, also as such a record


def _launch(row: Mapping[str, Any]) -> tuple:
    static = [
        (line, text, effect, tuple((name, number) for name, number in frames), branch)
        for line, text, effect, frames, branch in row["instructions"]
    ]
    counters = np.array(row.get("counters") or [0] * COUNTER_FIELDS * len(static), dtype=np.uint64)
    rounds = np.array(row.get("rounds", []), dtype=np.uint64)
    races = [tuple(race) for race in row["races"]] if "races" in row else None
    head = demangled(row["kernel"]), tuple(row["grid"]), tuple(row["block"]), row["shared"]
    trace = _trace(row["trace"]) if "trace" in row else None
    return (*head, static, counters.tobytes(), rounds.tobytes(), None, races, 0, None, trace, b"")


def _trace(row: Mapping[str, Any]) -> tuple:
    tables = (bytes.fromhex(row[name]) for name in ("steps", "accesses", "written"))
    return (*tables, row["lost"], row["statements"])


def read_report(path: str) -> Report:
    """Return the contents of a report; it ends early if the program was killed."""
    report = Report()
    try:
        with open(path, encoding="ascii") as file:
            lines = file.readlines()
    except FileNotFoundError:  # the program has called no function of the runtime
        return report
    for line in lines:
        if not line.endswith("}\n"):
            break
        row = json.loads(line)
        if row["kind"] == "failure":
            report.failures.append(Failure(demangled(row["kernel"]), row["code"], row["message"]))
            report.failed = report.launches = len(report.failures)
        elif row["kind"] == "kernel":
            report.kernels.append(_launch(row))
        elif row["kind"] == "trace":
            report.traced = _launch(row)
        else:
            report.launches, report.failed = row["launches"], row["failed"]
            report.repeated = row["repeated"]
            report.warp_instructions = row["warp_instructions"]
    return report


def _sources(launches: list[tuple], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of the source files that can be read, those of the program."""
    sources = {}
    names = {name for launch in launches for _, _, _, frames, _ in launch[4] for name, _ in frames}
    for name in sorted(names):
        if name in texts:
            sources[name] = texts[name]
        elif os.path.isfile(name) and os.access(name, os.R_OK):
            with open(name, encoding="utf-8", errors="replace") as file:
                sources[name] = file.read()
    return sources


def profile_of(report: Report, title: str, texts: Mapping[str, str]) -> Profile | None:
    """Return the profile of a program, in which each kernel and grid is one; None if nothing was recorded."""
    if not report.kernels:
        return None
    file = outer_file(report.kernels)
    profiles = kernel_profiles(report.kernels, file, 0)
    return Profile(title, profiles, file, sources=_sources(report.kernels, texts))


def player_of(report: Report, title: str, texts: Mapping[str, str], block: int) -> Player | None:
    """Return the player of a block of the launch whose steps are recorded; None if there are none."""
    if report.traced is None:
        return None
    launches = [report.traced]
    file = outer_file(launches)
    (kernel,) = kernel_profiles(launches, file, 0)
    if kernel.trace is None or not len(kernel.trace.steps):
        return None
    return player(Profile(title, (kernel,), file, sources=_sources(launches, texts)), file, kernel, block)
