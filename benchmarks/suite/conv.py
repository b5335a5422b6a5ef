"""Times convolutions on the device beside PyTorch's, which are cuDNN's, all in one run.

Each figure is the median over replays of a CUDA graph captured from calls of the public functions, in
microseconds a convolution; the graphs of all contenders take turns. A graph goes round sets of pictures,
filters and results that are together larger than the L2 cache, as far as 64 sets are. cuDNN chooses its
kernel by trying (``torch.backends.cudnn.benchmark``). Results are poisoned with NaN first and compared with
float64: the error is that of the whole result, by its Frobenius norm.

    python benchmarks/run.py conv --out FILE
"""

from __future__ import annotations

import argparse
import ctypes
import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpureduce._bench import environment, files, timing
from gpureduce._bench.stats import summarize_times
from gpureduce._conv.convolution import conv2d
from gpureduce._conv.geometry import LAYOUTS, geometry
from gpureduce._device.variants import AUTO, variants
from gpureduce._matmul.product import PRECISIONS

SET_BYTES = 152 << 20  # of the sets that take turns: more than twice the 60 MB L2 of an H200
MOST_SETS = 64
VENDOR = "cudnn"


class Layer(NamedTuple):
    """A convolution: n pictures of h x w with c channels, f filters of kh x kw."""

    name: str
    n: int
    h: int
    w: int
    c: int
    f: int
    kh: int
    kw: int
    stride: int | tuple[int, int] = 1
    padding: int | tuple[int, int] = 0
    dilation: int = 1
    groups: int = 1

    @property
    def options(self) -> dict[str, Any]:
        """What is no size."""
        return {name: getattr(self, name) for name in ("stride", "padding", "dilation", "groups")}

    def shapes(self, layout: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shapes of x and w."""
        deep = self.c // self.groups
        if layout == "NHWC":
            return (self.n, self.h, self.w, self.c), (self.f, self.kh, self.kw, deep)
        return (self.n, self.c, self.h, self.w), (self.f, deep, self.kh, self.kw)

    def result(self, layout: str) -> tuple[int, ...]:
        """Return the shape of the result."""
        return geometry(*self.shapes(layout), **self.options, layout=layout).shape

    @property
    def flop(self) -> int:
        """Operations: two for each product, those with zeros of the padding included."""
        return 2 * math.prod(self.result("NHWC")) * self.kh * self.kw * self.c // self.groups


PUBLISHED = Layer("published", 2, 130, 514, 12, 24, 3, 3)
# What is measured of it: plain float32 first, as tensor cores make a GPU slower for a while.
KINDS = (("float32", "ieee"), ("float32", "tf32x3"), ("float32", "tf32"), ("float16", "ieee"))
LAYERS = (
    PUBLISHED,
    *(
        Layer(f"resnet-{i}", 32, *sizes)
        for i, sizes in enumerate(
            (
                (224, 224, 3, 64, 7, 7, 2, 3), (56, 56, 64, 64, 1, 1), (56, 56, 64, 64, 3, 3, 1, 1),
                (56, 56, 64, 256, 1, 1), (56, 56, 256, 64, 1, 1), (56, 56, 256, 128, 1, 1),
                (56, 56, 128, 128, 3, 3, 2, 1), (28, 28, 128, 512, 1, 1), (56, 56, 256, 512, 1, 1, 2),
                (28, 28, 512, 128, 1, 1), (28, 28, 128, 128, 3, 3, 1, 1), (28, 28, 512, 256, 1, 1),
                (28, 28, 256, 256, 3, 3, 2, 1), (14, 14, 256, 1024, 1, 1), (14, 14, 256, 256, 3, 3, 1, 1),
                (14, 14, 1024, 256, 1, 1), (14, 14, 1024, 512, 1, 1), (14, 14, 512, 512, 3, 3, 2, 1),
                (7, 7, 512, 2048, 1, 1), (7, 7, 512, 512, 3, 3, 1, 1),
            )
        )
    ),
    *(
        Layer(f"mobilenet-{i}", 32, *sizes)
        for i, sizes in enumerate(
            (
                (224, 224, 3, 32, 3, 3, 2, 1), (112, 112, 32, 32, 3, 3, 1, 1, 1, 32),
                (112, 112, 32, 64, 1, 1), (112, 112, 64, 64, 3, 3, 2, 1, 1, 64), (56, 56, 64, 128, 1, 1),
                (28, 28, 256, 256, 3, 3, 1, 1, 1, 256), (14, 14, 512, 512, 3, 3, 1, 1, 1, 512),
                (14, 14, 512, 512, 1, 1), (7, 7, 1024, 1024, 3, 3, 1, 1, 1, 1024),
            )
        )
    ),
    *(
        Layer(f"unet-{i}", 1, *sizes)
        for i, sizes in enumerate(
            (
                (572, 572, 1, 64, 3, 3), (570, 570, 64, 64, 3, 3), (284, 284, 64, 128, 3, 3),
                (140, 140, 128, 256, 3, 3), (68, 68, 256, 512, 3, 3), (392, 392, 128, 64, 3, 3),
                (388, 388, 64, 2, 1, 1),
            )
        )
    ),
    Layer("odd", 3, 137, 153, 17, 29, 5, 3, (1, 2), (2, 1)),
    Layer("dilated", 4, 64, 64, 64, 64, 3, 3, 1, 2, 2),
    Layer("groups", 8, 28, 28, 256, 256, 3, 3, 1, 1, 1, 8),
)  # fmt: skip


class Sets:
    """Pictures, filters and results of one layer, several of each."""

    def __init__(self, torch: Any, layer: Layer, layout: str, dtype: str) -> None:
        self.torch, self.layer, self.layout, self.dtype = torch, layer, layout, getattr(torch, dtype)
        shapes = (*layer.shapes(layout), layer.result(layout))
        each = sum(map(math.prod, shapes)) * self.dtype.itemsize
        self.count = min(MOST_SETS, max(2, math.ceil(SET_BYTES / each)))
        generator = torch.Generator(device="cuda").manual_seed(20261123)
        self.x, self.w = (
            [torch.randn(shape, device="cuda", generator=generator).to(self.dtype) for _ in range(self.count)]
            for shape in shapes[:2]
        )
        self.y = [torch.empty(shapes[2], dtype=self.dtype, device="cuda") for _ in range(self.count)]
        self.theirs: list[Any] = [None] * self.count
        with torch.backends.cudnn.flags(benchmark=False):
            self.wanted = self._torch(self.x[0].double(), self.w[0].double())

    def _torch(self, x: Any, w: Any) -> Any:
        """Return PyTorch's result, in its order of axes."""
        if self.layout == "NHWC":
            x, w = x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2)
        return self.torch.nn.functional.conv2d(x, w, None, **self.layer.options)

    def vendor(self, i: int) -> None:
        """Let cuDNN do a set; the result is kept, so that it gets memory of its own."""
        self.theirs[i] = self._torch(self.x[i], self.w[i])

    def error(self, name: str, call: Callable[[int], object]) -> float:
        """Return the relative error of a result; NaN where an element was not written."""
        self.y[0].fill_(math.nan)
        call(0)
        self.torch.cuda.synchronize()
        got = self.theirs[0] if name == VENDOR else self.y[0]
        if name != VENDOR and self.layout == "NHWC":
            got = got.permute(0, 3, 1, 2)
        return ((got.double() - self.wanted).norm() / self.wanted.norm()).item()


