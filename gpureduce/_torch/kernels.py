"""Kernels of the operators: GPU tensors on PyTorch's current stream, CPU tensors by our functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._conv.convolution import DTYPES, conv2d
from gpureduce._conv.geometry import Geometry, geometry
from gpureduce._matmul.product import PRECISIONS, matmul
from gpureduce._reduce import functions
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._torch import torch

Axes = tuple[int, ...]
Function = Callable[..., torch.Tensor]

# The core's dtype names, by PyTorch dtype.
NAMES = {
    getattr(torch, row.numpy_name): row.numpy_name
    for row in dtypes.DTYPE_TABLE
    if hasattr(torch, row.numpy_name)
}
BY_NAME = {name: dtype for dtype, name in NAMES.items()}
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
_FIXED = {
    "any": torch.bool,
    "all": torch.bool,
    "argmin": torch.int64,
    "argmax": torch.int64,
    "count_nonzero": torch.int64,
}
_OF_WHOLE = {"sum": torch.int64, "prod": torch.int64, "mean": torch.float64}


def is_whole(dtype: torch.dtype) -> bool:
    """Return whether numbers of the dtype are integers or bools."""
    return not (dtype.is_floating_point or dtype.is_complex)


def results_of(op: str) -> dict[torch.dtype, torch.dtype]:
    """Return supported dtypes and result dtypes of an operator: PyTorch's; float64 for means of integers."""
    dtypes_of_op = [dtype for dtype in NAMES if op not in _BITS or is_whole(dtype)]
    return {
        dtype: _FIXED.get(op) or (_OF_WHOLE.get(op, dtype) if is_whole(dtype) else dtype)
        for dtype in dtypes_of_op
    }


def refused(op: str, dtype: torch.dtype) -> TypeError:
    taken = ", ".join(map(str, results_of(op)))
    return TypeError(f"a: {op} takes {taken}, not {dtype}")


def axes_of(axis: list[int] | int | None, ndim: int) -> Axes:
    """Return the axes to reduce, ascending."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, int):
        return rules.reduced_axes(axis, ndim)
    # A 0-d tensor has axis 0 and -1, too.
    return rules.reduced_axes(axis[0] if len(axis) == 1 else tuple(axis), ndim)


# What shape and dtype a result has


def fake_reduction(op: str) -> Function:
    """Return the fake kernel of a reduction."""
    results = results_of(op)

    def fake(a, axis=None, keepdims=False):
        if a.dtype not in results:
            raise refused(op, a.dtype)
        shape = rules.kept_shape(a.shape, axes_of(axis, a.ndim), keepdims)
        return a.new_empty(shape, dtype=results[a.dtype])

    return fake


def fake_dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a tensor like the dot product."""
    _check_pair("dot", a, b)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"dot: expected two vectors, got shapes {tuple(a.shape)} and {tuple(b.shape)}")
    torch._check(
        a.shape[0] == b.shape[0],
        lambda: f"dot: expected vectors of one length, got {a.shape[0]} and {b.shape[0]} elements",
    )
    return a.new_empty(())


def fake_matmul(a: torch.Tensor, b: torch.Tensor, precision: str | None = None) -> torch.Tensor:
    """Return a tensor like the matrix product."""
    _check_pair("matmul", a, b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"matmul: expected matrices, got shapes {tuple(a.shape)} and {tuple(b.shape)}")
    torch._check(
        a.shape[-1] == b.shape[-2],
        lambda: f"b: expected {a.shape[-1]} rows, the number of columns of a, got {b.shape[-2]}",
    )
    _check_precision(precision, a)
    stack = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty((*stack, a.shape[-2], b.shape[-1]))


# Defaults of the parameters of a convolution after x and w: bias, stride, padding, dilation, groups, layout,
# whether the padding is "same", precision.
CONVOLUTION = (None, (1,), (0,), (1,), 1, "NCHW", False, None)


