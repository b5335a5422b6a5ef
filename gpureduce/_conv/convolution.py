"""The public convolution."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._conv.geometry import geometry
from gpureduce._device import libraries
from gpureduce._device.devices import Device, device_name
from gpureduce._device.variants import variants
from gpureduce._matmul.product import PRECISIONS
from gpureduce._reduce.fast_path import fast_path_with
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Out, Stream

DTYPES = tuple(dict.fromkeys(dtype for variant in variants("conv") for dtype in variant.dtypes))


@fast_path_with(functools.partial(_core.fast_path, "conv2d"))
def conv2d(
    x: AnyArray,
    w: AnyArray,
    *,
    bias: AnyArray | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    layout: str = "NCHW",
    dtype: DTypeLike | None = None,
    out: Out | None = None,
    variant: str = "auto",
    precision: str | None = None,
    batch_invariant: bool = True,
    device: str | Device | None = None,
    stream: Stream | None = None,
    as_device: bool | None = None,
) -> Any:
    """Return the 2-D convolution (cross-correlation) of images with filters, as `torch.nn.functional.conv2d`.

    Parameters
    ----------
    x : array_like or device array
        Images, of shape ``(n, c, height, width)``, or ``(n, height, width, c)`` with ``layout="NHWC"``; a
        three-dimensional array is one image. Strides may be arbitrary.
    w : array_like or device array
        Filters, of shape ``(f, c / groups, kernel height, kernel width)``, or ``(f, kernel height, kernel
        width, c / groups)`` with ``layout="NHWC"``. Strides may be arbitrary. In host memory if `x` is, else
        on the device of `x`.
    bias : array_like or device array, optional
        Array of shape ``(f,)``; element i is added to all results of filter i. It is cast to the dtype of the
        result by NumPy's rule ``"same_kind"``.
    stride, dilation : int or pair of int
        `stride` is the distance in `x` between neighbouring results, `dilation` the distance in `x` between
        neighbouring filter elements; a pair is (rows, columns).
    padding : int, pair of int or str
        Rows and columns of zeros to add on each side of an image. ``"valid"`` adds none. ``"same"``, which
        requires a stride of 1, pads until the result has the size of the image; if their
        number is odd, the end gets one more.
    groups : int
        Number of groups into which channels and filters are divided; it must divide both numbers. A filter
        reads only the channels of its group.
    layout : str
        Order of the axes of `x`, `w` and the result: ``"NCHW"``, as in PyTorch, or ``"NHWC"``.
    dtype : dtype_like, optional
        Data type of the result, to which elements are cast by NumPy's rule ``"same_kind"``. Default: the
        dtype to which NumPy promotes `x` and `w`. Arrays on a device are not cast.
    out : numpy.ndarray or device array, optional
        Output array of the shape of the result; it is also returned. The result is cast to the dtype of a
        host array by NumPy's rule ``"same_kind"``; an array on a device must have the result's dtype and C
        order. It may overlap with `x`, `w` and `bias`.
    variant : str
        Kernel to run: ``"auto"``, or the name of one of ``variants("conv")``, for the dtypes in its
        ``coverage``.
    precision : str, optional
        Arithmetic of float32, as for `matmul`. ``"tf32"`` permits TF32, but does not force it: shapes for
        which float32 kernels are known to be faster use these.
    batch_invariant : bool
        True, the default: with the variant ``"auto"``, the bits of an image of the result do not depend on
        the number of images, nor on which of them it is: they depend on the image, the filters, the layout,
        the dtype, `precision`, and on whether arrays are contiguous and aligned to 16 bytes. False allows
        another order of the sums where it is faster. A named variant has orders of its own and ignores this.
    device : str or Device, optional
        Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of `x`, or for a
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
        True if `x` is on a device.

    Returns
    -------
    numpy.ndarray or DeviceArray
        Array in C order with the axes of `x`. It has `f` channels, and ``(size + both paddings - dilation *
        (kernel - 1) - 1) // stride + 1`` rows and columns.

    Raises
    ------
    TypeError
        If the dtype is not float16, bfloat16, float32 or float64, or if the arrays are on different devices.
    ValueError
        If shapes do not match, or a name is unknown.
    DeviceError
        If the device does not exist or fails.

    Notes
    -----
    float16 and bfloat16 are accumulated in float32 and rounded once. The bias is then added in float32 or
    float64, and the sum is rounded to the dtype of the result: with a bias, float16 and bfloat16 results are
    rounded twice, as by PyTorch on a GPU. Without a bias, the error of a float32 or float64 result of k
    products is at most ``k * u / (1 - k * u)`` times the sum of the absolute products, where `u` is half the
    machine epsilon, as in `matmul`. Results are bitwise identical in every run, on a GPU and on the
    simulator.

    The variant ``"cudnn"`` calls NVIDIA's library, if it is installed; the accuracy of its results is as
    documented by NVIDIA. It supports the precisions ``"ieee"`` and ``"tf32"``, and padding that is equal on
    both sides.

    A tensor in PyTorch's ``channels_last`` format is NCHW with other strides, and is read without a copy.
    ``x.permute(0, 2, 3, 1)`` with ``layout="NHWC"`` reads the same memory, and returns a result in that
    format.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    >>> w = np.ones((1, 1, 2, 2), np.float32)
    >>> gpureduce.conv2d(x, w, bias=[0.5], stride=(1, 2), device="sim")[0, 0]
    array([[10.5, 18.5],
           [26.5, 34.5]], dtype=float32)
    """
    options = Options(variant, device, stream=stream, as_device=as_device, ladder="conv")
    entry = options.variant
    name = None if entry is None else entry.name
    _check_precision(precision, options)
    rules.flag(batch_invariant, "batch_invariant")
    left = as_operand(x, device, name="x")
    right = as_operand(w, device_name(left.kind, left.index), name="w")
    if (right.view is None, right.kind, right.index) != (left.view is None, left.kind, left.index):
        raise TypeError("w: must be on the device of x, or in host memory if x is")
    asked = geometry(left.shape, right.shape, stride, padding, dilation, groups, layout)
    added = None if bias is None else _bias(bias, left, right.shape[0])
    output = OutputSpec(out, options, left, 0, asked.shape, (), False)
    output.reads += [right] if added is None else [right, added]
    own = _dtype(left, right, dtype)
    if entry is not None and dtypes.dtype_name(own) not in entry.dtypes:
        raise TypeError(f"variant: {name} takes {', '.join(entry.dtypes)}, not {own}; 'auto' takes all")
    if precision not in (None, "ieee") and own != np.float32:
        raise TypeError(f"precision: {precision} requires float32 arrays, got {own}")
    output.set_dtype(own)
    left, right = left.cast(own), right.cast(own)
    if added is not None:
        if not np.can_cast(added.dtype, own, "same_kind"):
            raise TypeError(
                f"bias: cannot cast from {added.dtype} to {own} according to the rule 'same_kind'"
            )
        added = added.cast(own)
    core_out = output.core_out(own)
    output.wait_for_inputs()
    if name == "cudnn":
        libraries.load(name)
    result = _core.conv2d(
        x=left.handle,
        w=right.handle,
        **asked.arguments,
        variant=name,
        precision=precision,
        destination=(core_out, left.kind, left.index, output.stream),
        bias=None if added is None else added.handle,
        batch_invariant=bool(batch_invariant),
    )
    return output.store(None if core_out is not None else result)


def _bias(bias: Any, x: Operand, filters: int) -> Operand:
    operand = as_operand(bias, device_name(x.kind, x.index), name="bias")
    if (operand.view is None, operand.kind, operand.index) != (x.view is None, x.kind, x.index):
        raise TypeError("bias: must be on the device of x, or in host memory if x is")
    if operand.shape != (filters,):
        raise ValueError(f"bias: expected shape ({filters},), one element per filter, got {operand.shape}")
    return operand


def _check_precision(precision: Any, options: Options) -> None:
    if precision is None:
        return
    if not isinstance(precision, str):
        raise TypeError(f"precision: expected str or None, got {type(precision).__name__}")
    if precision not in PRECISIONS:
        raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    variant = options.variant
    taken = ("tf32",) if variant is not None and not variant.block_sizes else ()
    if variant is not None and precision not in taken and variant.precision not in (None, precision):
        raise ValueError(
            f"precision: {variant.name} multiplies in {variant.precision!r}, not in {precision!r}"
        )


def _dtype(x: Operand, w: Operand, dtype: DTypeLike | None) -> np.dtype:
    """Return the dtype of the computation: the requested one, or the promoted one."""
    promoted = np.promote_types(x.dtype, w.dtype)
    if dtype is not None:
        promoted = dtypes.dtype_of(dtype)
        dtypes.require_supported(promoted, "dtype")
    name = "x, w" if dtype is None else "dtype"
    if dtypes.dtype_name(promoted) not in DTYPES:
        raise TypeError(f"{name}: conv2d takes {', '.join(DTYPES)}, not {promoted}")
    for operand, which in ((x, "x"), (w, "w")):
        if not np.can_cast(operand.dtype, promoted, "same_kind"):
            raise TypeError(
                f"{which}: cannot cast from {operand.dtype} to {promoted} according to the rule 'same_kind'"
            )
    return dtypes.canonical_dtype(promoted, "dtype")