def contenders(sets: Sets, names: list[str], precision: str) -> dict[str, Callable[[int], object]]:
    """Return what does one set, by name."""

    def ours(name: str) -> Callable[[int], object]:
        options = {**sets.layer.options, "layout": sets.layout, "variant": name, "precision": precision}
        return lambda i: conv2d(sets.x[i], sets.w[i], **options, out=sets.y[i])

    return {**{name: ours(name) for name in names}, VENDOR: sets.vendor}


def measure(sets: Sets, names: list[str], precision: str, repeats: int) -> Iterator[dict]:
    """Yield a row for each contender: its time, its error, and its time over that of cuDNN."""
    torch, layer = sets.torch, sets.layer
    field = contenders(sets, names, precision)
    errors = {name: sets.error(name, call) for name, call in field.items()}
    launches = sets.count if layer.flop > 1 << 34 else max(sets.count, 8)
    graphs = {name: timing.capture(torch, call, sets.count, launches) for name, call in field.items()}
    times: dict[str, list[float]] = {name: [] for name in field}
    for _ in range(repeats):
        for name, graph in graphs.items():
            times[name] += timing.replay_times(torch, graph, launches, 1)
    vendor = statistics.median(times[VENDOR])
    for name, figures in times.items():
        us = summarize_times(figures)
        yield {
            "variant": name,
            "dtype": str(sets.dtype).removeprefix("torch."),
            "precision": precision,
            "layout": sets.layout,
            **layer._asdict(),
            "us": {key: round(value, 2) for key, value in us.items()},
            "tflop_per_s": round(layer.flop / us["median"] / 1e6, 3),
            "of_cudnn": round(us["median"] / vendor, 4),
            "error": float(f"{errors[name]:.3e}"),
        }


