"""From the arguments of a reduction to a call of the core and back to a NumPy or device result."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpureduce import _core
from gpureduce import _numpy_rules as rules
from gpureduce._devices import LEGACY_STREAM, Device, resolve
from gpureduce._progress import reporter
from gpureduce._variants import find

if TYPE_CHECKING:
    from gpureduce._device_array import DeviceView

_WITHOUT_IDENTITY = ("min", "max", "argmin", "argmax")
_BOOL = np.dtype(bool)
_FLOAT32 = np.dtype(np.float32)

# Called with the bytes done and those in all; True is a bar of tqdm's.
Progress: TypeAlias = Callable[[int, int], object] | bool | None


@dataclass(frozen=True)
class Options:
    """The keyword arguments that NumPy does not have."""

    variant: str = "auto"
    device: str | Device | None = None
    block_size: int | None = None
    grid_size: int | None = None
    stream: int | None = None
    as_device: bool | None = None
    progress: Progress = None

    def __post_init__(self) -> None:
        if self.variant == "auto":
            for name in ("block_size", "grid_size"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name}: variant 'auto' chooses its own; name a variant to set it")
        else:
            find(self.variant, "auto")


@dataclass(frozen=True)
class Operand:
    """An array as the core takes it; `owner` keeps memory on a device alive."""

    handle: np.ndarray | tuple[int, tuple[int, ...], tuple[int, ...], str]
    shape: tuple[int, ...]
    dtype: np.dtype
    kind: int
    index: int
    owner: object = None

    @property
    def on_device(self) -> bool:
        return isinstance(self.handle, tuple)

    def cast(self, dtype: np.dtype) -> Operand:
        """Return the operand in another dtype."""
        if self.dtype == dtype:
            return self
        if self.on_device:
            raise TypeError(
                f"dtype: a device array is reduced in its own dtype, {self.dtype}, not in {dtype}; "
                "convert it before"
            )
        return replace(self, handle=self.handle.astype(dtype), dtype=dtype)

    def with_strides(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> Operand:
        """Return the same memory read another way; for operands on a device."""
        return replace(self, handle=(self.handle[0], shape, strides, self.handle[3]), shape=shape)


# In


def _device_view(a: Any, device: str | Device | None) -> DeviceView | None:
    if isinstance(a, (np.ndarray, np.generic)):
        return None
    if not (hasattr(a, "__dlpack__") or hasattr(a, "__cuda_array_interface__")):
        return None
    from gpureduce._device_array import as_view

    return as_view(a, device)


def _device_operand(view: DeviceView, name: str) -> Operand:
    rules.require_supported(view.dtype, name)
    return Operand(view.view_tuple(), view.shape, view.dtype, view.kind, view.index, view)


def intake(a: Any, options: Options, name: str = "a") -> Operand:
    """Take an array of the host or of a device."""
    rules.refuse_masked(a, name)
    view = _device_view(a, options.device)
    if view is not None:
        operand = _device_operand(view, name)
    else:
        array = rules.host_array(a, name)
        operand = Operand(array, array.shape, array.dtype, *resolve(options.device))
    if options.stream is not None:
        _core.stream_wait(operand.kind, operand.index, operator.index(options.stream))
    return operand


def _device_name(operand: Operand) -> str:
    return "sim" if operand.kind == _core.SIM else f"cuda:{operand.index}"


def same_strides(shape: tuple[int, ...], have: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether elements lie at the same places, where there is more than one along an axis."""
    axes = zip(shape, have, wanted, strict=True)
    return 0 in shape or all(length <= 1 or one == other for length, one, other in axes)


def take_mask(where: Any, operand: Operand) -> Operand | None:
    """Take ``where=``, repeated to the shape of `operand`; None when every element takes part."""
    if where is True:
        return None
    view = _device_view(where, _device_name(operand))
    if view is None:
        mask = rules.host_mask(where)
        if not operand.on_device:
            mask = np.broadcast_to(mask, operand.shape)
            return Operand(mask, mask.shape, mask.dtype, operand.kind, operand.index)
        from gpureduce._device_array import to_device

        view = to_device(mask, _device_name(operand))
    elif not operand.on_device:
        raise TypeError("where: lies on a device, but the array does not")
    if view.dtype != _BOOL:
        raise TypeError(f"where: expected bool, got an array of {view.dtype}")
    mask = _device_operand(view, "where")
    return mask.with_strides(operand.shape, rules.broadcast_strides(view.shape, view.strides, operand.shape))


