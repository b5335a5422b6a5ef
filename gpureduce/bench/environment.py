"""What a results file says about where it was measured."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import re
import statistics
from pathlib import Path

from gpureduce._device.devices import Device, record
from gpureduce._device.variants import ptx, variants
from gpureduce._rules.files import write_text
from gpureduce._version import __version__

RESULTS = Path(__file__).parent / "results"
ROTATION_BYTES = 512 << 20  # of the inputs that take turns: 8 times the 60 MB L2 of an H200


def toolkit_version() -> str:
    """Return the CUDA toolkit that compiled the kernels, as their PTX states it."""
    found = re.search(r"release ([0-9.]+), (V[0-9.]+)", ptx(variants()[0].name))
    return f"{found[1]} ({found[2]})" if found else "unknown"


def cpu_name() -> str:
    """Return what Linux calls the CPU, with family and model, as virtual machines hide the product."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    found = [re.search(rf"^{key}\s*: (.+)$", text, re.M) for key in ("model name", "cpu family", "model")]
    name, family, model = (match[1] if match else "unknown" for match in found)
    return f"{name} (family {family}, model {model})"


def header(device: Device) -> dict:
    """Return device, versions and date, for the top of a results file."""
    return {
        "device": device.name,
        "driver_cuda": f"{device.driver_version // 1000}.{device.driver_version % 1000 // 10}",
        "toolkit": toolkit_version(),
        "gpureduce": __version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }


def find_device(name: str) -> Device:
    """Return the record of the device called `name`, e.g. ``cuda:0``."""
    return record(name)


def capture(torch, call, inputs: int, launches: int):
    """Return a graph of PyTorch of so many calls, of all inputs in turn; `call` takes the number of one.

    The call before, which loads kernels and takes memory, is in the stream of the capture: CuPy keeps memory
    stream by stream.
    """
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for launch in range(launches):
            call(launch % inputs)
    return graph


def replay_times(torch, graph, launches: int, repeats: int) -> list[float]:
    """Return microseconds a launch, a figure for each replay of one of PyTorch's graphs after the first."""
    graph.replay()
    times = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / launches)
    return times


def spread(values: list[float]) -> dict:
    """Return median and range of repeated measurements."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def as_json(record: dict) -> str:
    """Return a record as JSON, one row a line so that a change of one row is a change of one line."""
    rows = ",\n".join("    " + json.dumps(row) for row in record["rows"])
    head = json.dumps({**record, "rows": []}, indent=2)
    return head.replace('"rows": []', '"rows": [\n' + rows + "\n  ]") + "\n"


def check_place(path: str) -> None:
    """Raise what writing a file would raise, before anything is measured."""
    place = Path(path)
    is_new = not place.exists()
    if is_new or place.is_file() or place.is_dir():  # to a pipe the end of this writer would be the end
        with open(place, "ab"):
            pass
        if is_new:
            place.unlink()


def place(text: str) -> str:
    """Return the name of a file that can be written, for argparse."""
    try:
        check_place(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from None
    return text


def write(path: str | None, record: dict) -> None:
    """Write a results file."""
    if path is not None:
        write_text(path, as_json(record))


def figure(us: float) -> str:
    """Return microseconds for a table: four digits, or all before the point."""
    return f"{us:,.4g}" if us < 9999.5 else f"{us:,.0f}"
