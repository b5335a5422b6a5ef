"""PyTorch's scatter functions by its own signatures, composed of reductions of groups and segments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpureduce._rules import arguments as rules
from gpureduce._torch import kernels, operators, sharding, torch
from gpureduce._torch.direct import core_call
from gpureduce._torch.groups import axis_of_rows
from gpureduce._torch.kernels import is_whole

REDUCTIONS = {"sum": "sum", "prod": "prod", "mean": "mean", "amax": "max", "amin": "min"}
_SEGMENTS = ("sum", "mean", "max", "min", "prod")
_INDICES = (torch.int32, torch.int64)
_ROUNDED = frozenset(each for each in kernels.BY_NAME.values() if not is_whole(each))
_core_groups = core_call("group_reduce", operators.OF_LABELS, operators.OF_GROUPS)
_core_segments = core_call("segment_reduce", operators.OF_OFFSETS, operators.OF_GROUPS)


def check_tensor(a: Any, name: str, sharded: bool = False) -> None:
    """Raise TypeError for what is not a dense tensor; `sharded`: or a DTensor."""
    if not isinstance(a, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor, got {type(a).__name__}")
    if type(a) is not torch.Tensor and hasattr(a, "device_mesh") and not (sharded and sharding.registered):
        raise TypeError(
            f"{name}: a DTensor, for whose shards there are no rules; pass its to_local() or full_tensor()"
        )
    if a.layout is not torch.strided:
        raise TypeError(f"{name}: expected a dense tensor, got one of layout {a.layout}")
    if a.is_nested or a.is_quantized:
        kind = "nested" if a.is_nested else "quantized"
        raise TypeError(f"{name}: expected a dense tensor, got a {kind} one")


def _check_text(value: Any, name: str, known: Sequence[str]) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected str, got {type(value).__name__}")
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")


def _dim_of(a: torch.Tensor, dim: Any, name: str = "dim") -> int:
    dim, dims = rules.integer(dim, name), max(a.ndim, 1)
    if not -dims <= dim < dims:
        raise IndexError(f"{name}: {dim} is out of range for a tensor with {a.ndim} dimensions")
    return dim % dims


def _compiling() -> bool:
    return torch.compiler.is_compiling()


def _check_same(a: torch.Tensor, other: Any, name: str, of: str) -> None:
    """Raise TypeError if a tensor has another dtype or device than the first tensor."""
    check_tensor(other, name)
    if other.dtype != a.dtype:
        raise TypeError(f"{name}: expected the dtype of {of}, {a.dtype}, got {other.dtype}")
    if other.device != a.device:
        raise TypeError(f"{name}: must be in the same memory as {of}, on {a.device}, not on {other.device}")


def check_integers(a: torch.Tensor, index: Any, name: str, of: str) -> None:
    """Raise TypeError for what is no index on the device of a tensor."""
    check_tensor(index, name)
    if index.dtype not in _INDICES:
        raise TypeError(f"{name}: expected int32 or int64, got {index.dtype}")
    if index.device != a.device:
        raise TypeError(f"{name}: must be in the same memory as {of}, on {a.device}, not on {index.device}")


def _check_index(a: torch.Tensor, index: Any, size: Any) -> None:
    """Raise for what is no index; the values are looked at in host memory only."""
    check_integers(a, index, "index", "input")
    # A fake tensor has no values, and those of a batch differ.
    batched = torch._C._are_functorch_transforms_active()
    if (
        not batched
        and type(index) is torch.Tensor
        and index.device.type == "cpu"
        and index.numel()
        and not _compiling()
    ):
        least, most = (int(each) for each in torch.aminmax(index))
        if least < 0 or most >= size:
            raise IndexError(f"index: expected 0 to {size - 1}, got {least if least < 0 else most}")


# Calls on plain GPU tensors, which the core checks: NotImplemented for all others


def _index_added(input: Any, dim: Any, index: Any, source: Any) -> Any:
    """Add the sums of rows to floating-point numbers."""
    if _core_groups is None or type(input) is not torch.Tensor or type(dim) is not int or _compiling():
        return NotImplemented
    dtype = input.dtype
    if dtype not in _ROUNDED or input.is_nested:  # a nested tensor has no shape
        return NotImplemented
    shape = input.shape
    if not -len(shape) <= dim < len(shape):
        return NotImplemented
    if not isinstance(index, torch.Tensor) or index.dtype not in _INDICES:
        return NotImplemented
    sums = _core_groups(source, index, "sum", shape[dim], dim)
    if sums is NotImplemented or sums.dtype is not dtype or sums.shape != shape:
        return NotImplemented
    return sums.add_(input) if sums.get_device() == input.get_device() else NotImplemented


def _segments_reduced(data: Any, reduce: Any, offsets: Any, axis: Any) -> Any:
    """Reduce segments that offsets give as int64."""
    if _core_segments is None or type(data) is not torch.Tensor or _compiling() or reduce not in _SEGMENTS:
        return NotImplemented
    if not isinstance(offsets, torch.Tensor) or is_whole(data.dtype):
        return NotImplemented
    return _core_segments(data, offsets, reduce, axis)


# Public functions


def index_add(
    input: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    *,
    alpha: complex = 1,
) -> torch.Tensor:
    """Add rows of a tensor to the rows of another one at indices, as `torch.index_add`.

    Parameters
    ----------
    input : torch.Tensor
        Tensor to add to; it is not modified.
    dim : int
        Axis of the rows.
    index : torch.Tensor
        Row of `input` for each row of `source`: int32 or int64, of one dimension.
    source : torch.Tensor
        Rows to add, with the dtype and, except along `dim`, the shape of `input`.
    alpha : number
        Factor of the rows.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The sum of the rows of each index is exact and rounded once, in any order of the rows; the multiplication
    by `alpha` and the addition to `input` each round once more. On a GPU, rows whose index is out of range
    are ignored.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> index, source = torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0])
    >>> gpureduce.torch.index_add(torch.zeros(4), 0, index, source)
    tensor([4., 0., 2., 0.])
    """
    if type(alpha) is int and alpha == 1:
        result = _index_added(input, dim, index, source)
        if result is not NotImplemented:
            return result
    check_tensor(input, "input")
    dim = _dim_of(input, dim)
    _check_same(input, source, "source", "input")
    if is_whole(input.dtype) and isinstance(alpha, float):
        raise TypeError(f"alpha: expected an integer for an input of {input.dtype}, got {alpha}")
    rows = input.shape[dim] if input.ndim else 1
    is_empty = not _compiling() and input.numel() == 0
    if is_empty:  # its indices do not matter, as in PyTorch
        check_integers(input, index, "index", "input")
    else:
        _check_index(input, index, rows)
    if input.ndim == 0:
        return index_add(input.reshape(1), 0, index.reshape(-1), source.reshape(-1), alpha=alpha)[0]
    if index.ndim > 1:
        raise ValueError(f"index: expected one dimension, got shape {tuple(index.shape)}")
    index = index.reshape(1) if index.ndim == 0 else index
    source = source.reshape(1) if source.ndim == 0 else source
    expected = (*input.shape[:dim], index.shape[0], *input.shape[dim + 1 :])
    if tuple(source.shape) != tuple(expected):
        raise ValueError(f"source: expected shape {tuple(expected)}, got {tuple(source.shape)}")
    if is_empty:
        return input.clone()
    sums = operators.group_reduce(source, index, "sum", rows, dim)
    return torch.add(input, sums.to(input.dtype), alpha=alpha)


def _along(axis: int, ndim: int) -> list[int]:
    """Return the shape of a view of a vector that is broadcast along all axes but one."""
    return [-1 if each == axis else 1 for each in range(ndim)]


class _Grouped(NamedTuple):
    """Elements to scatter, as rows with labels of a tensor of `shape`."""

    values: torch.Tensor
    labels: torch.Tensor
    shape: Sequence[Any]
    axis: int


def _grouped(input: torch.Tensor, dim: Any, index: Any, src: Any) -> _Grouped:
    """Return the elements of a scatter: rows, if the index is one of rows, else single elements.

    In PyTorch, an index of rows is expanded along the other axes, where its strides are 0.
    """
    check_tensor(input, "input")
    dim = _dim_of(input, dim)
    _check_same(input, src, "src", "input")
    _check_index(input, index, input.shape[dim] if input.ndim else 1)
    one = input.reshape(1) if input.ndim == 0 else input
    index = index.reshape(1) if index.ndim == 0 else index
    src = src.reshape(1) if src.ndim == 0 else src
    if index.ndim != one.ndim or src.ndim != one.ndim:
        dims = f"{one.ndim} and {src.ndim}"
        raise ValueError(f"index: expected as many dimensions as input and src, {dims}, got {index.ndim}")
    others = [axis for axis in range(one.ndim) if axis != dim]
    for axis in range(one.ndim):
        most = src.shape[axis] if axis == dim else min(src.shape[axis], one.shape[axis])
        if index.shape[axis] > most:
            raise ValueError(f"index: expected up to {most} along axis {axis}, got {index.shape[axis]}")
        if index.shape[axis] < src.shape[axis]:
            src = src.narrow(axis, 0, index.shape[axis])
    strides = index.stride()
    whole = all(strides[axis] == 0 and index.shape[axis] == one.shape[axis] for axis in others)
    if whole and index.numel():
        for axis in reversed(others):
            index = index.select(axis, 0)
        return _Grouped(src, index, one.shape, dim)
    # The places of the elements in the result, in C order.
    index = index.to(torch.int64)
    labels: torch.Tensor | None = None
    step: Any = 1
    for axis in reversed(range(one.ndim)):
        rows = torch.arange(index.shape[axis], device=index.device).view(_along(axis, one.ndim))
        places = (index if axis == dim else rows) * step
        labels = places if labels is None else labels + places
        step = step * one.shape[axis]
    assert labels is not None
    return _Grouped(src.reshape(-1), labels.reshape(-1), (one.numel(),), 0)


def scatter_add(input: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    """Add elements to those of a tensor at indices along an axis, as `torch.scatter_add`.

    Parameters
    ----------
    input : torch.Tensor
        Tensor to add to; it is not modified.
    dim : int
        Axis along which `index` indexes.
    index : torch.Tensor
        Index along `dim` for each element of `src`: int32 or int64, with the dimensions of `src`.
    src : torch.Tensor
        Elements to add, with the dtype of `input`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    The sum of the elements of each index is exact and rounded once, in any order of the elements; the
    addition to `input` rounds once more. An index of rows, expanded along the other axes, is as fast as
    `index_add`. On a GPU, elements whose index is out of range are added to another row, or ignored.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> index, src = torch.tensor([[0, 1, 0]]), torch.tensor([[1.0, 2.0, 3.0]])
    >>> gpureduce.torch.scatter_add(torch.zeros(2, 3), 0, index, src)
    tensor([[1., 0., 3.],
            [0., 2., 0.]])
    """
    return scatter_reduce(input, dim, index, src, "sum")


def scatter_reduce(
    input: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    src: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    """Reduce elements at indices along an axis, as `torch.scatter_reduce`.

    Parameters
    ----------
    input : torch.Tensor
        Tensor that receives the results; it is not modified.
    dim : int
        Axis along which `index` indexes.
    index : torch.Tensor
        Index along `dim` for each element of `src`: int32 or int64, with the dimensions of `src`.
    src : torch.Tensor
        Elements to reduce, with the dtype of `input`.
    reduce : str
        ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
    include_self : bool
        Whether elements of `input` take part in the reductions. If not, elements of `input` that no index
        names are unchanged.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    Means with elements of `input` are the exact mean, rounded once. Sums are those of `scatter_add`. Products
    are multiplied in the order of the elements. Equal elements share the gradient of ``"amax"`` and
    ``"amin"``.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> index, src = torch.tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 5.0])
    >>> gpureduce.torch.scatter_reduce(torch.zeros(3), 0, index, src, "mean", include_self=False)
    tensor([1.5000, 0.0000, 5.0000])
    """
    _check_text(reduce, "reduce", tuple(REDUCTIONS))
    include_self = rules.flag(include_self, "include_self")
    values, labels, shape, axis = _grouped(input, dim, index, src)
    rows, own = shape[axis], input.reshape(shape)
    if include_self and reduce != "sum":
        values = torch.cat([own, values], axis)
        labels = torch.cat([torch.arange(rows, device=labels.device, dtype=labels.dtype), labels])
    floors = reduce == "mean" and is_whole(input.dtype)  # as PyTorch's, of integers
    op = "sum" if floors else REDUCTIONS[reduce]
    result = operators.group_reduce(values, labels, op, rows, axis)
    if reduce == "sum" and include_self:
        return (own + result.to(input.dtype)).reshape(input.shape)
    if floors or not include_self:
        ones = torch.ones(labels.shape, dtype=torch.bool, device=labels.device)
        count = operators.group_reduce(ones, labels, "sum", rows, 0)
        count = count.view(_along(axis, len(shape)))
        if floors:
            result = result.div(count.clamp(min=1), rounding_mode="floor")
        if not include_self:
            return torch.where(count > 0, result.to(input.dtype), own).reshape(input.shape)
    return result.to(input.dtype).reshape(input.shape)


def segment_reduce(
    data: torch.Tensor,
    reduce: str,
    *,
    lengths: torch.Tensor | None = None,
    indices: torch.Tensor | None = None,
    offsets: torch.Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: complex | None = None,
) -> torch.Tensor:
    """Reduce consecutive rows of a tensor, as `torch.segment_reduce`.

    Parameters
    ----------
    data : torch.Tensor
        Input tensor.
    reduce : str
        ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``.
    lengths : torch.Tensor, optional
        Number of rows of each segment: integers of one dimension.
    indices : torch.Tensor, optional
        Must be None, as in PyTorch, which does not implement it.
    offsets : torch.Tensor, optional
        First row of each segment, and the end of the last one; instead of `lengths`.
    axis : int
        Axis of the rows.
    unsafe : bool
        True does not check that the segments cover all rows, which synchronizes on a GPU.
    initial : number, optional
        Value that takes part in each reduction. Default: none; empty segments are 0, 1, NaN, -inf or inf.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    Sums and means are exact and rounded once, but for `initial`.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> data, lengths = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([3, 0, 1])
    >>> gpureduce.torch.segment_reduce(data, "max", lengths=lengths)
    tensor([3., -inf, 4.])
    """
    if unsafe is True and lengths is None and indices is None and initial is None:
        result = _segments_reduced(data, reduce, offsets, axis)
        if result is not NotImplemented:
            return result
    check_tensor(data, "data")
    _check_text(reduce, "reduce", _SEGMENTS)
    axis, unsafe = axis_of_rows(data, rules.integer(axis, "axis")), rules.flag(unsafe, "unsafe")
    if indices is not None:
        raise NotImplementedError("indices: PyTorch does not implement them; pass index= of scatter_reduce")
    if (lengths is None) == (offsets is None):
        raise ValueError("lengths: expected lengths or offsets, and not both")
    name, given = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    check_integers(data, given, name, "data")
    assert given is not None
    if given.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {tuple(given.shape)}")
    given = given.to(torch.int64)
    if lengths is not None:
        offsets = torch.cat([given.new_zeros(1), given.cumsum(0)])
    else:
        offsets, lengths = given, given.diff()
    assert offsets is not None and lengths is not None
    if not (unsafe or _compiling()):
        covered = offsets.numel() and bool(offsets[0] == 0) and bool(offsets[-1] == data.shape[axis])
        if not covered or bool((lengths < 0).any()):
            raise ValueError(f"{name}: expected ascending segments that cover {data.shape[axis]} rows")
    result = operators.segment_reduce(data, offsets, reduce, axis).to(data.dtype)
    if initial is None:
        return result
    lengths = lengths.view(_along(axis, result.ndim))
    start = torch.as_tensor(initial, dtype=result.dtype, device=result.device)
    if reduce == "mean":  # the initial value is added to the sum
        return torch.where(lengths > 0, result + start / lengths.clamp(min=1), start)
    combine = {"sum": torch.add, "prod": torch.mul, "max": torch.maximum, "min": torch.minimum}
    return combine[reduce](result, start)


def bincount(
    input: torch.Tensor,
    weights: torch.Tensor | None = None,
    minlength: int = 0,
    *,
    size: int | None = None,
) -> torch.Tensor:
    """Count each nonnegative integer of a vector, or add up weights, as `torch.bincount`.

    Parameters
    ----------
    input : torch.Tensor
        Nonnegative integers, of one dimension.
    weights : torch.Tensor, optional
        Weight of each element.
    minlength : int
        Smallest number of bins.
    size : int, optional
        Number of bins, at least `minlength`. Elements that are negative, or have no bin, are not counted.
        Default: one more than the largest element, for which the call waits for the GPU.

    Returns
    -------
    torch.Tensor
        Counts as int64; sums of weights as float32 for float32 weights, else float64.

    Notes
    -----
    Sums of weights are exact and rounded once, in any order of the elements.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.bincount(torch.tensor([0, 2, 2]), torch.tensor([0.5, 1.0, 2.0]))
    tensor([0.5000, 0.0000, 3.0000])
    """
    check_tensor(input, "input")
    if not is_whole(input.dtype) or input.dtype == torch.bool:
        raise TypeError(f"input: expected integers, got {input.dtype}")
    if input.ndim != 1:
        raise ValueError(f"input: expected one dimension, got shape {tuple(input.shape)}")
    bins = rules.integer(minlength, "minlength")
    if bins < 0:
        raise ValueError(f"minlength: expected 0 or more, got {bins}")
    if weights is not None:
        check_tensor(weights, "weights")
        if weights.device != input.device:
            raise TypeError(f"weights: must be on {input.device}, as input, not on {weights.device}")
        if weights.shape != input.shape:
            raise ValueError(f"weights: expected shape {tuple(input.shape)}, got {tuple(weights.shape)}")
        weights = weights if weights.dtype == torch.float32 else weights.to(torch.float64)
    if size is not None:
        least, bins = bins, rules.integer(size, "size")
        if bins < least:
            raise ValueError(f"size: expected {least} or more, got {bins}")
        if input.device.type == "cpu":  # on a GPU, labels of no group are left out anyway
            input = torch.where((input >= 0) & (input < bins), input.to(torch.int64), -1)
    elif input.numel():
        least, most = (int(each) for each in torch.aminmax(input))
        if least < 0:
            raise ValueError(f"input: expected nonnegative integers, got {least}")
        bins = max(bins, most + 1)
    if weights is None:
        weights = torch.ones(input.shape, dtype=torch.bool, device=input.device)
    return operators.group_reduce(weights.detach(), input, "sum", bins, 0)


# PyTorch's own calls


def _routes() -> dict[Any, Any]:
    """Return our function for each of PyTorch's operators."""
    aten = torch.ops.aten

    def scatter(input, dim, index, src, reduce="sum", include_self=True):
        return scatter_reduce(input, dim, index, src, reduce, include_self=include_self)

    def add(input, dim, index, source, alpha=1):
        return index_add(input, dim, index, source, alpha=alpha)

    return {
        aten.index_add.default: (add, False),
        aten.index_add_.default: (add, True),
        aten.scatter_add.default: (scatter, False),
        aten.scatter_add_.default: (scatter, True),
        aten.scatter_reduce.two: (scatter, False),
        aten.scatter_reduce_.two: (scatter, True),
    }