# Out


class Target:
    """Where a result goes: to the caller as it is, into an array of the host, or into one on a device."""

    def __init__(self, out: Any, options: Options, operand: Operand, axis: Any) -> None:
        view = None if out is None else _device_view(out, _device_name(operand))
        self.out = out
        self.view = view
        self.kind, self.index = operand.kind, operand.index
        self.from_device = operand.on_device
        self.stream = options.stream
        self.reads: list[Operand | None] = [operand]
        if out is None:
            default = operand.on_device and axis is not None
            self.on_device = default if options.as_device is None else bool(options.as_device)
        else:
            self.on_device = view is not None
            if options.as_device is not None and bool(options.as_device) != self.on_device:
                raise ValueError(f"as_device: {options.as_device} contradicts the place of out=")

    @property
    def host_out(self) -> np.ndarray | None:
        """The ``out=`` of the host, if that is where the result goes."""
        return None if self.on_device else self.out

    @property
    def hint(self) -> np.dtype | None:
        """The dtype of `out`, where it has a say in that of the accumulator: if elements can be cast."""
        return None if self.host_out is None or self.from_device else self.out.dtype

    @property
    def is_integral(self) -> bool:
        """Whether the result goes into an ``out=`` of the host that holds no fractions."""
        return self.host_out is not None and self.out.dtype.kind in "biu"

    def check(self, shape: tuple[int, ...], kept: tuple[int, ...]) -> None:
        """Refuse an ``out=`` that cannot take a result of `shape`; `kept` is without axes of one."""
        self.shape, self.kept = shape, kept
        if self.out is None:
            return
        if not self.on_device:
            rules.require_out(self.out, shape)
        elif self.view.shape != shape:
            raise ValueError(f"out: shape {self.view.shape} is not that of the result, {shape}")
        elif self.view.read_only:
            raise ValueError("out: the array is read-only")

    def set_dtype(self, dtype: np.dtype) -> None:
        """Say in which dtype the result comes; only an ``out=`` of the host is cast to."""
        self.dtype = dtype
        if not self.on_device:
            return
        if self.out is None:
            from gpureduce._device_array import empty

            self.out = self.view = empty(self.shape, dtype, self.kind, self.index)
        elif self.view.dtype != dtype:
            raise TypeError(f"out: an array on a device must have the result's dtype, {dtype}")
        packed = rules.c_strides(self.shape, dtype.itemsize)
        if not same_strides(self.shape, self.view.strides, packed):
            raise ValueError("out: an array on a device must be C-contiguous")

    def core_out(self, dtype: np.dtype) -> tuple | None:
        """Return what the core may write a result of `dtype` into, if it may."""
        if not self.on_device or dtype != self.dtype:
            return None
        return (self.view.pointer, self.kept, rules.c_strides(self.kept, dtype.itemsize), dtype.name)

    def _let_others_follow(self) -> None:
        """Wait for our work where others' next use of the memory would not come after it by itself.

        A result on the device is returned while kernels run: the caller may change or free inputs then, and
        read `out`.
        """
        views = [self.view, *(operand.owner for operand in self.reads if operand is not None)]
        named = self.stream not in (None, 0, LEGACY_STREAM)
        if named or not all(view is None or view.follows_us() for view in views):
            _core.stream_wait(self.kind, self.index, LEGACY_STREAM)

    def store(self, result: np.ndarray | None) -> Any:
        """Return the result; None means that the core wrote it already."""
        if result is not None:
            result = result.astype(self.dtype, copy=False).reshape(self.shape)
        if self.on_device:
            if result is not None and result.size:
                _core.device_write(self.kind, self.index, self.view.pointer, result)
            self._let_others_follow()
            return self.out
        if self.out is None:
            return result[()]
        np.copyto(self.out, result, casting="unsafe")
        return self.out


# Through


def run(
    op: str,
    operand: Operand,
    axes: tuple[int, ...],
    second: Operand | None = None,
    initial: np.ndarray | None = None,
    out: tuple | None = None,
    progress: Progress = None,
) -> np.ndarray | None:
    """Have the core reduce `operand`."""
    with reporter(progress) as report:
        return _core.general(
            operand.handle,
            op,
            axes,
            None if second is None else second.handle,
            initial,
            out,
            operand.kind,
            operand.index,
            report,
        )


