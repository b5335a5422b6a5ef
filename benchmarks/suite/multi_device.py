"""Times sums over several GPUs: ``python benchmarks/run.py multi_device --out FILE``.

Wall clock from the call to the Python float, on 1, 2, 4 and 8 devices, as many as there are: of tensors that
lie on them, each with as many elements, and of arrays of the host, pinned and pageable. Beside it what a user
has without this package, and what nothing gets below: the slowest GPU alone, and copies over all links at
once.
All results are exact, so that the same elements on another number of devices have to give the same bits: else
nothing is written. With ``--device=sim`` simulators take the place of GPUs, which tries all of it and
measures nothing.
"""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.report import svg as chart
from benchmarks.suite.host import loops
from gpureduce._arrays.device_array import to_device
from gpureduce._bench import environment, files
from gpureduce._bench.stats import summarize_times
from gpureduce._device.devices import devices
from gpureduce._profiles.palette import Palette
from gpureduce._reduce import functions
from gpureduce._states.sharded import Sharded

COUNTS = (1, 2, 4, 8)
SIZES = (10, 20, 28, 30)  # elements of a device, as powers of two
HOST_SIZE = 29
DRAWN = 1 << 24  # elements, that are repeated: to draw 2^29 takes longer than to measure
TITLES = {
    "gpureduce": "`gpureduce.sum(Sharded(tensors))`",
    "max": "`gpureduce.max(Sharded(tensors))`",
    "slowest": "the slowest GPU alone, exact",
    "rounded": "the slowest GPU alone, rounded",
    "torch": "PyTorch: a sum and `.item()` each",
    "nccl": "PyTorch: sums, NCCL's all-reduce, `.item()`",
    "cupy": "CuPy: a sum and `.item()` each",
    "jax": "JAX: jitted `jnp.sum` of a sharded array",
    "copies": "copies to all GPUs at once",
    "numpy": "NumPy, in place",
    "torch_cpu": "PyTorch's threads, in place",
}
Call = Callable[[int], object]


def module(name: str) -> Any:
    """Return a library; None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def names_of(kind: str) -> list[str]:
    """Return the devices of a kind; four simulators."""
    if kind == "sim":
        return ["sim", "sim:1", "sim:2", "sim:3"]
    return [str(device) for device in devices() if str(device).startswith("cuda")]


def elements(n: int, seed: int = 0) -> np.ndarray:
    """Return numbers whose sum has other bits in another order, unless it is exact."""
    rng, drawn = np.random.default_rng(seed), min(n, DRAWN)
    found = rng.standard_normal(drawn, np.float32) * np.float32(2) ** rng.integers(-8, 8, drawn, np.int8)
    return np.resize(found, n)


def check_bits(places: list[str], n: int = 1 << 12) -> None:
    """Raise unless the same elements give the same bits on any number of devices."""
    array = elements(n)
    found = set()
    for count in [count for count in COUNTS if count <= len(places)]:
        parts = np.array_split(array, count)
        tensors = [to_device(part, place) for part, place in zip(parts, places, strict=False)]
        found |= {float(functions.sum(Sharded(tensors))), float(functions.sum(array, device=places[:count]))}
    if len(found) != 1:
        raise SystemExit(f"the bits depend on the number of devices: {found}")


def shards_of(n: int, places: list[str], torch: Any) -> list[Any]:
    """Return an array on each device: PyTorch's, where they are GPUs."""
    if torch is None or places[0].startswith("sim"):
        return [to_device(elements(n, seed), place) for seed, place in enumerate(places)]
    return [torch.randn(n, device=place) for place in places]


def of_others(tensors: list[Any], places: list[str]) -> dict[str, Call]:
    """Return what others do with tensors of PyTorch's, those that are installed."""
    torch, cupy = module("torch"), module("cupy")
    calls: dict[str, Call] = {"torch": lambda _: sum(part.item() for part in [t.sum() for t in tensors])}
    if len(places) > 1:

        def reduced(_: int) -> float:
            parts = [tensor.sum() for tensor in tensors]
            torch.cuda.nccl.all_reduce(parts)
            return parts[0].item()

        calls["nccl"] = reduced
    if cupy is not None:
        arrays = [cupy.from_dlpack(tensor) for tensor in tensors]

        def on_each(_: int) -> float:
            parts = []
            for array in arrays:
                with array.device:
                    parts.append(array.sum())
            return sum(float(part) for part in parts)

        calls["cupy"] = on_each
    return calls


