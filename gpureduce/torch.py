"""PyTorch operators: reductions, matmul and conv2d with gradients, for use with `torch.compile`.

GPU tensors are read without a copy, on PyTorch's current stream; results are tensors on the same GPU, and
calls do not synchronize. CPU tensors are copied to the first GPU, or to the simulator. In graphs and profiles
the operators are named ``torch.ops.gpureduce.*``.

The arguments of reductions, `matmul` and `conv2d` are those of the functions of `gpureduce`, with NumPy's
names; those of `index_add`, `scatter_add`, `scatter_reduce`, `segment_reduce` and `bincount` are PyTorch's.
Results have PyTorch's dtypes: sums of integers and bools are int64. Means of integers, which PyTorch does not
support, are float64. Results are bitwise those of the functions of `gpureduce`.

>>> import torch, gpureduce.torch
>>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]], requires_grad=True)
>>> gpureduce.torch.max(x, axis=1).sum().backward()
>>> x.grad
tensor([[1., 0.],
        [0., 1.]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import DTypeLike

from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._torch import operators, torch
from gpureduce._torch.clip import clip_grad_norm_
from gpureduce._torch.group_softmax import group_log_softmax, group_softmax
from gpureduce._torch.invariant import batch_invariant
from gpureduce._torch.kernels import BY_NAME, NAMES, is_whole
from gpureduce._torch.normalized import layer_norm, log_softmax, rms_norm, softmax
from gpureduce._torch.scatter import (
    bincount,
    deterministic,
    index_add,
    scatter_add,
    scatter_reduce,
    segment_reduce,
)
from gpureduce._torch.scatter import check_tensor as _check_tensor

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "batch_invariant",
    "bincount",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "clip_grad_norm_",
    "conv2d",
    "count_nonzero",
    "deterministic",
    "dot",
    "group_log_softmax",
    "group_softmax",
    "index_add",
    "layer_norm",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "min",
    "prod",
    "rms_norm",
    "scatter_add",
    "scatter_reduce",
    "segment_reduce",
    "softmax",
    "sum",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Axis = int | tuple[int, ...] | None
Dtype: TypeAlias = "torch.dtype | DTypeLike"


def _reduced(operator: Callable[..., torch.Tensor], a: Any, axis: Any, keepdims: Any) -> torch.Tensor:
    """Call an operator; errors name the argument, unlike PyTorch's schema errors."""
    _check_tensor(a, "a")
    if axis is not None and type(axis) is not int:
        axis = _integers(axis, "axis")
    return operator(a, axis, keepdims if type(keepdims) is bool else rules.flag(keepdims, "keepdims"))


def _integers(value: Any, name: str) -> Any:
    """Return an int, or a tuple of them; NumPy integers are accepted."""
    if isinstance(value, (tuple, list)):
        return tuple([one if type(one) is int else rules.integer(one, name) for one in value])
    return rules.integer(value, name)


def _check_text(value: Any, name: str, optional: bool = False) -> None:
    if not (isinstance(value, str) or (optional and value is None)):
        raise TypeError(f"{name}: expected str{' or None' * optional}, got {type(value).__name__}")


def _as_dtype(dtype: Any) -> torch.dtype:
    """Return a PyTorch dtype, given as such, by name, or as a NumPy dtype."""
    torch_dtype = dtype
    if not isinstance(dtype, torch.dtype):
        torch_dtype = BY_NAME.get(dtypes.dtype_name(dtypes.dtype_of(dtype)))
    if torch_dtype not in NAMES:
        raise TypeError(f"dtype: expected one of {', '.join(map(str, NAMES))}, got {dtype!r}")
    return torch_dtype


def _in_dtype(
    operator: Callable[..., torch.Tensor], a: torch.Tensor, axis: Axis, dtype: torch.dtype, keepdims: bool
) -> torch.Tensor:
    """Reduce elements after a cast."""
    _check_tensor(a, "a")
    # Integers need no cast: a 64-bit result is correct modulo every smaller power of two.
    if not (is_whole(a.dtype) and is_whole(dtype) and dtype != torch.bool):
        a = a.to(dtype)
    return _reduced(operator, a, axis, keepdims).to(dtype)


