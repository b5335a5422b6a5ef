"""The benchmark of several GPUs runs on simulators, and what is made of its figures has all of them."""

import json
import re

import pytest

from benchmarks.harness import command, wall_clock
from benchmarks.harness.benchmark import WrongResultError
from benchmarks.suite import multi_device
from gpureduce._profiles.palette import DARK, LIGHT

pytestmark = pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning")


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("multi_device") / "result.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wall_clock, "SECONDS", 0)
        options = ["--device=sim", "--sizes", "3", "6", "--host-size=8", f"--out={path}"]
        assert command.run("multi_device", options) == 0
    return json.loads(path.read_text("utf-8"))


def test_every_number_of_devices(record):
    assert record["simulated"] and record["gpus"] == 4
    there = [(row["gpus"], row["n"]) for row in record["rows"] if row["where"] == "device"]
    assert there == [(gpus, n) for gpus in (1, 2, 4) for n in (8, 64)]
    assert {row["gpus"] for row in record["rows"] if row["where"] == "pageable"} == {1, 2, 4}
    for row in record["rows"]:
        wanted = {"gpureduce", "slowest", "rounded"} if row["where"] == "device" else {"gpureduce", "numpy"}
        assert wanted <= set(row["us"]) and all(each["median"] > 0 for each in row["us"].values())


def measured(record):
    """As it will be of GPUs, with figures that tell where they come from."""
    rows = []
    for gpus in (1, 2, 4):
        for n in (1 << 10, 1 << 28):
            us = {name: {"median": gpus * 100.0 + i} for i, name in enumerate(multi_device.LABELS)}
            rows.append({"where": "device", "gpus": gpus, "n": n, "us": us})
        us = {name: {"median": 7000.5 / gpus} for name in ("gpureduce", "copies", "numpy")}
        rows += [{"where": where, "gpus": gpus, "n": 1 << 29, "us": us} for where in ("pinned", "pageable")]
    return {**record, "simulated": False, "device": "NVIDIA H200", "rows": rows}


def test_tables(record):
    simulated = multi_device.MultiDevice.table(record)
    assert "Simulated: no figures of a GPU." in simulated and "<picture>" not in simulated
    text = multi_device.MultiDevice.table(measured(record))
    assert text.startswith("4 x NVIDIA H200") and "several-dark.svg" in text
    assert "| 4 GPUs, 2^28 |" in text and "| 2 GPUs, 2^29 |" in text and "| 3500.2 |" in text
    row = next(line for line in text.splitlines() if line.startswith(f"| {multi_device.LABELS['nccl']}"))
    number = list(multi_device.LABELS).index("nccl")
    assert row.split("|")[2:-1] == [f" {gpus * 100 + number:.1f} " for gpus in (1, 1, 2, 2, 4, 4)]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_chart_of_time_over_gpus(record, palette):
    """A bar is as long as its time, relative to the longest of tensors of that size."""
    drawn = multi_device.svg(measured(record), palette)
    assert "2^10 float32" in drawn and "2^28 float32" in drawn
    assert all(drawn.count(f">{count}<") == 2 for count in ("1 GPU", "2 GPUs", "4 GPUs"))
    bars = [float(width) for width in re.findall(r'<rect [^>]* width="([0-9.]+)"', drawn)]
    assert len(bars) == 2 * 3 * len(multi_device.BARS)
    times = [
        gpus * 100 + list(multi_device.LABELS).index(name) for gpus in (1, 2, 4) for name in multi_device.BARS
    ] * 2
    assert bars == pytest.approx([time / max(times) * max(bars) for time in times], abs=0.2)
    assert f">{times[0]:.1f} us  gpureduce.sum(Sharded(tensors))<" in drawn


def test_other_bits_are_refused(monkeypatch):
    sums = iter([1.0, 1.0, 1.0, 1.5])
    monkeypatch.setattr(multi_device.functions, "sum", lambda *args, **options: next(sums, 1.0))
    with pytest.raises(WrongResultError, match="the bits depend"):
        multi_device.check_bits(["sim", "sim:1"])