def run_custom(
    kernels: object,
    inputs: tuple,
    by_position: bool,
    packed: bool,
    axes: tuple[int, ...],
    out: np.ndarray | tuple,
) -> None:
    """Have the core reduce inputs by kernels that were compiled at run time."""
    _core.custom_run(kernels, inputs, by_position, packed, axes, out)


def _run_variant(op, operand, axes, dtype, initial, mask, target, options) -> np.generic:
    """Have the core reduce a whole array with one named kernel."""
    name = options.variant
    record = find(name)
    if op not in record.ops:
        raise ValueError(f"variant: {name} covers {', '.join(record.ops)}, not {op}; 'auto' covers all")
    backend = "sim" if operand.kind == _core.SIM else "cuda"
    if backend not in record.backends:
        raise ValueError(f"variant: {name} runs on {', '.join(record.backends)}, not on {backend}")
    if len(axes) != len(operand.shape) or mask is not None or initial is not rules.NO_VALUE:
        raise ValueError(
            f"variant: {name} reduces whole arrays, without axis=, where= or initial=; 'auto' takes them"
        )
    packed = rules.c_strides(operand.shape, operand.dtype.itemsize)
    if operand.on_device and not same_strides(operand.shape, operand.handle[2], packed):
        raise ValueError(f"a: {name} takes device arrays in C order; 'auto' takes any strides")
    if dtype is not None and np.dtype(dtype) != rules.core_dtype(op, operand.dtype):
        raise ValueError(
            f"variant: {name} accumulates in a dtype of its own, not in dtype={dtype}; 'auto' takes it"
        )
    if op in _WITHOUT_IDENTITY:
        rules.require_elements(op, rules.reduced_count(operand.shape, axes), operand.shape)
    return _core.reduce(
        operand.handle, op, name, options.block_size, options.grid_size, operand.kind, operand.index
    )


def reduction(
    op: str,
    a: Any,
    options: Options,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = rules.NO_VALUE,
    where: Any = True,
) -> Any:
    """Reduce by any operator but mean and dot."""
    operand = intake(a, options)
    find_axes = rules.single_axis if op.startswith("arg") else rules.reduced_axes
    axes = find_axes(axis, len(operand.shape))
    keep = rules.keeps_dims(keepdims)
    target = Target(out, options, operand, axis)
    target.check(rules.kept_shape(operand.shape, axes, keep), rules.kept_shape(operand.shape, axes))
    mask = take_mask(where, operand)
    target.reads.append(mask)
    if op.startswith("arg") and target.host_out is not None:
        rules.require_index_out(out.dtype)
    if options.variant != "auto":
        result = _run_variant(op, operand, axes, dtype, initial, mask, target, options)
        target.set_dtype(result.dtype)
        return target.store(np.asarray(result))

    if op in rules.UFUNCS:
        loop = rules.loop_dtype(op, operand.dtype, dtype, target.hint)
    else:
        loop = rules.core_dtype(op, operand.dtype)
    if initial is None or (initial is rules.NO_VALUE and op in _WITHOUT_IDENTITY):
        rules.require_elements(op, rules.reduced_count(operand.shape, axes), operand.shape)
        if mask is not None:
            raise ValueError(f"{op}: the reduction has no identity, so where= needs initial=")
        start = None
    else:
        start = None if initial is rules.NO_VALUE else rules.initial_value(initial, loop)

    kernel, operand = _kernel_for(op, operand, loop)
    given = rules.core_dtype(kernel, operand.dtype)
    target.set_dtype(loop)
    start = None if start is None else start.astype(given)
    out = target.core_out(given)
    return target.store(run(kernel, operand, axes, mask, start, out, options.progress))


def _kernel_for(op: str, operand: Operand, loop: np.dtype) -> tuple[str, Operand]:
    """Return the core's operator that accumulates in `loop`, and the operand in the dtype it needs."""
    if op not in rules.UFUNCS:
        return op, operand
    if op in ("sum", "prod"):
        if loop == _BOOL:  # what addition and multiplication of bools mean in NumPy
            return ("any" if op == "sum" else "all"), operand
        if loop.kind in "iu" and operand.dtype.kind in "biu":
            return op, operand  # modulo 2^64, then modulo the smaller power
    return op, operand.cast(loop)