def sum(
    a: torch.Tensor, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False
) -> torch.Tensor:
    """Return the sum of tensor elements.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : torch.dtype or dtype_like, optional
        Data type of the result. Elements are cast to it before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    float16 and bfloat16 are accumulated in float32 and rounded once; float32 and complex64 sums are
    compensated.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.sum(x, axis=0)
    tensor([5., 6.])
    """
    if dtype is not None:
        return _in_dtype(operators.sum, a, axis, _as_dtype(dtype), keepdims)
    return _reduced(operators.sum, a, axis, keepdims)


def prod(
    a: torch.Tensor, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False
) -> torch.Tensor:
    """Return the product of elements.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : torch.dtype or dtype_like, optional
        Data type of the result. Elements are cast to it before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The gradient is correct even if elements are zero.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.prod(x, axis=1)
    tensor([ 3., 10.])
    """
    if dtype is not None:
        return _in_dtype(operators.prod, a, axis, _as_dtype(dtype), keepdims)
    return _reduced(operators.prod, a, axis, keepdims)


def mean(
    a: torch.Tensor, axis: Axis = None, dtype: Dtype | None = None, keepdims: bool = False
) -> torch.Tensor:
    """Return the arithmetic mean.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    dtype : torch.dtype or dtype_like, optional
        Data type of the result. Elements are cast to it before they are reduced.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The mean of integers or bool is float64.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.mean(x)
    tensor(2.7500)
    """
    if dtype is not None:
        dtype = _as_dtype(dtype)
        if is_whole(dtype):
            raise TypeError(f"dtype: a mean needs a floating-point or complex dtype, got {dtype}")
        return _in_dtype(operators.mean, a, axis, dtype, keepdims)
    return _reduced(operators.mean, a, axis, keepdims)


