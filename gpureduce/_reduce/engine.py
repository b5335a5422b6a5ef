"""From the arguments of a reduction to a call of the core and back to a NumPy or device result."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand, as_operand_like
from gpureduce._device.devices import LEGACY_STREAM
from gpureduce._device.variants import COVERED
from gpureduce._reduce import floating
from gpureduce._reduce.options import Options, reject_variant
from gpureduce._reduce.output import OutputSpec
from gpureduce._reduce.progress import Progress, reporter
from gpureduce._rules import arguments as rules
from gpureduce._rules import dtypes
from gpureduce._rules.arguments import caller_stacklevel

_FLOAT32 = np.dtype(np.float32)


def run(
    op: str,
    operand: Operand,
    axes: tuple[int, ...],
    mask: Operand | None = None,
    initial: np.ndarray | None = None,
    out: tuple | None = None,
    progress: Progress = None,
    stream: int = LEGACY_STREAM,
    parameter: int = 0,
) -> np.ndarray | None:
    """Reduce `operand` by the core; for a dot product, `mask` is the second vector.

    `parameter` is for operators with a parameter: see `gr_op_has_parameter` in csrc/reduce/ops.h.
    """
    second = None if mask is None else mask.handle
    with reporter(progress) as report:
        result = _core.general(
            operand.handle, op, axes, second, initial, out, operand.kind, operand.index, report, stream,
            parameter,
        )  # fmt: skip
    return result if out is None else None


def _run_variant(op, operand, axes, dtype, initial, mask, options) -> np.generic:
    """Reduce a whole array by a named variant."""
    variant = options.variant
    name = variant.name
    if op not in COVERED[name]:
        raise ValueError(f"variant: {name} covers {', '.join(variant.ops)}, not {op}; 'auto' covers all")
    backend = "sim" if operand.kind == _core.SIM else "cuda"
    if backend not in variant.backends:
        raise ValueError(f"variant: {name} runs on {', '.join(variant.backends)}, not on {backend}")
    shape = operand.shape
    if len(axes) != len(shape) or mask is not None or initial is not rules.NO_VALUE:
        raise ValueError(
            f"variant: {name} reduces whole arrays, without axis=, where= or initial=; 'auto' takes them"
        )
    if operand.view is not None:
        packed = rules.c_strides(shape, operand.dtype.itemsize)
        if not rules.same_strides(shape, operand.view.strides, packed):
            raise ValueError(f"a: {name} takes device arrays in C order; 'auto' takes any strides")
    if dtype is not None and dtypes.dtype_of(dtype) != dtypes.core_dtype(op, operand.dtype):
        raise ValueError(
            f"variant: {name} accumulates in a dtype of its own, not in dtype={dtype}; 'auto' takes it"
        )
    if op in dtypes.WITHOUT_IDENTITY:
        rules.require_elements(op, rules.reduced_count(shape, axes), shape)
    result: Any = _core.reduce(
        operand.handle, op, name, options.block_size, options.grid_size, operand.kind, operand.index
    )
    if operand.numpy_dtype is not None and op in dtypes.UFUNCS:
        named = dtypes.loop_dtype(op, operand.numpy_dtype, None, None)
        result = np.asarray(result).view(named)[()]
    return result


def reduction(
    op: str,
    a: Any,
    options: Options,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = rules.NO_VALUE,
    where: Any = True,
) -> Any:
    """Reduce by any operator except mean and dot."""
    operand = as_operand(a, options.device)
    reject_variant(axis)
    ndim = len(operand.shape)
    is_place = op in ("argmin", "argmax")
    axes = rules.single_axis(axis, ndim) if is_place else rules.reduced_axes(axis, ndim)
    output = OutputSpec(out, options, operand, axis, operand.shape, axes, keepdims)
    mask = None
    if where is not True:
        mask = output.take_mask(where, operand)
    if is_place and output.host_out is not None:
        rules.require_index_out(output.host_out.dtype)
    if options.variant is not None:
        output.work_in_default_stream()
        named = _run_variant(op, operand, axes, dtype, initial, mask, options)
        taken = output.take(named)
        if not (output.on_device or _core.all_finite(np.asarray(named))):
            floating.check_fp_status(op, named, operand, axes)
        return taken

    if op in dtypes.UFUNCS:
        loop = output.loop_dtype(op, operand.rule_dtype, dtype)
    else:
        loop = dtypes.core_dtype(op, operand.dtype)
    start = None
    if initial is None or (initial is rules.NO_VALUE and op in dtypes.WITHOUT_IDENTITY):
        rules.require_elements(op, rules.reduced_count(operand.shape, axes), operand.shape)
        if mask is not None:
            raise ValueError(f"{op}: the reduction has no identity, so where= needs initial=")
    elif initial is not rules.NO_VALUE:
        start = rules.initial_value(initial, loop)

    source = operand
    kernel, operand = _kernel_for(op, operand, loop, output)
    core_dtype = dtypes.core_dtype(kernel, operand.dtype)
    output.set_dtype(loop, "unsafe")
    start = None if start is None else start.astype(core_dtype)
    core_out = output.core_out(core_dtype) if output.on_device else None
    output.wait_for_inputs()
    try:
        result = run(kernel, operand, axes, mask, start, core_out, options.progress, output.stream)
    except ValueError:
        if not is_place or operand.view is None:
            raise
        operand = output.in_c_order(operand)  # elements are numbered there
        result = run(kernel, operand, axes, mask, start, core_out, options.progress, output.stream)
    return _stored(output, kernel, result, source, axes, mask, start)


def _stored(
    output: OutputSpec,
    op: str,
    result: np.ndarray | None,
    operand: Operand,
    axes: tuple[int, ...],
    second: Operand | None,
    start: np.ndarray | None = None,
) -> Any:
    """Store a result, and report floating-point errors of a host result to NumPy.

    `operand` is the argument before any cast.
    """
    stored = output.store(result)
    if result is not None and not (output.on_device or _core.all_finite(result)):
        floating.check_fp_status(op, result, operand, axes, second, start)
    return stored


def _kernel_for(op: str, operand: Operand, loop: np.dtype, output: OutputSpec) -> tuple[str, Operand]:
    """Return the core's operator that accumulates in `loop`, and the operand cast to its dtype."""
    if op in ("sum", "prod"):
        if loop == dtypes.BOOL:  # addition and multiplication of bools in NumPy
            return ("any" if op == "sum" else "all"), operand
        if loop.kind in "iu" and operand.dtype.kind in "biu":
            return op, operand  # modulo 2^64, then modulo the smaller power
    elif op not in dtypes.UFUNCS:
        return op, operand
    return op, output.cast(operand, loop)


