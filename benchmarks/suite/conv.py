"""Times convolutions on the device, compared with PyTorch's, which are cuDNN's, all in one run."""

from __future__ import annotations

import argparse
import ctypes
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.conv_layers import LAYERS, PUBLISHED, VENDOR, Layer
from benchmarks.harness.benchmark import Benchmark, Times
from benchmarks.report import conv as report
from gpureduce._bench.stats import summarize_times
from gpureduce._conv.convolution import conv2d
from gpureduce._conv.geometry import LAYOUTS
from gpureduce._device.variants import AUTO, variants
from gpureduce._matmul.product import PRECISIONS

METHOD = (
    "Each figure is the median over replays of a CUDA graph captured from calls of the public"
    " functions, in microseconds per convolution; the graphs of all contenders take turns. A"
    " graph rotates over up to 64 sets of images, filters and results, which together are larger"
    " than the L2 cache. cuDNN chooses its kernel by timing (``torch.backends.cudnn.benchmark``)."
    " Results are poisoned with NaN first and compared with float64: the error is the relative"
    " error of the whole result in the Frobenius norm."
)
SET_BYTES = 152 << 20  # of the sets that a graph rotates over: more than twice the 60 MB L2 cache of an H200
MAX_SETS = 64
# What is measured of it: plain float32 first, as tensor cores make a GPU slower for a while.
KINDS = (("float32", "ieee"), ("float32", "tf32x3"), ("float32", "tf32"), ("float16", "ieee"))


class ConvInputs:
    """Images, filters and results of one layer, several of each."""

    def __init__(self, torch: Any, layer: Layer, layout: str, dtype: str) -> None:
        self.torch, self.layer, self.layout, self.dtype = torch, layer, layout, getattr(torch, dtype)
        shapes = (*layer.shapes(layout), layer.result(layout))
        each = sum(map(math.prod, shapes)) * self.dtype.itemsize
        self.count = min(MAX_SETS, max(2, math.ceil(SET_BYTES / each)))
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

    def __len__(self) -> int:
        return self.count


def trim_graphs() -> None:
    """Let the driver give back the memory of graphs that are gone, which it keeps for the next ones."""
    ctypes.CDLL("libcuda.so.1").cuDeviceGraphMemTrim(0)


def geometric_mean(rows: list[dict]) -> float:
    """Return the mean of what the default takes of cuDNN's time."""
    ratios = [row["of_cudnn"] for row in rows if row["variant"] == AUTO]
    return statistics.geometric_mean(ratios) if ratios else math.nan


class Case(NamedTuple):
    """A layer in one layout, dtype and precision."""

    layer: Layer
    layout: str
    dtype: str
    precision: str


class Conv(Benchmark):
    """Every rung that does a layer at the published size, the default for all layers."""

    summary = "convolutions of 40 layers, rung by rung and by default, compared with cuDNN"
    method = METHOD
    required = ("torch",)
    device = "cuda"
    repeats = 15
    quick: ClassVar[Mapping[str, Any]] = {
        "layers": ["published", "resnet-3", "unet-1"],
        "layouts": ["NHWC"],
        "repeats": 3,
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        names = [layer.name for layer in LAYERS]
        parser.add_argument("--published", action="store_true", help="the published size alone, in all kinds")
        parser.add_argument("--layers", nargs="+", default=names, choices=names, metavar="NAME")
        parser.add_argument("--layouts", nargs="+", default=list(LAYOUTS), choices=LAYOUTS)
        parser.add_argument("--dtypes", nargs="+", default=["float32"])
        parser.add_argument("--precision", default="ieee", choices=PRECISIONS)

    def cases(self) -> Iterable[Case]:
        """Return layers in all layouts and dtypes."""
        options = self.options
        if options.published:
            return [Case(PUBLISHED, layout, *kind) for kind in KINDS for layout in options.layouts]
        layers = [layer for layer in LAYERS if layer.name in options.layers]
        return [
            Case(layer, layout, dtype, options.precision)
            for layer in layers
            for layout in options.layouts
            for dtype in options.dtypes
        ]

    def inputs(self, case: Case) -> ConvInputs:
        """Return images, filters and results."""
        cudnn = self.torch.backends.cudnn
        cudnn.benchmark, cudnn.allow_tf32 = True, case.precision == "tf32"
        return ConvInputs(self.torch, case.layer, case.layout, case.dtype)

    def contenders(self, case: Case, inputs: ConvInputs) -> dict[str, Callable[[int], object]]:
        """Return what does one set, by name."""
        rungs = [
            variant.name
            for variant in variants("conv")
            if variant.name != VENDOR
            and variant.precision in (None, case.precision)
            and case.dtype in variant.dtypes
        ]

        def by_gpureduce(name: str) -> Callable[[int], object]:
            options = {**case.layer.options, "layout": case.layout, "precision": case.precision}
            return lambda i: conv2d(inputs.x[i], inputs.w[i], **options, variant=name, out=inputs.y[i])

        names = [*(rungs if case.layer == PUBLISHED else []), AUTO]
        return {**{name: by_gpureduce(name) for name in names}, VENDOR: inputs.vendor}

    def check(self, case: Case, inputs: ConvInputs, contenders: Mapping[str, Callable[..., Any]]) -> None:
        """Compute the errors, which are in the rows; a result that is wrong shows there."""
        self.errors = {name: inputs.error(name, call) for name, call in contenders.items()}

    def launches(self, case: Case, inputs: ConvInputs) -> int:
        """Return whole rotations, of small layers eight calls at least."""
        return len(inputs) if case.layer.flop > 1 << 34 else max(len(inputs), 8)

    def run_case(self, case: Case) -> list[dict[str, Any]]:
        """Return the rows, and free what the next case needs."""
        rows = super().run_case(case)
        self.torch.cuda.empty_cache()
        trim_graphs()
        return rows

    def rows(self, case: Case, inputs: ConvInputs, times: Times) -> list[dict[str, Any]]:
        """Return a row for each contender: its time, its error, and its time over that of cuDNN."""
        vendor = statistics.median(times[VENDOR])
        medians = {name: statistics.median(taken) for name, taken in times.items()}
        return [
            {
                "variant": name,
                "dtype": case.dtype,
                "precision": case.precision,
                "layout": case.layout,
                **case.layer._asdict(),
                "us": summarize_times(taken, 2),
                "tflop_per_s": round(case.layer.flop / medians[name] / 1e6, 3),
                "of_cudnn": round(medians[name] / vendor, 4),
                "error": float(f"{self.errors[name]:.3e}"),
            }
            for name, taken in times.items()
        ]

    def finish(self, record: dict[str, Any]) -> None:
        """Print the geometric mean."""
        if not self.options.published:
            mean = geometric_mean(record["rows"])
            print(f"geometric mean of the default over cuDNN: {mean:.3f}")

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        sizes = "x".join(str(row[name]) for name in ("n", "h", "w", "c", "f", "kh", "kw"))
        return (
            f"{row['variant']:6} {row['dtype']:8} {row['layout']} {row['name']:12} {sizes:28} "
            f"{row['us']['median']:9.2f} us {row['tflop_per_s']:8.2f} TFLOP/s  error {row['error']:.1e}  "
            f"{row['of_cudnn']:.3f} of cuDNN's time"
        )

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return what the default takes of cuDNN's time, layer by layer."""
        return report.layers([record])


BENCHMARK = Conv
