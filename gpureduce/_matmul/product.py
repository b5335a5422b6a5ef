"""The public matrix product."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._device import libraries
from gpureduce._device.devices import Device, device_name
from gpureduce._device.variants import variants
from gpureduce._matmul import floating
from gpureduce._reduce.fast_path import fast_path_with
from gpureduce._reduce.floating import check_cast
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Out, Stream

PRECISIONS = tuple(dict.fromkeys(variant.precision for variant in variants("matmul") if variant.precision))
_MOST_STACKS = 4  # dimensions of a stack that the kernels take, whatever their strides


@fast_path_with(
    lambda positional, named: _core.fast_path("matmul", positional, named, floating.report_fp_status)
)
def matmul(
    a: AnyArray,
    b: AnyArray,
    out: Out | None = None,
    *,
    dtype: DTypeLike | None = None,
    variant: str = "auto",
    precision: str | None = None,
    batch_invariant: bool = True,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the matrix product of two arrays, as `numpy.matmul`.

    Parameters
    ----------
    a, b : array_like or device array
        Arrays of shapes ``(..., m, k)`` and ``(..., k, n)``, of any strides, both in host memory or both on
        one device. Leading dimensions are broadcast. As in `numpy.matmul`, a vector `a` is treated as one
        row, a vector `b` as one column, and that axis is removed from the result.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. The result is cast to the dtype of a
        host array by NumPy's rule ``"same_kind"``; an array on a device must have the result's dtype and C
        order. It may overlap with `a` and `b`.
    dtype : dtype_like, optional
        Data type of the result, to which elements are cast by NumPy's rule ``"same_kind"``. Default: as in
        NumPy. Arrays on a device are not cast.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of ``variants("matmul")``, for the dtypes in its
        ``coverage``.
    precision : str, optional
        Arithmetic of float32. ``"ieee"``, the default, uses fused multiply-adds, each rounded once (for
        float64 too). The others use tensor cores, if the device has them: ``"tf32"`` rounds both factors to
        10 fraction bits; ``"tf32x3"`` and ``"f16x3"`` split each factor into a sum of two TF32 or float16
        numbers, which is about as accurate as ``"ieee"`` for finite numbers of ordinary magnitude.
    batch_invariant : bool
        True, the default: with the variant ``"auto"``, the bits of an element depend on its row of `a`, its
        column of `b`, ``k``, ``n``, the dtype and `precision` alone, not on the number of rows, their
        position, the stack, or where arrays begin; for ``n == 1`` also on whether rows of `a` are contiguous.
        False allows another order of the sums where it is faster, mostly for a single row. A named variant
        has one order of its own and ignores this.
    device : str or Device, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `a`, or for a
        host array the default device (see `set_default_device`): without a setting, the first CUDA device, or
        the simulator with a `SimulatorWarning` if there is none.
    stream : int or object, optional
        CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
        ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on
        a device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered
        after the work already queued on this stream and on the streams of the other arguments. The host
        synchronizes only when a result is returned to host memory. See docs/explanation/streams.md.
    as_device : bool, optional
        True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
        True if `a` is on a device.

    Returns
    -------
    numpy scalar, numpy.ndarray or DeviceArray
        Array in C order, of shape ``(..., m, n)``; a scalar for two vectors.

    Raises
    ------
    TypeError
        If a dtype is not supported or cannot be cast, or if the arrays are on different devices.
    ValueError
        If shapes do not match, or a name is unknown.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    The result has the dtype that `numpy.matmul` gives; bfloat16 stays bfloat16. Integers wrap around in their
    own dtype. For bool, a result is True if any product is. float16 and bfloat16 are accumulated in float32
    and rounded once. The error of a float32 or float64 result is at most ``k * u / (1 - k * u)`` times the
    sum of the absolute products, `u` being half the machine epsilon (N. J. Higham, "Accuracy and Stability of
    Numerical Algorithms", 2nd ed., section 3.5). Results are bitwise identical in every run, on a GPU and on
    the simulator.

    The variant ``"cublas"`` calls NVIDIA's library, if it is installed; the accuracy of its results is as
    documented by NVIDIA. It supports the precisions ``"ieee"`` and ``"tf32"``.

    With ``"ieee"``, NaNs and infinities follow IEEE 754. For ``"tf32x3"`` and ``"f16x3"``, the comments at
    the head of the variants `t2` and `t4` describe infinities and numbers near the limits of the range.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> gpureduce.matmul([[1, 2], [3, 4]], [[1, 1], [0, 1]], device="sim")
    array([[1, 3],
           [3, 7]])
    >>> gpureduce.matmul(np.ones((2, 3), np.float32), np.ones(3, np.float32), variant="m2", device="sim")
    array([3., 3.], dtype=float32)
    """
    options = Options(variant, device, stream=stream, as_device=as_device, ladder="matmul")
    _check_precision(precision, options)
    rules.flag(batch_invariant, "batch_invariant")
    left = as_operand(a, device)
    right = as_operand(b, device_name(left.kind, left.index), name="b")
    if (right.view is None, right.kind, right.index) != (left.view is None, left.kind, left.index):
        raise TypeError("b: must be on the device of a, or in host memory if a is")
    stack, core_shape = _shape(left.shape, right.shape, out)
    output = OutputSpec(out, options, left, 0, stack + core_shape, (), False)
    output.reads.append(right)
    own = _dtype(left, right, dtype, output.host_out)
    output.set_dtype(own if output.host_out is None else output.host_out.dtype)
    given, cast = (left, right), (left.cast(own), right.cast(own))
    left, right = (_broadcast_to_batch(operand, stack) for operand in cast)
    core_out = output.core_out(own)
    output.wait_for_inputs()
    name = None if options.variant is None else options.variant.name
    if options.variant is not None and ("matmul", dtypes.dtype_name(own)) not in options.variant.coverage:
        raise TypeError(
            f"variant: {name} takes {', '.join(options.variant.dtypes)}, not {own}; 'auto' takes all"
        )
    if name == "cublas":
        libraries.load(name)
    if precision not in (None, "ieee") and dtypes.dtype_name(own) != "float32":
        raise TypeError(f"precision: {precision} requires float32 arrays, got {own}")
    result = _core.matmul(
        left.handle,
        right.handle,
        name,
        precision,
        batch_invariant,
        (core_out, left.kind, left.index, output.stream),
    )
    if core_out is not None:
        return output.store(None)
    if not (output.on_device or _core.all_finite(result)):
        floating.check_fp_status(result, left, right)
        for before, after in zip(given, cast, strict=True):
            check_cast(before, after, result)
    return output.store(result)


