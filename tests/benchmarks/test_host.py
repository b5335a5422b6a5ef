"""The benchmark of host arrays, where pinned memory is that of the simulator."""

import numpy as np

from benchmarks.harness import command, wall_clock
from benchmarks.suite import host


def test_pinned_arrays_are_copied_and_summed(device, monkeypatch):
    array = np.ones(1000, np.float32)
    monkeypatch.setattr(host, "pinned_array", lambda *_: array)
    monkeypatch.setattr(wall_clock, "SECONDS", 0.0)
    benchmark = command.prepare("host", command.parse("host", ["--device", device, "--pinned-bytes", "4000"]))
    rows = [row for where in ("pinned copy", "pinned") for row in benchmark.run_case((where, 1000))]
    assert [(row["where"], row["n"], *row["us"]) for row in rows] == [
        ("pinned copy", 1000, "copy"),
        ("pinned", 1000, "gpureduce"),
    ]
    assert all(row["gb_per_s"] > 0 for row in rows)


def test_cases_have_pinned_arrays_only_where_a_library_allocates_them(device):
    benchmark = command.prepare("host", command.parse("host", ["--device", device, "--powers", "4"]))
    places = [where for where, _ in benchmark.cases()]
    assert ("pinned" in places) == bool(benchmark.torch or benchmark.libraries.get("cupy"))
    assert places.count("device") == len(host.DEVICE_POWERS) and places.count("host") == 1


def test_faster_one_of_numpy_and_torch_is_the_cpu():
    us = {
        name: {"median": value} for name, value in {"gpureduce": 6.0, "numpy": 3.0, "torch_cpu": 2.0}.items()
    }
    row = host._with_cpu({"where": "host", "us": us, "ratio": {"numpy": 2.0, "torch_cpu": 3.0}})
    assert row["us"]["cpu"] == {"median": 2.0} and row["ratio"]["cpu"] == 3.0
