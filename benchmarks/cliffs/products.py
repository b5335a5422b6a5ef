"""Matrix products and convolutions of any sizes."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.cliffs.family import Family, Pool, Prepared, extent
from gpureduce import _functions as gpureduce

# What is multiplied how: dtype and precision.
KINDS = (
    ("float32", "ieee"), ("float32", "tf32"), ("float16", "ieee"), ("bfloat16", "ieee"), ("float64", "ieee"),
)  # fmt: skip
# Errors relative to the Frobenius norm of the result.
ALLOWED = {"float32": 1e-5, "tf32": 3e-3, "float16": 3e-3, "bfloat16": 2e-2, "float64": 1e-13}
MOST_MACS = 1 << 36  # multiply-adds of a case


def frobenius_error(got: Any, want: Any, kind: tuple[str, str]) -> float:
    """Return the error of a result in the Frobenius norm, divided by what is allowed."""
    allowed = ALLOWED["tf32" if kind[1] == "tf32" else kind[0]]
    norm = float(want.norm()) or 1.0
    found = float((got.double() - want).norm()) / norm / allowed
    return found if found == found else float("inf")


class Products(Family):
    """Matrix products, either matrix transposed or not."""

    name = "products"

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw the sizes and a kind."""
        while True:
            m, n, k = (extent(draw, draw.choice((64, 8192, 100_000))) for _ in range(3))
            if max(m * n, m * k, n * k) <= most and m * n * k <= min(MOST_MACS, most * 1024):
                break
        return {"m": m, "n": n, "k": k, "kind": draw.choice(KINDS), "b_transposed": draw.random() < 0.3}

    def text(self, parts: dict[str, Any]) -> str:
        """Return sizes and kind."""
        transposed = " B transposed" if parts["b_transposed"] else ""
        return f"{parts['m']} x {parts['n']} x {parts['k']} (M x N x K) {' '.join(parts['kind'])}{transposed}"

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the two calls."""
        torch, (dtype, precision) = pool.torch, parts["kind"]
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        m, n, k = (parts[key] for key in "mnk")
        a = pool.cut(dtype, (m, k))
        b = pool.cut(dtype, (k, n), (1, k) if parts["b_transposed"] else None)[::-1]
        count = min(len(a), len(b))
        out = pool.empty((m, n), a[0].dtype)
        theirs = pool.empty((m, n), a[0].dtype)

        def ours(i: int) -> Any:
            return gpureduce.matmul(a[i], b[i], out, precision=precision)

        def error() -> float:
            ours(0)
            return frobenius_error(out, a[0].double() @ b[0].double(), (dtype, precision))

        return Prepared(
            {"gpureduce": ours, "torch": lambda i: torch.matmul(a[i], b[i], out=theirs)}, count, error
        )


class Convolutions(Family):
    """Convolutions of images, both layouts, any number of groups."""

    name = "convolutions"

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw the sizes; a third is depthwise or grouped."""
        while True:
            kernel = draw.choice((1, 1, 3, 3, 3, 5, 7))
            groups, c, f = 1, extent(draw, 1024), extent(draw, 1024)
            way = draw.random()
            if way < 0.2:
                groups, f = c, c
            elif way < 0.35:
                groups = draw.choice((2, 4, 8, 32))
                c, f = groups * max(1, c // groups), groups * max(1, f // groups)
            n, h, w = extent(draw, 64), extent(draw, 256) + kernel, extent(draw, 256) + kernel
            stride = draw.choice((1, 1, 1, 2))
            padding = draw.choice((0, kernel // 2))
            macs = n * h * w * f * (c // groups) * kernel * kernel // stride**2
            if n * h * w * max(c, f) <= most and macs <= min(MOST_MACS, most * 256):
                break
        kind = draw.choice((("float32", "ieee"), ("float32", "tf32"), ("float16", "ieee")))
        return {
            "n": n, "c": c, "h": h, "w": w, "f": f, "kernel": kernel, "groups": groups, "stride": stride,
            "padding": padding, "layout": draw.choice(("NCHW", "NHWC")), "kind": kind,
        }  # fmt: skip

    def text(self, parts: dict[str, Any]) -> str:
        """Return sizes and kind."""
        return (
            f"{parts['n']} images of {parts['c']} x {parts['h']} x {parts['w']}, {parts['f']} filters of"
            f" {parts['kernel']} x {parts['kernel']}, {parts['groups']} groups, stride {parts['stride']},"
            f" padding {parts['padding']}, {parts['layout']}, {' '.join(parts['kind'])}"
        )

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the two calls. cuDNN chooses its kernel by timing."""
        torch, (dtype, precision) = pool.torch, parts["kind"]
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        last = parts["layout"] == "NHWC"
        size, per_group = parts["kernel"], parts["c"] // parts["groups"]
        images = (parts["n"], parts["h"], parts["w"], parts["c"])
        filters = (parts["f"], size, size, per_group)
        if not last:
            images, filters = (tuple(each[i] for i in (0, 3, 1, 2)) for each in (images, filters))
        x, w = pool.cut(dtype, images), pool.cut(dtype, filters)[::-1]
        options = {key: parts[key] for key in ("stride", "padding", "groups")}

        def by_torch(image: Any, kernel: Any) -> Any:
            if last:
                image, kernel = image.permute(0, 3, 1, 2), kernel.permute(0, 3, 1, 2)
            return torch.nn.functional.conv2d(image, kernel, **options)

        def in_order(y: Any) -> Any:
            return y.permute(0, 2, 3, 1) if last else y

        out = pool.empty(tuple(in_order(by_torch(x[0], w[0])).shape), x[0].dtype)

        def ours(i: int) -> Any:
            return gpureduce.conv2d(
                x[i], w[i], **options, layout=parts["layout"], precision=precision, out=out
            )

        def error() -> float:
            ours(0)
            with torch.backends.cudnn.flags(benchmark=False):
                want = in_order(by_torch(x[0].double(), w[0].double()))
            return frobenius_error(out, want, (dtype, precision))

        return Prepared(
            {"gpureduce": ours, "torch": lambda i: by_torch(x[i], w[i])}, min(len(x), len(w)), error
        )
