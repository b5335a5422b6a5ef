"""Times sums over several GPUs.

Wall clock from the call to the Python float, on 1, 2, 4 and 8 devices, as far as the machine has them: of
tensors that are stored on them, each with the same number of elements, and of host arrays, pinned and
pageable. They are compared with what a user has without this package, and with lower bounds: the slowest GPU
alone, and copies over all links at once. All results are exact, so that the same elements on another number
of devices have to give the same bits: else nothing is written. With ``--device sim`` four simulators stand
for GPUs, which tries all of it and measures nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, WrongResultError
from benchmarks.harness.libraries import LABELS as LIBRARIES
from benchmarks.harness.wall_clock import loop_times
from benchmarks.report import svg as drawing
from gpureduce._arrays.device_array import to_device
from gpureduce._bench.stats import summarize_times
from gpureduce._device.devices import devices
from gpureduce._profiles.palette import DARK, LIGHT, Palette
from gpureduce._reduce import functions
from gpureduce._states.sharded import Sharded

COUNTS = (1, 2, 4, 8)
SIZES = (10, 20, 28, 30)  # elements of a device, as powers of two
HOST_SIZE = 29
DRAWN = 1 << 24  # elements, that are repeated: to draw 2^29 takes longer than to measure
LABELS = {
    "gpureduce": "`gpureduce.sum(Sharded(tensors))`",
    "max": "`gpureduce.max(Sharded(tensors))`",
    "slowest": "the slowest GPU alone, exact",
    "rounded": "the slowest GPU alone, rounded",
    "torch": "PyTorch: a sum and `.item()` each",
    "nccl": "PyTorch: sums, NCCL's all-reduce, `.item()`",
    "cupy": "CuPy: a sum and `.item()` each",
    "jax": "JAX: jitted `jnp.sum` of a sharded array",
    "copies": "copies to all GPUs at once, no sum",
    "numpy": "NumPy on the CPU",
    "torch_cpu": "PyTorch on the CPU, all threads",
}
Call = Callable[[int], object]


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


def check_bits(names: list[str], n: int = 1 << 12) -> None:
    """Raise unless the same elements give the same bits on any number of devices."""
    array = elements(n)
    found = set()
    for count in [count for count in COUNTS if count <= len(names)]:
        parts = np.array_split(array, count)
        tensors = [to_device(part, name) for part, name in zip(parts, names, strict=False)]
        found |= {float(functions.sum(Sharded(tensors))), float(functions.sum(array, device=names[:count]))}
    if len(found) != 1:
        raise WrongResultError(f"the bits depend on the number of devices: {found}")


def shards_of(n: int, names: list[str], torch: Any) -> list[Any]:
    """Return an array on each device: PyTorch's, where they are GPUs."""
    if torch is None or names[0].startswith("sim"):
        return [to_device(elements(n, seed), name) for seed, name in enumerate(names)]
    return [torch.randn(n, device=name) for name in names]


def of_others(tensors: list[Any], names: list[str], torch: Any, cupy: Any) -> dict[str, Call]:
    """Return what other libraries do with tensors of PyTorch."""
    calls: dict[str, Call] = {"torch": lambda _: sum(part.item() for part in [t.sum() for t in tensors])}
    if len(names) > 1:

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