def of_jax(n: int, places: list[str], jax: Any, torch: Any) -> dict:
    """Time a jitted sum of an array of JAX's that lies on all devices."""
    mesh = jax.sharding.Mesh(np.array(jax.devices("gpu")[: len(places)]), ("parts",))
    place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("parts"))
    parts = []
    for tensor in shards_of(n, places, torch):
        with torch.cuda.device(tensor.device):  # or PyTorch refuses to hand it out
            parts.append(jax.dlpack.from_dlpack(tensor))
    whole = jax.make_array_from_single_device_arrays((len(parts) * len(parts[0]),), place, parts)
    total = jax.jit(jax.numpy.sum)
    return summarize_times(loops({"jax": lambda _: float(total(whole))})["jax"])


def _sum_of(tensor: Any, exact: bool) -> Call:
    return lambda _: float(functions.sum(tensor, exact=exact))


def measure_shards(n: int, places: list[str], torch: Any) -> dict:
    """Time the sum of tensors that lie on devices, and each of them alone."""
    tensors = shards_of(n, places, torch)
    whole = Sharded(tensors)
    calls: dict[str, Call] = {
        "gpureduce": lambda _: float(functions.sum(whole)),
        "max": lambda _: float(functions.max(whole)),
    }
    for name, exact in (("slowest", True), ("rounded", False)):
        for i, tensor in enumerate(tensors):
            calls[f"{name} {i}"] = _sum_of(tensor, exact)
    if not places[0].startswith("sim") and torch is not None:
        calls |= of_others(tensors, places)
    spreads = {name: summarize_times(values) for name, values in loops(calls).items()}
    for name in ("slowest", "rounded"):
        alone = [spreads.pop(f"{name} {i}") for i in range(len(tensors))]
        spreads[name] = max(alone, key=lambda spread: spread["median"])
    return {"where": "device", "gpus": len(places), "n": n, "us": spreads}


def measure_host(n: int, places: list[str], torch: Any, pinned: bool) -> dict:
    """Time the sum of an array of the host, the copies that it needs, and the CPU."""
    array = elements(n)
    calls: dict[str, Call] = {}
    if torch is not None:
        tensor = torch.from_numpy(array).pin_memory() if pinned else torch.from_numpy(array)
        array = tensor.numpy()
        calls["torch_cpu"] = lambda _: tensor.sum().item()
        if not places[0].startswith("sim"):
            parts = tensor.chunk(len(places))
            rooms = [torch.empty_like(part, device=place) for part, place in zip(parts, places, strict=True)]

            def copied(_: int) -> None:
                for room, part in zip(rooms, parts, strict=True):
                    room.copy_(part, non_blocking=True)
                for place in places:
                    torch.cuda.synchronize(place)

            calls["copies"] = copied
    calls["gpureduce"] = lambda _: float(functions.sum(array, device=places))
    calls["numpy"] = lambda _: float(array.sum())
    spreads = {name: summarize_times(values) for name, values in loops(calls).items()}
    where = "pinned" if pinned else "pageable"
    return {"where": where, "gpus": len(places), "n": n, "us": spreads}


