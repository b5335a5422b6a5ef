"""Times convolutions whose images have the same bits in every batch, and those of any order."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.conv_layers import LAYERS, PUBLISHED, Layer
from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Call, Times, WrongResultError
from benchmarks.suite.conv import trim_graphs
from gpureduce._bench import timing
from gpureduce._bench.stats import summarize_times
from gpureduce._conv.convolution import conv2d
from gpureduce._conv.geometry import LAYOUTS

BATCHES = (1, 2, 8, 32)
KINDS = (("float32", "ieee"), ("float32", "tf32"), ("float16", "ieee"))
NAMES = ("batch_invariant", "any_order")
POOL_BYTES = 128 << 20  # of the images from which batches are cut
MAX_LAUNCHES = 16
HEAVY = 1 << 35  # multiply-adds of a call, of which a graph has only one


class Case(NamedTuple):
    """A layer in one layout, dtype and precision."""

    layer: Layer
    layout: str
    dtype: str
    precision: str


class ConvBatchInputs:
    """Images of one layer, from which batches are cut, and its filters."""

    def __init__(self, torch: Any, case: Case) -> None:
        one = case.layer._replace(n=1)
        dtype = getattr(torch, case.dtype)
        image, filters = one.shapes(case.layout)
        count = min(1024, math.ceil(POOL_BYTES / (math.prod(image) * dtype.itemsize)))
        self.images = max(BATCHES[-1], count)
        generator = torch.Generator(device="cuda").manual_seed(20261129)
        exponents = 3 if case.dtype == "float16" else 8

        def spread(shape: tuple[int, ...]) -> Any:
            """Numbers over many exponents, so that another order of a sum has other bits."""
            x = torch.randn(shape, device="cuda", generator=generator)
            powers = torch.randint(-exponents, exponents + 1, shape, device="cuda", generator=generator)
            x *= torch.exp2(powers)
            return x.to(dtype)

        self.x, self.w = spread((self.images, *image[1:])), spread(filters)
        self.y = torch.empty((BATCHES[-1], *one.result(case.layout)[1:]), dtype=dtype, device="cuda")

    def __len__(self) -> int:
        return self.images


class ConvBatch(Benchmark):
    """Convolutions with and without `batch_invariant`."""

    summary = "conv2d with and without batch_invariant, for 1 to 32 images"
    method = (
        "layers of benchmarks/conv_layers.py with 1, 2, 8 and 32 images; us per call, medians of graphs of up"
        " to 16 calls with the same filters and, as far as they fit in 128 MB, other images, contenders in"
        " turn; other_bits: the numbers of images among which the first or the last images have other bits"
        " than among 32, of numbers over many exponents"
    )
    required = ("torch",)
    repeats = 5
    quick: ClassVar[Mapping[str, Any]] = {"repeats": 3, "layers": ["resnet-1", "resnet-14"]}

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        names = [layer.name for layer in LAYERS if layer is not PUBLISHED]
        parser.add_argument("--layers", nargs="+", default=names, choices=names, metavar="NAME")
        parser.add_argument("--layouts", nargs="+", default=["NCHW"], choices=LAYOUTS)

    def cases(self) -> Iterator[Case]:
        """Yield the cases."""
        for layer in LAYERS:
            if layer.name in self.options.layers:
                for layout in self.options.layouts:
                    yield from (Case(layer, layout, *kind) for kind in KINDS)

    def inputs(self, case: Case) -> ConvBatchInputs:
        """Return images and filters."""
        return ConvBatchInputs(self.torch, case)

    def contenders(self, case: Case, inputs: ConvBatchInputs) -> dict[str, Any]:
        """Return the convolution of each contender: of images, to a result."""
        precision = case.precision if case.dtype == "float32" else None
        options = {**case.layer.options, "layout": case.layout, "precision": precision}

        def by(batch_invariant: bool) -> Any:
            return lambda x, y: conv2d(x, inputs.w, out=y, batch_invariant=batch_invariant, **options)

        return {"batch_invariant": by(True), "any_order": by(False)}

    def other_bits(self, inputs: ConvBatchInputs, call: Any) -> list[int]:
        """Return the numbers of images with which the first or last of 32 images have other bits."""
        torch, most, found = self.torch, BATCHES[-1], []
        call(inputs.x[:most], inputs.y)
        whole = inputs.y.clone()
        for images in BATCHES[:-1]:
            for first in (0, most - images):
                got = torch.full_like(inputs.y[:images], math.nan)
                call(inputs.x[first : first + images].clone(), got)
                expected = whole[first : first + images].contiguous()
                if not torch.equal(got.view(torch.uint8), expected.view(torch.uint8)):
                    found.append(images)
                    break
        return found

    def check(self, case: Case, inputs: ConvBatchInputs, contenders: Mapping[str, Any]) -> None:
        """Find the numbers of images on which the bits of an image depend."""
        self.differing = {name: self.other_bits(inputs, call) for name, call in contenders.items()}
        self.torch.cuda.synchronize()

    def finish(self, record: dict[str, Any]) -> None:
        """Raise WrongResultError if the bits of an image depend on the number of images by default."""
        wrong = [row["layer"] for row in record["rows"] if row["other_bits"][NAMES[0]]]
        if wrong:
            raise WrongResultError(f"images have other bits among others: {', '.join(wrong)}")

    @staticmethod
    def of_batch(inputs: ConvBatchInputs, images: int, call: Any) -> Call:
        """Return the convolution of a number of images by the index of the batch."""
        y = inputs.y[:images]
        return lambda i: call(inputs.x[i * images : (i + 1) * images], y)

    def measure(self, case: Case, inputs: ConvBatchInputs, contenders: Mapping[str, Any]) -> Times:
        """Return microseconds per call, by contender and number of images."""
        times: Times = {}
        for images in BATCHES:
            sets = inputs.images // images
            calls = {name: self.of_batch(inputs, images, call) for name, call in contenders.items()}
            heavy = case.layer._replace(n=images).flop > 2 * HEAVY
            launches = 1 if heavy else max(4, min(sets, MAX_LAUNCHES))
            found = timing.graph_times(self.torch, calls, sets, launches, self.turns())
            times |= {f"{name} {images}": each for name, each in found.items()}
        trim_graphs()
        return times

    def rows(self, case: Case, inputs: ConvBatchInputs, times: Times) -> Iterator[dict[str, Any]]:
        """Yield the row of a case."""
        us = {
            name: {str(n): round(summarize_times(times[f"{name} {n}"])["median"], 2) for n in BATCHES}
            for name in NAMES
        }
        kind = {"layout": case.layout, "dtype": case.dtype, "precision": case.precision}
        yield {"layer": case.layer.name, **kind, "us": us, "other_bits": self.differing}

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line of the terminal."""
        shares = (row["us"][NAMES[0]][str(n)] / row["us"][NAMES[1]][str(n)] for n in BATCHES)
        figures = ", ".join(f"{n}: {share:.2f}" for n, share in zip(BATCHES, shares, strict=True))
        return f"{row['layer']} {row['layout']} {row['dtype']} {row['precision']}: {figures}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return the shares of the time of any order, by precision and number of images."""
        lines = []
        for dtype, precision in KINDS:
            rows = [row for row in record["rows"] if (row["dtype"], row["precision"]) == (dtype, precision)]
            kind = dtype if precision == "ieee" else f"{dtype}, {precision}"
            cells = []
            for n in map(str, BATCHES):
                shares = {row["layer"]: row["us"][NAMES[0]][n] / row["us"][NAMES[1]][n] for row in rows}
                worst = max(shares, key=lambda name: shares[name])
                cells.append(f"{statistics.median(shares.values()):.2f} ({shares[worst]:.2f}, {worst})")
            differing = sum(bool(row["other_bits"]["any_order"]) for row in rows)
            lines.append([kind, *cells, f"{differing} of {len(rows)}"])
        heads = ["", *(f"{n} image{'s' * (n > 1)}" for n in BATCHES), "other bits without it"]
        return "\n".join([markdown.source(record), "", *markdown.table(heads, "lrrrrr", lines)])


BENCHMARK = ConvBatch