def of_jax(n: int, names: list[str], jax: Any, torch: Any) -> dict:
    """Time a jitted sum of an array of JAX's stored on all devices."""
    mesh = jax.sharding.Mesh(np.array(jax.devices("gpu")[: len(names)]), ("parts",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("parts"))
    parts = []
    for tensor in shards_of(n, names, torch):
        with torch.cuda.device(tensor.device):  # or PyTorch refuses to hand it out
            parts.append(jax.dlpack.from_dlpack(tensor))
    whole = jax.make_array_from_single_device_arrays((len(parts) * len(parts[0]),), sharding, parts)
    total = jax.jit(jax.numpy.sum)
    return summarize_times(loop_times({"jax": lambda _: float(total(whole))})["jax"])


def _sum_of(tensor: Any, exact: bool) -> Call:
    return lambda _: float(functions.sum(tensor, exact=exact))


class MultiDevice(Benchmark):
    """Sums of sharded tensors and of host arrays on 1, 2, 4 and 8 devices."""

    summary = "sums over several GPUs, compared with PyTorch, NCCL, CuPy and JAX"
    method = "median time in microseconds from the call to the Python float"
    optional = ("torch", "cupy", "jax")
    quick: ClassVar[Mapping[str, Any]] = {"sizes": [10, 20], "host_size": 22}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="powers of two, per device")
        parser.add_argument("--host-size", type=int, default=HOST_SIZE, help="a power of two")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.names = names_of(self.where.kind)

    def head(self) -> dict[str, Any]:
        """Check the bits; return whether the devices are simulated, and their number."""
        check_bits(self.names)
        return {"simulated": self.where.kind == "sim", "gpus": len(self.names)}

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield rows for each number of devices."""
        for count in [count for count in COUNTS if count <= len(self.names)]:
            names = self.names[:count]
            for size in self.options.sizes:
                yield self.sharded(1 << size, names)
            for pinned in (True, False) if self.torch is not None else (False,):
                yield self.host(1 << self.options.host_size, names, pinned)

    def sharded(self, n: int, names: list[str]) -> dict[str, Any]:
        """Return the row of the sum of tensors on devices, and of each of them alone."""
        tensors = shards_of(n, names, self.torch)
        whole = Sharded(tensors)
        calls: dict[str, Call] = {
            "gpureduce": lambda _: float(functions.sum(whole)),
            "max": lambda _: float(functions.max(whole)),
        }
        for name, exact in (("slowest", True), ("rounded", False)):
            for i, tensor in enumerate(tensors):
                calls[f"{name} {i}"] = _sum_of(tensor, exact)
        if not names[0].startswith("sim") and self.torch is not None:
            calls |= of_others(tensors, names, self.torch, self.libraries.get("cupy"))
        us = {name: summarize_times(taken) for name, taken in loop_times(calls).items()}
        for name in ("slowest", "rounded"):
            alone = [us.pop(f"{name} {i}") for i in range(len(tensors))]
            us[name] = max(alone, key=lambda summary: summary["median"])
        return {"where": "device", "gpus": len(names), "n": n, "us": us}

    def host(self, n: int, names: list[str], pinned: bool) -> dict[str, Any]:
        """Return the row of the sum of a host array, the copies that it needs, and the CPU."""
        array, torch = elements(n), self.torch
        calls: dict[str, Call] = {}
        if torch is not None:
            tensor = torch.from_numpy(array)
            if pinned and not names[0].startswith("sim"):
                tensor = tensor.pin_memory()
            array = tensor.numpy()
            calls["torch_cpu"] = lambda _: tensor.sum().item()
            if not names[0].startswith("sim"):
                parts = tensor.chunk(len(names))
                targets = [
                    torch.empty_like(part, device=name) for part, name in zip(parts, names, strict=True)
                ]

                def copied(_: int) -> None:
                    for target, part in zip(targets, parts, strict=True):
                        target.copy_(part, non_blocking=True)
                    for name in names:
                        torch.cuda.synchronize(name)

                calls["copies"] = copied
        calls["gpureduce"] = lambda _: float(functions.sum(array, device=names))
        calls["numpy"] = lambda _: float(array.sum())
        us = {name: summarize_times(taken) for name, taken in loop_times(calls).items()}
        return {"where": "pinned" if pinned else "pageable", "gpus": len(names), "n": n, "us": us}

    def finish(self, record: dict[str, Any]) -> None:
        """Time JAX, which comes last, because its threads slow the others down."""
        jax = self.libraries.get("jax")
        if self.where.kind == "sim" or self.torch is None or jax is None:
            return
        for row in record["rows"]:
            if row["where"] == "device":
                row["us"]["jax"] = of_jax(row["n"], self.names[: row["gpus"]], jax, self.torch)

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        times = "  ".join(f"{name} {us['median']:.1f}" for name, us in row["us"].items())
        return f"{row['where']:8} {row['gpus']} devices n={row['n']:<11} {times}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the tables of a record, and the chart where it is of GPUs."""
        lines = ["Simulated: no figures of a GPU.", ""]
        if not record["simulated"]:
            where = markdown.source(record, "torch", "cupy", "jax")
            lines[0] = f"{record['gpus']} x {where}: {MultiDevice.method}."
        for where, what in (
            ("device", "float32 on each GPU"),
            ("pinned", "float32 in pinned host memory"),
            ("pageable", "float32 in pageable host memory"),
        ):
            rows = [row for row in record["rows"] if row["where"] == where]
            if not rows:
                continue
            columns = [f"{_count(row['gpus'])}, {markdown.power(row['n'])}" for row in rows]
            labels = dict(LABELS)
            if where != "device":
                labels["gpureduce"] = "`gpureduce.sum(array, device=[...])`"
            cells = (
                [label, *(markdown.median_us(row, name, "{:.1f}") or "-" for row in rows)]
                for name, label in labels.items()
                if any(name in row["us"] for row in rows)
            )
            lines += [*markdown.table([what, *columns], "lr", cells), ""]
        if not record["simulated"]:
            on_devices = [row for row in record["rows"] if row["where"] == "device"]
            lines.append(drawing.picture("several", message(on_devices), phone=True))
        return "\n".join(lines).rstrip()

    @staticmethod
    def chart(record: dict[str, Any], dark: bool = False) -> str | None:
        """Return bars of time over GPUs."""
        return svg(record, DARK if dark else LIGHT)