def convolution(x: torch.Tensor, w: torch.Tensor, *rest: Any) -> tuple[Geometry, str | None]:
    """Return the geometry of a convolution, and the precision of its products."""
    options: Any = (*rest, *CONVOLUTION[len(rest) :])
    bias, stride, padding, dilation, groups, layout, same, precision = options
    _check_pair("conv2d", x, w, ("x", "w"))
    if NAMES[x.dtype] not in DTYPES:
        raise TypeError(f"x: conv2d takes {', '.join(DTYPES)}, not {x.dtype}")
    _check_precision(precision, x)
    zeros = "same" if same else tuple(padding)
    shapes = tuple(x.shape), tuple(w.shape)
    if bias is not None:
        _check_pair("conv2d", x, bias, ("x", "bias"))
        if bias.shape != w.shape[:1]:
            expected = (
                f"shape ({w.shape[0]},), one element per filter" if w.ndim else "one element per filter"
            )
            raise ValueError(f"bias: expected {expected}, got {tuple(bias.shape)}")
    return geometry(*shapes, tuple(stride), zeros, tuple(dilation), groups, layout), precision


def fake_conv2d(x: torch.Tensor, w: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return a tensor like the convolution."""
    return x.new_empty(convolution(x, w, *rest)[0].shape)


def _check_precision(precision: str | None, a: torch.Tensor) -> None:
    if precision is not None and precision not in PRECISIONS:
        raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    if precision not in (None, "ieee") and a.dtype != torch.float32:
        raise TypeError(f"precision: {precision} requires float32 tensors, got {a.dtype}")


def _check_pair(op: str, a: torch.Tensor, b: torch.Tensor, names: tuple[str, str] = ("a", "b")) -> None:
    first, second = names
    if a.dtype not in NAMES:
        raise refused(op, a.dtype)
    if a.dtype != b.dtype:
        raise TypeError(f"{second}: expected the dtype of {first}, {a.dtype}, got {b.dtype}")
    if a.device != b.device:
        raise TypeError(f"{second}: must be in the same memory as {first}, on {a.device}, not on {b.device}")


# On a GPU

# The handle of the current stream; creating a stream object takes longer than everything except the launch.
current_stream = getattr(
    torch._C, "_cuda_getCurrentRawStream", lambda index: torch.cuda.current_stream(index).cuda_stream
)


def view_of(a: torch.Tensor, name: str) -> tuple[int, Axes, Axes, str]:
    """Return a tensor in the form that the core takes."""
    size = a.element_size()
    return a.data_ptr(), a.shape, tuple([stride * size for stride in a.stride()]), name


def core_name(op: str, dtype: torch.dtype, result: torch.dtype) -> str:
    """Return the name of the result's dtype in the core, where unsigned sums, PyTorch's int64, are uint64."""
    return "uint64" if op in ("sum", "prod") and NAMES[dtype].startswith("uint") else NAMES[result]


def reduction_on_cuda(op: str) -> Function:
    """Return the kernel that enqueues a reduction on the current stream."""
    results, need_elements = results_of(op), op in dtypes.WITHOUT_IDENTITY
    names = {dtype: core_name(op, dtype, result) for dtype, result in results.items()}

    def reduce(a, axis=None, keepdims=False):
        dtype, shape = a.dtype, a.shape
        if dtype not in results:
            raise refused(op, dtype)
        axes = axes_of(axis, len(shape))
        if need_elements:
            rules.require_elements(op, rules.reduced_count(shape, axes), tuple(shape))
        out = a.new_empty(rules.kept_shape(shape, axes, keepdims), dtype=results[dtype])
        index = a.get_device()
        _core.general(
            view_of(a, NAMES[dtype]),
            op,
            axes,
            None,
            None,
            (
                out.data_ptr(),
                (out.numel(),),
                (out.element_size(),),
                names[dtype],
            ),  # of results the core counts
            _core.CUDA,
            index,
            None,
            current_stream(index),
        )
        return out

    return reduce


def dot_on_cuda(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Enqueue a dot product on the current stream."""
    out = fake_dot(a, b)
    index, name = a.get_device(), NAMES[a.dtype]
    stream = current_stream(index)
    views = view_of(a, name), view_of(b, name), view_of(out, name)
    _core.general(views[0], "dot", (0,), views[1], None, views[2], _core.CUDA, index, None, stream)
    return out


def matmul_on_cuda(a: torch.Tensor, b: torch.Tensor, precision: str | None = None) -> torch.Tensor:
    """Enqueue a matrix product on the current stream."""
    out = fake_matmul(a, b, precision)
    index, name = a.get_device(), NAMES[a.dtype]
    stack = out.shape[:-2]
    a, b = a.expand(*stack, *a.shape[-2:]), b.expand(*stack, *b.shape[-2:])
    stream = current_stream(index)
    views = view_of(a, name), view_of(b, name)
    _core.matmul(*views, None, precision, True, (view_of(out, name), _core.CUDA, index, stream))
    return out


def conv2d_on_cuda(x: torch.Tensor, w: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Enqueue a convolution on the current stream."""
    asked, precision = convolution(x, w, *rest)
    out = x.new_empty(asked.shape)
    index, name = x.get_device(), NAMES[x.dtype]
    stream = current_stream(index)
    bias = rest[0] if rest else None
    _core.conv2d(
        x=view_of(x, name),
        w=view_of(w, name),
        **asked.arguments,
        variant=None,
        precision=precision,
        destination=(view_of(out, name), _core.CUDA, index, stream),
        bias=None if bias is None else view_of(bias, name),
    )
    return out


# Of the host


def array_of(a: torch.Tensor) -> np.ndarray:
    """Return a NumPy array that shares the memory of a CPU tensor."""
    a = a.detach()
    if a.dtype != torch.bfloat16:
        return a.numpy()
    # Tensor.numpy() has no bfloat16.
    return a.view(torch.int16).numpy().view(dtypes.dtype_from_name("bfloat16"))


def tensor_of(result: np.generic | np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Return a result on the host as a tensor in C order."""
    array = np.asarray(result, order="C")
    if dtype == torch.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(dtype)
    return torch.from_numpy(array.view(NAMES[dtype]))


def reduction_on_host(op: str) -> Function:
    """Return the kernel that calls the package's function of that name."""
    function, results = getattr(functions, op), results_of(op)

    def reduce(a, axis=None, keepdims=False):
        if a.dtype not in results:
            raise refused(op, a.dtype)
        axes = axes_of(axis, a.ndim)
        if op in ("argmin", "argmax"):
            axes = axes[0] if axis is not None and axes else None
        with np.errstate(all="ignore"):  # as PyTorch, which says nothing of overflows
            return tensor_of(function(array_of(a), axes, keepdims=keepdims), results[a.dtype])

    return reduce


def dot_on_host(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a dot product by the package's function."""
    fake_dot(a, b)
    with np.errstate(all="ignore"):
        return tensor_of(functions.dot(array_of(a), array_of(b)), a.dtype)


def matmul_on_host(a: torch.Tensor, b: torch.Tensor, precision: str | None = None) -> torch.Tensor:
    """Return a matrix product by the package's function."""
    fake_matmul(a, b, precision)
    with np.errstate(all="ignore"):
        return tensor_of(matmul(array_of(a), array_of(b), precision=precision), a.dtype)


def conv2d_on_host(x: torch.Tensor, w: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Return a convolution by the package's function."""
    asked, precision = convolution(x, w, *rest)
    options: Any = (*rest, *CONVOLUTION[len(rest) :])
    bias, _, padding, _, _, _, same, _ = options
    result = conv2d(
        array_of(x),
        array_of(w),
        bias=None if bias is None else array_of(bias),
        stride=asked.stride,
        padding="same" if same else padding,
        dilation=asked.dilation,
        groups=asked.groups,
        layout=asked.layout,
        precision=precision,
    )
    return tensor_of(result, x.dtype)