@contextlib.contextmanager
def deterministic(devices: Sequence[str] = ("cuda",)) -> Iterator[None]:
    """Context in which PyTorch's index_add, scatter_add and scatter_reduce call the functions of this module.

    Parameters
    ----------
    devices : sequence of str
        Types of devices whose tensors gpureduce reduces. PyTorch's own functions are deterministic on CPUs.

    Yields
    ------
    None

    Notes
    -----
    Methods with and without a final underscore, and gradients that call them (of `torch.gather` and
    `torch.index_select`), are routed as well. Results are the same on every run, as with
    `torch.use_deterministic_algorithms`, and for any order of the elements, except for products. Calls that
    gpureduce does not support call PyTorch's operators. Every other operator takes some microseconds longer
    in the context. The context applies to its thread, and not to compiled functions.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> index, source = torch.tensor([0, 0, 0]), torch.tensor([1e8, 1.0, -1e8])
    >>> with gpureduce.torch.deterministic(("cpu",)):
    ...     torch.zeros(2).index_add_(0, index, source)
    tensor([1., 0.])
    """
    if isinstance(devices, str) or not all(isinstance(each, str) for each in devices):
        raise TypeError(f"devices: expected a sequence of str, got {devices!r}")
    types, routes = frozenset(devices), _routes()

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, operator, types_of_arguments, args=(), kwargs=None):
            kwargs = kwargs or {}
            function, in_place = routes.get(operator, (None, False))
            if function is None or args[0].device.type not in types or type(args[0]) is not torch.Tensor:
                return operator(*args, **kwargs)
            try:
                result = function(*args, **kwargs)
            except (TypeError, ValueError, IndexError):  # PyTorch supports it, or raises an error of its own
                return operator(*args, **kwargs)
            return args[0].copy_(result) if in_place else result

    with Mode():
        yield