def rows(
    layers: list[Layer], layouts: list[str], dtypes: list[str], precision: str, repeats: int
) -> Iterator[dict]:
    """Yield all rows: every rung that does a layer at the published size, the default for all."""
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    own = [record for record in variants("conv") if record.name != VENDOR]
    able = [record for record in own if record.precision in (None, precision)]
    for layer in layers:
        for layout in layouts:
            for dtype in dtypes:
                named = [record.name for record in able if dtype in record.dtypes]
                sets = Sets(torch, layer, layout, dtype)
                for row in measure(sets, [*(named if layer == PUBLISHED else []), AUTO], precision, repeats):
                    print(show(row), flush=True)
                    yield row
                del sets
                torch.cuda.empty_cache()
                trim_graphs()


def trim_graphs() -> None:
    """Let the driver give back the memory of graphs that are gone, which it keeps for the next ones."""
    ctypes.CDLL("libcuda.so.1").cuDeviceGraphMemTrim(0)


def show(row: dict) -> str:
    """Return a row as a line."""
    sizes = "x".join(str(row[name]) for name in ("n", "h", "w", "c", "f", "kh", "kw"))
    return (
        f"{row['variant']:6} {row['dtype']:8} {row['layout']} {row['name']:12} {sizes:28} "
        f"{row['us']['median']:9.2f} us {row['tflop_per_s']:8.2f} TFLOP/s  error {row['error']:.1e}  "
        f"{row['of_cudnn']:.3f} of cuDNN's time"
    )


def geometric_mean(rows: list[dict]) -> float:
    """Return the mean of what the default takes of cuDNN's time."""
    ratios = [row["of_cudnn"] for row in rows if row["variant"] == AUTO]
    return statistics.geometric_mean(ratios) if ratios else math.nan


def method() -> str:
    """Return how it is measured, as the head of a results file says it."""
    return " ".join((__doc__ or "\n\n").split("\n\n")[1].split())


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python benchmarks/run.py conv", description=__doc__.split("\n")[0])
    parser.add_argument("--published", action="store_true", help="the published size alone, in all kinds")
    parser.add_argument("--layers", nargs="+", default=[layer.name for layer in LAYERS], metavar="NAME")
    parser.add_argument("--layouts", nargs="+", default=list(LAYOUTS), choices=LAYOUTS)
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--precision", default="ieee", choices=PRECISIONS)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    unknown = set(options.layers) - {layer.name for layer in LAYERS}
    if unknown:
        parser.error(f"layers: unknown {', '.join(sorted(unknown))}")
    head = environment.header(environment.find_device("cuda"))
    chosen = [layer for layer in LAYERS if layer.name in options.layers]
    if options.published:
        found = [
            row
            for dtype, precision in KINDS
            for row in rows([PUBLISHED], options.layouts, [dtype], precision, options.repeats)
        ]
    else:
        found = list(rows(chosen, options.layouts, options.dtypes, options.precision, options.repeats))
        print(f"geometric mean of the default over cuDNN: {geometric_mean(found):.3f}")
    files.write_result(options.out, {**head, "method": method(), "rows": found})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
