"""Reductions along axes, and of whole arrays, of any shape and strides."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.cliffs.family import MAX_OFFSET, TOLERANCE, Family, Pool, Prepared, extent, relative_error
from gpureduce import _functions as gpureduce

FLOATS = ("float32", "float32", "float16", "bfloat16", "float64")
OTHERS = ("int8", "int32", "int64", "bool")
OPERATORS = ("sum", "sum", "mean", "max", "any", "var", "norm", "logsumexp")
POSITIONS = ("argmax", "argmin")
FLOATS_ONLY = ("mean", "var", "norm", "logsumexp")


def draw_dtype(draw: random.Random, op: str) -> str:
    """Draw a dtype that PyTorch's operator takes, too."""
    if op in FLOATS_ONLY or draw.random() < 0.7:
        return draw.choice(FLOATS)
    dtype = draw.choice(OTHERS)
    return "int32" if dtype == "bool" and op not in ("any", "sum") else dtype


def draw_form(draw: random.Random, most: int, ndim: int) -> dict[str, Any]:
    """Draw a shape, strides and an offset in elements: dense, permuted, cropped, or with steps."""
    while True:
        room = float(most)
        shape = []
        for _ in range(ndim):
            shape.append(extent(draw, room))
            room = max(1.0, room / shape[-1])
        draw.shuffle(shape)
        order = list(range(ndim))
        if draw.random() < 0.35:
            draw.shuffle(order)
        strides, apart = [0] * ndim, 1
        cropped, stepped = draw.random() < 0.2, draw.random() < 0.1
        for axis in reversed(order):
            step = draw.choice((1, 2, 3)) if stepped else 1
            strides[axis] = apart * step
            apart *= shape[axis] * step + (draw.randint(1, 9) if cropped and draw.random() < 0.6 else 0)
        if apart <= most:
            break
    offset = draw.randint(1, MAX_OFFSET) if draw.random() < 0.2 else 0
    return {"shape": shape, "strides": strides, "offset": offset}


def torch_call(torch: Any, op: str, tensor: Any, axes: tuple[int, ...]) -> Any:
    """Return PyTorch's result."""
    if op in POSITIONS:
        return getattr(torch, op)(tensor, axes[0])
    if op == "max":
        return torch.amax(tensor, axes)
    if op == "var":
        return torch.var(tensor, axes, correction=0)
    if op == "norm":
        return torch.linalg.vector_norm(tensor, dim=axes)
    return getattr(torch, op)(tensor, axes)


class Axes(Family):
    """Reductions along some axes of one to five."""

    name = "axes"
    operators: tuple[str, ...] = OPERATORS

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw an operator, a dtype, a form and axes."""
        op = draw.choice(self.operators)
        dtype = draw_dtype(draw, op)
        ndim = draw.choice((1, 2, 2, 3, 3, 4, 5))
        axes = sorted(draw.sample(range(ndim), 1 if op in POSITIONS else draw.randint(1, ndim)))
        return {"op": op, "dtype": dtype, **draw_form(draw, most, ndim), "axes": axes}

    def text(self, parts: dict[str, Any]) -> str:
        """Return the operator, the dtype, the form and the axes."""
        shape, strides, axes = (",".join(map(str, parts[key])) for key in ("shape", "strides", "axes"))
        return f"{parts['op']} {parts['dtype']} ({shape}) by ({strides}) from {parts['offset']} over ({axes})"

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the two calls; results have memory of their own, PyTorch's are allocated in the graph."""
        torch, op, axes = pool.torch, parts["op"], tuple(parts["axes"])
        tensors = pool.cut(parts["dtype"], tuple(parts["shape"]), tuple(parts["strides"]), parts["offset"])
        like = torch_call(torch, op, tensors[0], axes)
        out = pool.empty(like.shape, like.dtype)
        function = getattr(gpureduce, op)
        axis: Any = axes[0] if op in POSITIONS else axes

        def ours(i: int) -> Any:
            return function(tensors[i], axis=axis, out=out)

        def error() -> float:
            ours(0)
            return self.error_of(torch, parts, tensors[0], out)

        return Prepared(
            {"gpureduce": ours, "torch": lambda i: torch_call(torch, op, tensors[i], axes)},
            len(tensors),
            error,
        )

    def error_of(self, torch: Any, parts: dict[str, Any], tensor: Any, got: Any) -> float:
        """Return the error of a result, divided by what is allowed."""
        op, axes = parts["op"], tuple(parts["axes"])
        if op in POSITIONS:  # PyTorch may return any position of equal elements
            want = torch_call(torch, op, tensor, axes)
            at = [torch.take_along_dim(tensor, each.unsqueeze(axes[0]), axes[0]) for each in (got, want)]
            return 0.0 if torch.equal(*at) else 2.0
        wide = tensor.double() if tensor.dtype.is_floating_point else tensor
        want = torch_call(torch, op, wide, axes)
        if not got.dtype.is_floating_point or op == "max":
            return 0.0 if torch.equal(got.double(), want.double()) else 2.0
        scale = want.abs().clamp(min=1) if op == "logsumexp" else None
        if op in ("sum", "mean"):
            scale = torch_call(torch, op, wide.abs(), axes)
        return relative_error(torch, got, want, TOLERANCE[parts["dtype"]], scale)


class Positions(Axes):
    """Positions of extremes along an axis."""

    name = "positions"
    operators = POSITIONS


class Whole(Axes):
    """Reductions of contiguous arrays to one number."""

    name = "whole"
    operators = ("sum", "mean", "max", "any", "var", "norm")

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw an operator, a dtype, a length and an offset."""
        op = draw.choice(self.operators)
        offset = draw.randint(1, MAX_OFFSET) if draw.random() < 0.3 else 0
        return {
            "op": op,
            "dtype": draw_dtype(draw, op),
            "shape": [min(most, extent(draw, most))],
            "strides": [1],
            "offset": offset,
            "axes": [0],
        }