def mean(a: Any, options: Options, axis: Any, dtype: Any, out: Any, keepdims: Any, where: Any) -> Any:
    """Reduce by the arithmetic mean."""
    operand = as_operand(a, options.device)
    reject_variant(axis)
    axes = rules.reduced_axes(axis, len(operand.shape), scalar_axis=False)
    output = OutputSpec(out, options, operand, axis, operand.shape, axes, keepdims)
    if where is None:
        raise TypeError("where: expected bool or an array of bool, got None")
    mask = None
    if where is not True:
        mask = output.take_mask(where, operand)
    if options.variant is not None:
        raise ValueError(f"variant: {options.variant.name} does not cover mean; 'auto' does")

    half = dtype is None and dtypes.dtype_name(operand.dtype) in ("float16", "bfloat16")
    if half:
        dtype = _FLOAT32
    elif dtype is None and operand.dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    loop = output.loop_dtype("sum", operand.rule_dtype, dtype)
    # Where the result itself is a half, the kernel accumulates in float32 and rounds once.
    direct = half and (output.hint is None or output.hint == operand.dtype)
    output.set_dtype(operand.dtype if direct else loop, "unsafe")
    output.wait_for_inputs()
    if loop.kind in "biu" or output.is_integral:
        return output.store(_divided(operand, axes, mask, loop, output, options.progress))
    nothing = rules.reduced_count(operand.shape, axes) == 0
    if nothing:
        _warn_of_empty_slices()
    source = operand
    if dtypes.core_dtype("mean", operand.dtype) != output.dtype:
        operand = output.cast(operand, loop)
    core_out = output.core_out(output.dtype)
    result = run("mean", operand, axes, mask, None, core_out, options.progress, output.stream)
    stored = output.store(result)
    if result is not None and not (output.on_device or _core.all_finite(result)):
        _warn_of_empty_mean(result, source, axes, mask)
    return stored