def add_jax(record: dict, places: list[str], torch: Any) -> None:
    """Time JAX, which comes last, so that its threads are in nobody's way."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # it leaves memory to the others
    if places[0].startswith("sim") or torch is None or (jax := module("jax")) is None:
        return
    for row in record["rows"]:
        if row["where"] == "device":
            row["us"]["jax"] = of_jax(row["n"], places[: row["gpus"]], jax, torch)


# What is made of it


def table(record: dict) -> str:
    """Return the tables of a record, and the chart where it is of GPUs."""
    head = f"{record['device']}, {record['gpus']} of them, CUDA {record['toolkit']}, {record['date']}"
    lines = ["Simulated: no figures of a GPU." if record["simulated"] else head, ""]
    lines[0] += ": us from the call to the float, medians." if not record["simulated"] else ""
    for where, what in (("device", "float32 on each GPU"), ("pinned", "pinned"), ("pageable", "pageable")):
        rows = [row for row in record["rows"] if row["where"] == where]
        if not rows:
            continue
        columns = [f"{row['gpus']} x 2^{row['n'].bit_length() - 1}" for row in rows]
        if where != "device":
            columns = [f"2^{row['n'].bit_length() - 1} to {row['gpus']}" for row in rows]
        lines += [f"| {what} | {' | '.join(columns)} |", "|---|" + "--:|" * len(rows)]
        for name, title in TITLES.items():
            figures = [row["us"][name]["median"] if name in row["us"] else None for row in rows]
            if any(figures):
                cells = ["-" if figure is None else f"{figure:.1f}" for figure in figures]
                if name == "gpureduce" and where != "device":
                    title = "`gpureduce.sum(array, device=[...])`"
                lines.append(f"| {title} | {' | '.join(cells)} |")
        lines.append("")
    if not record["simulated"]:
        lines += [
            "<picture>",
            '  <source media="(prefers-color-scheme: dark)" srcset="several-dark.svg">',
            '  <img alt="Times of sums over the number of GPUs" src="several-light.svg">',
            "</picture>",
        ]
    return "\n".join(lines).rstrip()


BARS = ("gpureduce", "slowest", "torch", "nccl", "cupy", "jax")
WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 880, 70, 330, 58, 16, 12


def svg(record: dict, palette: Palette) -> str:
    """Return bars of time over GPUs: of the smallest tensors, and of the largest to another scale."""
    rows = [row for row in record["rows"] if row["where"] == "device"]
    first, *others = palette.series
    colours = dict(zip(BARS, (first, palette.faint, *others, palette.text), strict=True))
    title, y = "Sums over several GPUs, us from the call to the float", float(TOP)
    parts = [chart.text(0, 20, title, palette.text, size=16)]
    for n in (min(row["n"] for row in rows), max(row["n"] for row in rows)):
        found = [row for row in rows if row["n"] == n]
        longest = max(time for row in found for name in BARS if (time := _time(row, name)))
        parts.append(chart.text(0, y - 8, f"2^{n.bit_length() - 1} float32 on each", palette.text))
        for row in found:
            count = f"{row['gpus']} GPUs" if row["gpus"] > 1 else "1 GPU"
            parts.append(chart.text(0, y + BAR - 1, count, palette.faint, size=12))
            for name in BARS:
                if (time := _time(row, name)) is None:
                    continue
                end = LEFT + (WIDTH - LEFT - RIGHT) * time / longest
                words = f"{time:.1f}  {TITLES[name].replace('`', '')}"
                parts.append(chart.rect(LEFT, y, end - LEFT, BAR, colours[name]))
                parts.append(chart.text(end + 6, y + BAR - 2, words, palette.text, size=11))
                y += STEP
            y += STEP / 2
        y += 2 * STEP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y - STEP:.0f}" '
        f'viewBox="0 0 {WIDTH} {y - STEP:.0f}" role="img" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif">'
    )
    return "\n".join([head, "<title>Times of sums over the number of GPUs</title>", *parts, "</svg>", ""])


def _time(row: dict, name: str) -> float | None:
    return row["us"][name]["median"] if name in row["us"] else None


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py multi_device", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--device", choices=["cuda", "sim"], default="cuda")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="powers of two, on each device")
    parser.add_argument("--host-size", type=int, default=HOST_SIZE, help="a power of two")
    parser.add_argument("--out", required=True, type=files.writable_path)
    options = parser.parse_args(argv)
    places, torch = names_of(options.device), module("torch")
    if not places:
        raise SystemExit("there is no GPU; --device=sim tries it without")
    check_bits(places)
    head = environment.header(environment.find_device(places[0]))
    record: dict[str, Any] = {**head, "simulated": options.device == "sim", "gpus": len(places), "rows": []}

    def add(row: dict) -> None:
        record["rows"].append(row)
        files.write_result(options.out, record)

    for count in [count for count in COUNTS if count <= len(places)]:
        for size in options.sizes:
            add(measure_shards(1 << size, places[:count], torch))
        for pinned in (True, False) if torch is not None else (False,):
            add(measure_host(1 << options.host_size, places[:count], torch, pinned))
        print(f"{count} of {len(places)} devices measured", flush=True)
    add_jax(record, places, torch)
    files.write_result(options.out, record)
    print(table(record))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
