"""Shapes of a convolution from its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

LAYOUTS = ("NHWC", "NCHW")
_MOST = 2**31 - 1  # of a stride, a dilation and a padding


@dataclass(frozen=True)
class Geometry:
    """Strides, paddings (before and after) and dilations of both axes, for the core, and the result shape."""

    stride: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilation: tuple[int, int]
    groups: int
    layout: str
    shape: tuple[int, ...]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the core, by name."""
        names = ("stride", "padding", "dilation", "groups", "layout")
        return {name: getattr(self, name) for name in names}


def axes(layout: Any) -> tuple[int, int, int, int]:
    """Return the axes of images, rows, columns and channels."""
    if not isinstance(layout, str):
        raise TypeError(f"layout: expected str, got {type(layout).__name__}")
    if layout not in LAYOUTS:
        raise ValueError(f"layout: expected one of {', '.join(LAYOUTS)}, got {layout!r}")
    return (0, 1, 2, 3) if layout == "NHWC" else (0, 2, 3, 1)


def _integer(value: Any, name: str, least: int) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an int or a pair of them, got {type(value).__name__}") from None
    if not least <= number <= _MOST:
        raise ValueError(f"{name}: expected {least} to {_MOST}, got {number}")
    return number


def _pair(value: Any, name: str, least: int) -> tuple[int, int]:
    if not isinstance(value, tuple | list):
        return (_integer(value, name, least),) * 2
    if len(value) == 1:
        return (_integer(value[0], name, least),) * 2
    if len(value) != 2:
        raise ValueError(f"{name}: expected an int or a pair of them, got {len(value)} numbers")
    return _integer(value[0], name, least), _integer(value[1], name, least)


def _padding(
    padding: Any, stride: tuple[int, int], dilation: tuple[int, int], kernel: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return the padding rows above and below, and the padding columns before and after."""
    if not isinstance(padding, str):
        down, along = _pair(padding, "padding", 0)
        return down, down, along, along
    if padding == "valid":
        return 0, 0, 0, 0
    if padding != "same":
        raise ValueError(f"padding: expected 'same', 'valid' or numbers, got {padding!r}")
    if stride != (1, 1):
        raise ValueError(f"padding: 'same' is for stride 1, not for {stride}")
    total = [step * (taps - 1) for step, taps in zip(dilation, kernel, strict=True)]
    return total[0] // 2, total[0] - total[0] // 2, total[1] // 2, total[1] - total[1] // 2


def geometry(
    x: tuple[int, ...],
    w: tuple[int, ...],
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Any = 1,
    layout: Any = "NCHW",
) -> Geometry:
    """Return the geometry of a convolution of these shapes; TypeError and ValueError name the argument."""
    _, down, along, channel = axes(layout)
    if len(w) != 4:
        raise ValueError(f"w: expected four dimensions, got shape {w}")
    if len(x) not in (3, 4):
        raise ValueError(f"x: expected four dimensions, or three for one image, got shape {x}")
    pictures = x if len(x) == 4 else (1, *x)
    steps, apart = _pair(stride, "stride", 1), _pair(dilation, "dilation", 1)
    parts = _integer(groups, "groups", 1)
    channels, filters, kernel = pictures[channel], w[0], (w[down], w[along])
    for name, what, count in (("x", "channels", channels), ("w", "filters", filters)):
        if count % parts:
            raise ValueError(f"groups: {parts} does not divide the {count} {what} of {name}")
    if channels // parts != w[channel]:
        each = channels // parts
        raise ValueError(
            f"w: expected {each} channels (x has {channels} in {parts} groups), got {w[channel]}"
        )
    if 0 in kernel:
        raise ValueError(f"w: expected a nonempty kernel, got {kernel[0]} x {kernel[1]}")
    zeros = _padding(padding, steps, apart, kernel)
    result = list(pictures)
    result[channel] = filters
    for i, axis in enumerate((down, along)):
        padded, reach = pictures[axis] + zeros[2 * i] + zeros[2 * i + 1], apart[i] * (kernel[i] - 1) + 1
        if padded < reach:
            what = ("rows", "columns")[i]
            raise ValueError(f"w: the dilated kernel spans {reach} {what}, but the padded x has {padded}")
        result[axis] = (padded - reach) // steps[i] + 1
    return Geometry(steps, zeros, apart, parts, layout, tuple(result[4 - len(x) :]))
