"""The layers that the benchmark of convolutions times."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gpureduce._conv.geometry import geometry

VENDOR = "cudnn"


class Layer(NamedTuple):
    """A convolution: n images of h x w with c channels, f filters of kh x kw."""

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