def _check_precision(precision: str | None, options: Options) -> None:
    if precision is None:
        return
    if not isinstance(precision, str):
        raise TypeError(f"precision: expected str or None, got {type(precision).__name__}")
    if precision not in PRECISIONS:
        raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    variant = options.variant
    taken = (variant.precision, "tf32") if variant is not None and not variant.block_sizes else ()
    if variant is not None and precision not in (variant.precision, *taken):
        raise ValueError(
            f"precision: {variant.name} multiplies in {variant.precision!r}, not in {precision!r}"
        )


def _shape(a: tuple[int, ...], b: tuple[int, ...], out: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the batch shape, including `out`, and the dtype of the result."""
    for shape, name in ((a, "a"), (b, "b")):
        if not shape:
            raise ValueError(f"{name}: matmul needs at least one dimension, got a scalar")
    rows, columns = b[-2 if len(b) > 1 else -1], a[-1]
    if rows != columns:
        raise ValueError(f"b: expected {columns} rows, the number of columns of a, got {rows}")
    core = a[-2:-1] + (b[-1:] if len(b) > 1 else ())
    stacks = [a[:-2], b[:-2]]
    out_shape = getattr(out, "shape", None)
    if isinstance(out_shape, tuple) and len(out_shape) > len(core):
        stacks.append(out_shape[: len(out_shape) - len(core)])
    try:
        return np.broadcast_shapes(*stacks), core
    except ValueError:
        raise ValueError(f"a, b: leading dimensions {a[:-2]} and {b[:-2]} do not broadcast") from None


def _dtype(a: Operand, b: Operand, dtype: DTypeLike | None, out: Any) -> np.dtype:
    """Return the dtype in which `numpy.matmul` would compute; TypeError if it would raise."""
    operand_dtypes = [a.rule_dtype, b.rule_dtype]
    requested = None
    if dtype is not None:
        requested = dtypes.dtype_of(dtype)
        dtypes.require_supported(requested, "dtype")
    if "bfloat16" in [each.name for each in [*operand_dtypes, requested] if each is not None]:
        result_dtype = requested if requested is not None else np.promote_types(*operand_dtypes)
        for each in operand_dtypes:
            if not np.can_cast(each, result_dtype, "same_kind"):
                raise TypeError(
                    f"dtype: cannot cast from {each} to {result_dtype} according to the rule 'same_kind'"
                )
    else:
        signature = None if requested is None else (requested,) * 3
        into = None if out is None else out.dtype
        resolve = np.matmul.resolve_dtypes
        asked = (*operand_dtypes, into)
        try:
            result_dtype = (
                resolve(asked, casting="same_kind")
                if signature is None
                else resolve(asked, signature=signature, casting="same_kind")
            )[0]
        except TypeError:
            both = " and ".join(map(str, operand_dtypes))
            name, into = ("out", into) if requested is None else ("dtype", requested)
            raise TypeError(
                f"{name}: cannot cast {both} to {into} according to the rule 'same_kind'"
            ) from None
    return dtypes.canonical_dtype(result_dtype, "dtype")


def _broadcast_to_batch(operand: Operand, stack: tuple[int, ...]) -> Operand:
    """Broadcast an operand to the batch shape; a host array is copied if it has too many dimensions."""
    spread = _over(operand, stack)
    if len(stack) <= _MOST_STACKS or operand.view is not None:
        return spread
    return replace(spread, handle=np.ascontiguousarray(spread.handle))


def _over(operand: Operand, stack: tuple[int, ...]) -> Operand:
    """Return the operand broadcast to the batch shape, without a copy; vectors are unchanged."""
    if len(operand.shape) < 2 or operand.shape[:-2] == stack:
        return operand
    shape = stack + operand.shape[-2:]
    if operand.view is not None:
        strides = rules.broadcast_strides(operand.shape, operand.handle[2], shape)
        return operand.with_strides(shape, strides)
    return replace(operand, handle=np.broadcast_to(operand.handle, shape), shape=shape)