def mean(a: Any, options: Options, *, axis: Any, dtype: Any, out: Any, keepdims: Any, where: Any) -> Any:
    """Reduce by the arithmetic mean."""
    operand = intake(a, options)
    axes = rules.reduced_axes(axis, len(operand.shape), scalar_axis=False)
    keep = rules.keeps_dims(keepdims)
    target = Target(out, options, operand, axis)
    target.check(rules.kept_shape(operand.shape, axes, keep), rules.kept_shape(operand.shape, axes))
    mask = take_mask(where, operand)
    target.reads.append(mask)
    if options.variant != "auto":
        raise ValueError(f"variant: {options.variant} does not cover mean; 'auto' does")

    half = operand.dtype.name in ("float16", "bfloat16") and dtype is None
    if half:
        dtype = _FLOAT32
    elif dtype is None and operand.dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    loop = rules.loop_dtype("sum", operand.dtype, dtype, target.hint)
    # Where the result itself is a half, the kernel accumulates in float32 and rounds once.
    direct = half and (target.hint is None or target.hint == operand.dtype)
    target.set_dtype(operand.dtype if direct else loop)
    if mask is not None or loop.kind in "biu" or target.is_integral:
        return target.store(_divided(operand, axes, mask, loop, target, options.progress))
    if rules.reduced_count(operand.shape, axes) == 0:
        _warn_of_empty_slices()
    if rules.core_dtype("mean", operand.dtype) != target.dtype:
        operand = operand.cast(loop)
    out = target.core_out(target.dtype)
    return target.store(run("mean", operand, axes, out=out, progress=options.progress))


def _divided(operand, axes, mask, loop, target, progress) -> np.ndarray:
    """Return sums divided by counts, where the core does not divide: under a mask, and in integers."""
    if operand.on_device and operand.dtype.kind in "biu" and operand.dtype.itemsize < loop.itemsize:
        kernel = "sum"  # exact in 64 bits, so that no cast is needed
    else:
        kernel, operand = _kernel_for("sum", operand, loop)
    total = run(kernel, operand, axes, mask, progress=progress).astype(loop, copy=False)
    if mask is None:
        count = np.asarray(rules.reduced_count(operand.shape, axes))
    else:
        count = run("count_nonzero", mask, axes)
    if 0 in count:
        _warn_of_empty_slices()
    with np.errstate(all="ignore"):
        if target.is_integral:  # NumPy's sums go into `out`, and lose their fractions, before it divides
            total = total.astype(target.out.dtype)
            target.dtype = target.out.dtype
        return np.true_divide(total, count).astype(target.dtype)


def _warn_of_empty_slices() -> None:
    warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=rules.outside_level())


def dot(a: Any, b: Any, out: Any, options: Options) -> Any:
    """Reduce by the dot product of two vectors."""
    if options.variant != "auto":
        raise ValueError(f"variant: {options.variant} does not cover dot; 'auto' does")
    left = intake(a, options, "a")
    right = intake(b, replace(options, device=_device_name(left), stream=None), "b")
    if left.on_device != right.on_device or (left.kind, left.index) != (right.kind, right.index):
        raise TypeError("b: must lie where a lies")
    if left.shape != right.shape or len(left.shape) > 1:
        raise ValueError(
            f"dot: expected two vectors of one length, or two scalars, got shapes {left.shape} "
            f"and {right.shape}"
        )
    dtype = rules.plain(np.promote_types(left.dtype, right.dtype))
    rules.require_supported(dtype, "b")
    target = Target(out, options, left, None)
    target.reads.append(right)
    target.check((), ())
    if target.host_out is not None:
        rules.require_dot_out(out, dtype)
    target.set_dtype(dtype)
    left, right = (_as_vector(operand.cast(dtype)) for operand in (left, right))
    result = run("dot", left, (0,), right, out=target.core_out(dtype), progress=options.progress)
    return target.store(result)


def _as_vector(operand: Operand) -> Operand:
    if operand.shape:
        return operand
    if operand.on_device:
        return operand.with_strides((1,), (operand.dtype.itemsize,))
    return replace(operand, handle=operand.handle.reshape(1), shape=(1,))