def max(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return the largest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    NaNs propagate. An empty tensor raises ValueError. Equal maxima share the gradient evenly, as in
    `torch.amax`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.max(x, axis=1)
    tensor([3., 5.])
    """
    return _reduced(operators.max, a, axis, keepdims)


def min(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return the smallest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    NaNs propagate. An empty tensor raises ValueError. Equal minima share the gradient evenly, as in
    `torch.amin`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.min(x)
    tensor(1.)
    """
    return _reduced(operators.min, a, axis, keepdims)


def argmax(a: torch.Tensor, axis: int | None = None, keepdims: bool = False) -> torch.Tensor:
    """Return the index of the largest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int, optional
        Axis to search. Default: the whole tensor, in C order.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    Ties return the first index; if there are NaNs, the first NaN is returned.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.argmax(x, axis=1)
    tensor([0, 1])
    """
    if isinstance(axis, (tuple, list)):
        raise TypeError("axis: argmax takes one integer or None, not several")
    return _reduced(operators.argmax, a, axis, keepdims)


def argmin(a: torch.Tensor, axis: int | None = None, keepdims: bool = False) -> torch.Tensor:
    """Return the index of the smallest element.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int, optional
        Axis to search. Default: the whole tensor, in C order.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    Ties return the first index; if there are NaNs, the first NaN is returned.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.argmin(x)
    tensor(1)
    """
    if isinstance(axis, (tuple, list)):
        raise TypeError("axis: argmin takes one integer or None, not several")
    return _reduced(operators.argmin, a, axis, keepdims)


def all(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return whether all elements are true.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.all(x > 1, axis=1)
    tensor([False,  True])
    """
    return _reduced(operators.all, a, axis, keepdims)


def any(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return whether any element is true.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.any(x > 4)
    tensor(True)
    """
    return _reduced(operators.any, a, axis, keepdims)


def count_nonzero(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return the number of nonzero elements.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.count_nonzero(x > 1)
    tensor(3)
    """
    return _reduced(operators.count_nonzero, a, axis, keepdims)


def bitwise_and(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return the bitwise AND of integers or bools.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The result for an empty tensor has all bits set.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.bitwise_and(torch.tensor([7, 6]))
    tensor(6)
    """
    return _reduced(operators.bitwise_and, a, axis, keepdims)


def bitwise_or(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return the bitwise OR of integers or bools.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.bitwise_or(torch.tensor([1, 4]))
    tensor(5)
    """
    return _reduced(operators.bitwise_or, a, axis, keepdims)


def bitwise_xor(a: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Return the bitwise XOR of integers or bools.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of any shape and strides, on a GPU or the CPU.
    axis : int or tuple of int, optional
        Axis or axes along which to reduce. Default: all axes.
    keepdims : bool
        True keeps the reduced axes with length one.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.bitwise_xor(torch.tensor([7, 6]))
    tensor(1)
    """
    return _reduced(operators.bitwise_xor, a, axis, keepdims)


def dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the dot product of two vectors.

    Parameters
    ----------
    a, b : torch.Tensor
        Vectors of the same length and dtype, on one device. Complex numbers are not conjugated.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    _check_tensor(a, "a")
    _check_tensor(b, "b")
    return operators.dot(a, b)


def matmul(a: torch.Tensor, b: torch.Tensor, precision: str | None = None) -> torch.Tensor:
    """Return the matrix product of two tensors.

    Parameters
    ----------
    a, b : torch.Tensor
        Tensors of shapes ``(..., m, k)`` and ``(..., k, n)``, of the same dtype, on one device. Leading
        dimensions are broadcast. A vector is treated as one row or one column, and that axis is removed from
        the result.
    precision : str, optional
        Arithmetic of float32, in gradients too, as for `gpureduce.matmul`.

    Returns
    -------
    torch.Tensor
        As by `gpureduce.matmul` with ``batch_invariant=True``, the bits of a row do not depend on other rows.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.matmul(x, x)
    tensor([[11.,  8.],
            [16., 27.]])
    """
    _check_tensor(a, "a")
    _check_tensor(b, "b")
    _check_text(precision, "precision", True)
    row, column = a.ndim == 1, b.ndim == 1
    result = operators.matmul(a.unsqueeze(0) if row else a, b.unsqueeze(1) if column else b, precision)
    result = result.squeeze(-1) if column else result
    return result.squeeze(-1 if column else -2) if row else result


def conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    layout: str = "NCHW",
    precision: str | None = None,
) -> torch.Tensor:
    """Return the 2-D convolution (cross-correlation) of images with filters, as `torch.nn.functional.conv2d`.

    Parameters
    ----------
    x, w : torch.Tensor
        Images and filters of the same dtype, on one device, with shapes as for `gpureduce.conv2d`.
    bias : torch.Tensor, optional
        Tensor of shape ``(f,)``, one element per filter, with the dtype and device of `x`.
    stride, padding, dilation, groups, layout
        As for `gpureduce.conv2d`.
    precision : str, optional
        Arithmetic of float32, as for `gpureduce.matmul`. Gradients use PyTorch's operators and settings.

    Returns
    -------
    torch.Tensor
        Tensor that is contiguous in `layout`.

    Notes
    -----
    The bias is added as in `gpureduce.conv2d`: for float16 and bfloat16 to the rounded results, as in PyTorch
    on a GPU. PyTorch's own operators compute the gradients.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x, w = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    >>> gpureduce.torch.conv2d(x, w, bias=torch.tensor([0.5]))[0, 0]
    tensor([[4.5000, 4.5000],
            [4.5000, 4.5000]])
    """
    _check_tensor(x, "x")
    _check_tensor(w, "w")
    if bias is not None:
        _check_tensor(bias, "bias")
    _check_text(layout, "layout")
    _check_text(precision, "precision", True)
    stride, dilation = _integers(stride, "stride"), _integers(dilation, "dilation")
    groups = _integers(groups, "groups")
    same = isinstance(padding, str) and padding == "same"
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"padding: expected 'same', 'valid' or numbers, got {padding!r}")
        padding = 0
    padding = _integers(padding, "padding")
    return operators.conv2d(x, w, bias, stride, padding, dilation, groups, layout, same, precision)