BARS = ("gpureduce", "slowest", "torch", "nccl", "cupy", "jax")
WIDTH, LEFT, RIGHT, STEP, BAR = 880, 70, 330, 16, 12


def svg(record: dict, palette: Palette, phone: bool = False) -> str:
    """Return bars of time over GPUs: of the smallest tensors, and of the largest to another scale.

    `phone`: for narrow screens, with the names above the bars.
    """
    rows = [row for row in record["rows"] if row["where"] == "device"]
    colours = {**palette.libraries, "slowest": palette.faint}
    colours["nccl"] = drawing.blend(colours["torch"], palette.background)
    title, width = message(rows), drawing.PHONE if phone else WIDTH
    left, right, step = (52, 8, STEP + 16) if phone else (LEFT, RIGHT, STEP)
    below = f"{record['device']}: time from the call to the Python float, in us; each size to its own scale"
    parts, ends = drawing.titles(title, below, width, palette)
    y = ends + 38.0
    for n in (min(row["n"] for row in rows), max(row["n"] for row in rows)):
        found = [row for row in rows if row["n"] == n]
        longest = max(time for row in found for name in BARS if (time := _time(row, name)))
        head = f"{markdown.power(n)} float32 elements on each GPU"
        parts.append(drawing.text(0, y - 8, head, palette.text))
        for row in found:
            parts.append(drawing.text(0, y + BAR - 1, _count(row["gpus"]), palette.faint, size=12))
            for name in BARS:
                if (time := _time(row, name)) is None:
                    continue
                end = left + (width - left - right) * time / longest
                words = f"{time:.1f} us  {LABELS[name].replace('`', '')}"
                begin = left if phone else end + 6
                top = y + BAR + 2 if phone else y
                parts.append(drawing.rect(left, top, end - left, BAR, colours[name]))
                parts.append(drawing.text(begin, y + BAR - 2, words, palette.text, size=12))
                y += step
            y += STEP / 2
        y += 2 * STEP
    return drawing.svg(title, width, round(y - STEP), parts)


def message(rows: list[dict]) -> str:
    """Return how long the smallest sums take on the most GPUs, and the fastest other library."""
    row = max(rows, key=lambda row: (row["gpus"], -row["n"]))
    times = {name: time for name in ("torch", "cupy", "jax") if (time := _time(row, name))}
    title = f"On {_count(row['gpus'])} gpureduce sums {markdown.power(row['n'])} float32 elements per GPU"
    title += f" in {_time(row, 'gpureduce'):.1f} us"
    if times:
        best = min(times, key=times.__getitem__)
        title += f", {LIBRARIES[best]} in {times[best]:.1f} us"
    return title


def _count(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def _time(row: dict, name: str) -> float | None:
    return row["us"][name]["median"] if name in row["us"] else None


BENCHMARK = MultiDevice