def _warn_of_empty_mean(result: Any, operand: Operand, axes: tuple[int, ...], mask: Operand | None) -> None:
    """Report a nonfinite mean on the host: warn if `mask` leaves a slice empty."""
    if mask is not None and rules.reduced_count(operand.shape, axes) > 0:
        counts: Any = run("count_nonzero", mask, axes)
        if 0 in counts:
            _warn_of_empty_slices()
    floating.check_fp_status("mean", result, operand, axes, mask)


def warn_of_empty_mean(*call: Any) -> None:
    """Report the same for a result of the fast path."""
    _warn_of_empty_mean(*floating.reduced("mean", *call))


def _divided(operand, axes, mask, loop, output, progress) -> np.ndarray:
    """Return sums divided by counts, where the core does not divide: in integers."""
    if operand.view is not None and operand.dtype.kind in "biu" and operand.dtype.itemsize < loop.itemsize:
        kernel = "sum"  # exact in 64 bits, so that no cast is needed
    else:
        kernel, operand = _kernel_for("sum", operand, loop, output)
    total: Any = run(kernel, operand, axes, mask, progress=progress, stream=output.stream)
    total = total.astype(loop, copy=False)
    count: Any
    if mask is None:
        count = np.asarray(rules.reduced_count(operand.shape, axes))
    else:
        count = run("count_nonzero", mask, axes, stream=output.stream)
    if 0 in count:
        _warn_of_empty_slices()
    with np.errstate(all="ignore"):
        if output.host_out is not None:  # NumPy's sums go into `out`, as it can hold them, before it divides
            total = total.astype(output.host_out.dtype)
            output.dtype = output.host_out.dtype
        return np.asarray(np.true_divide(total, count)).astype(output.dtype)


def _warn_of_empty_slices() -> None:
    warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=caller_stacklevel())


def dot(a: Any, b: Any, out: Any, options: Options) -> Any:
    """Reduce by the dot product of two vectors."""
    if options.variant is not None:
        raise ValueError(f"variant: {options.variant.name} does not cover dot; 'auto' does")
    left, right, output = vectors(a, b, out, options)
    core_out = output.core_out(output.dtype)
    output.wait_for_inputs()
    result = run("dot", left, (0,), right, None, core_out, options.progress, output.stream)
    return _stored(output, "dot", result, left, (0,), right)


def vectors(a: Any, b: Any, out: Any, options: Options) -> tuple[Operand, Operand, OutputSpec]:
    """Convert the vectors of a dot product to its dtype; return them and the output."""
    left = as_operand(a, options.device)
    right = as_operand_like(b, left, "b")
    location = (left.view is None, left.kind, left.index)
    if (right.view is None, right.kind, right.index) != location:
        raise TypeError("b: must be on the device of a, or in host memory if a is")
    if left.shape != right.shape or len(left.shape) > 1:
        raise ValueError(
            f"dot: expected two vectors of one length, or two scalars, got shapes {left.shape} "
            f"and {right.shape}"
        )
    dtype = dtypes.canonical_dtype(np.promote_types(left.rule_dtype, right.rule_dtype), "b")
    output = OutputSpec(out, options, left, None, (), (), False)
    output.reads.append(right)
    if output.host_out is not None:
        rules.require_dot_out(output.host_out, dtype)
    output.set_dtype(dtype)
    return _as_vector(left.cast(dtype)), _as_vector(right.cast(dtype)), output


def _as_vector(operand: Operand) -> Operand:
    if operand.shape:
        return operand
    if operand.view is not None:
        return operand.with_strides((1,), (operand.dtype.itemsize,))
    return replace(operand, handle=operand.handle.reshape(1), shape=(1,))
