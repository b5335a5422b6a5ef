"""Custom reductions with CuPy's interface."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpureduce import _core
from gpureduce._arrays.operand import Operand, as_operand
from gpureduce._custom import nvrtc
from gpureduce._custom.source import (
    IDENTIFIER,
    NUMBER,
    Expressions,
    Parameter,
    Types,
    accumulator,
    parameters,
    source,
    text,
)
from gpureduce._device import devices
from gpureduce._reduce.options import Options
from gpureduce._reduce.output import OutputSpec
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import DTYPE_TABLE, SUPPORTED, dtype_from_name, native

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import Out, Stream

_LONGEST_NAME = 200
_SMALL_VALUES = frozenset(row.numpy_name for row in DTYPE_TABLE if row.item_bytes <= 8)
_LARGE_ELEMENT = 4  # bytes
_MOST_ELEMENTS = 2**63 - 1
# A scalar is converted within its kind, and to the kinds listed after it.
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}  # bfloat16 is of kind V


class CacheInfo(NamedTuple):
    """Number of times that kernels were compiled, found on disk, and found in memory."""

    compiled: int
    disk: int
    memory: int


def _expression(value: Any, name: str) -> str:
    if not text(value, name).strip():
        raise ValueError(f"{name}: expected a C++ expression, got nothing")
    return value


def _identity(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)) and math.isfinite(value):
        return repr(value + 0)  # a bool becomes an int
    return text(value, "identity").strip()


class ReductionKernel:
    """A reduction given by CUDA C++ expressions, compiled at its first call.

    It has the arguments and the semantics of `cupy.ReductionKernel`: elements are mapped, the mapped values
    are combined pairwise, and the combined value is mapped to one or several results. NVRTC, NVIDIA's
    run-time compiler, compiles the kernel (``pip install 'gpureduce[nvrtc]'``), which runs on a GPU or on the
    simulator with the launch configuration of the built-in reductions. Each dtype and each kind of memory
    layout is compiled at the first call that needs it, in about a tenth of a second.

    Parameters
    ----------
    in_params : str
        Inputs, up to eight: ``"T x, float32 w"``. A type is the name of a dtype, or a letter, which stands
        for the dtype of the argument. In expressions, the name of an input is one element, const.
    out_params : str
        Outputs, up to eight: ``"T y"``, ``"T low, T high"``.
    map_expr : str
        Expression of the value to reduce: ``"x * w"``. ``_J`` is the index of an element among those that are
        reduced together, in C order, as an int64.
    reduce_expr : str
        Expression that combines two such values, `a` and `b`: ``"a + b"``. It must be associative and
        commutative, except for rounding errors.
    post_map_expr : str
        Statements that set the outputs from the reduced value `a`: ``"y = sqrt(a)"``, ``"low = a.x; high =
        a.y"``. Outputs are initialized to zero.
    identity : str, int, float or None
        Identity of `reduce_expr`, the result for an empty array: ``"0"``. It may be combined with other
        values any number of times. None or an empty str means that there is none; reducing an empty array
        then raises ValueError.
    name : str
        Name of the kernel, for profilers and error messages.
    reduce_type : str or dtype_like, optional
        Type of `a` and `b`: the name of a dtype, a letter of the parameters, or a struct. A struct is defined
        here, ``"struct Sums { double s, q; }"``, or defined in the preamble and named here, or given as a
        NumPy dtype with fields, ``[("s", "f8"), ("q", "f8")]``, whose C++ name is ``_type_reduce``. It must
        be trivially copyable and default-constructible, with at most 48 bytes (44 without an identity);
        expressions may initialize it by ``{...}``. Default: the type of the first output.
    reduce_dims : bool
        Accepted for compatibility with CuPy, without effect: dimensions are always merged if possible.
    preamble : str
        C++ code placed before the kernel. It may use the letters of the parameters and a struct of
        `reduce_type` as types; functions do not need ``__device__``.
    options : tuple of str
        Additional NVRTC options, such as ``"-Iheaders"``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    float16 and bfloat16 elements are float in expressions, and are rounded once when the result is stored; a
    letter that stands for them is float, too. Complex values are ``complex<float>`` and ``complex<double>``
    with ``+ - * /``, ``==``, ``real``, ``imag``, ``conj``, ``abs`` and ``norm``. ``INFINITY`` and ``NAN`` are
    defined. Multiplications and additions are not fused (``-fmad=false``); write ``fma`` for a fused
    multiply-add.

    Compiled PTX is cached in the folder given by the environment variable `GPUREDUCE_CACHE_DIR`, otherwise in
    ``gpureduce`` in `XDG_CACHE_HOME` or ``~/.cache``. The key is a digest of NVRTC's version, the options and
    the source. The 256 most recently used kernels stay loaded.

    Instructions that the simulator does not support raise `SimulationError`; docs/reference/simulator-ptx.md
    lists them. The simulator computes functions that GPUs approximate, such as ``exp`` and ``rsqrt``, more
    accurately than a GPU, so that results may differ in the last bits.

    Examples
    --------
    >>> import gpureduce
    >>> norm2 = gpureduce.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm2")
    >>> norm2([[3.0, 4.0], [5.0, 12.0]], axis=1, device="sim")
    array([ 5., 13.])

    Two results at once:

    >>> sums = gpureduce.ReductionKernel(
    ...     "T x", "T total, T squares", "{x, x * x}", "{a.s + b.s, a.q + b.q}",
    ...     "total = a.s; squares = a.q", "{0, 0}", "sums", reduce_type="struct Sums { T s, q; }")
    >>> sums([[3.0, 4.0], [5.0, 12.0]], axis=1, device="sim")
    (array([ 7., 17.]), array([ 25., 169.]))
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: str | int | float | None,
        name: str = "reduce_kernel",
        reduce_type: DTypeLike | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Iterable[str] = (),
    ) -> None:
        if (
            isinstance(options, str)
            or not isinstance(options, Iterable)
            or getattr(options, "shape", None) == ()
        ):
            raise TypeError(f"options: expected a tuple of str, got {type(options).__name__}")
        self._arguments: dict[str, Any] = {
            "in_params": in_params,
            "out_params": out_params,
            "map_expr": _expression(map_expr, "map_expr"),
            "reduce_expr": _expression(reduce_expr, "reduce_expr"),
            "post_map_expr": _expression(post_map_expr, "post_map_expr"),
            "identity": _identity(identity),
            "name": text(name, "name"),
            "reduce_type": accumulator(reduce_type),
            "reduce_dims": reduce_dims,
            "preamble": text(preamble, "preamble"),
            "options": tuple(text(option, "options") for option in options),
        }
        self.__name__ = name  # profilers look for it
        self._inputs = parameters(in_params, "in_params", _core.MAX_INPUTS)
        self._outs = parameters(out_params, "out_params", _core.MAX_OUTPUTS)
        self._expressions = Expressions(**{key: self._arguments[key] for key in Expressions.__annotations__})
        self._ready: dict[tuple[Types, int, int], dict[str, object]] = {}
        self._counts = dict.fromkeys(CacheInfo._fields, 0)
        self._check_names()

    def _check_names(self) -> None:
        names = [parameter.name for parameter in (*self._inputs, *self._outs)]
        for name in names:
            if names.count(name) > 1:
                which = "in_params" if name in names[: len(self._inputs)] else "out_params"
                raise ValueError(f"{which}: two parameters are called {name!r}")
        if NUMBER in names:
            raise ValueError(f"in_params: {NUMBER!r} is the number of an element; give it another name")
        if "a" in names[len(self._inputs) :]:
            raise ValueError("out_params: 'a' is the reduced value; give the output another name")
        if not IDENTIFIER.fullmatch(self.name) or len(self.name) > _LONGEST_NAME:
            raise ValueError(
                f"name: expected an identifier of at most {_LONGEST_NAME} letters, got {self.name!r}"
            )

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self._arguments["name"]

    def __reduce__(self) -> tuple:
        return (ReductionKernel, tuple(self._arguments.values()))

    def __repr__(self) -> str:
        plain = {"reduce_type": None, "reduce_dims": True, "preamble": "", "options": ()}
        words = [repr(value) for name, value in self._arguments.items() if name not in plain]
        words += [
            f"{name}={self._arguments[name]!r}" for name in plain if self._arguments[name] != plain[name]
        ]
        return f"ReductionKernel({', '.join(words)})"

    def cache_info(self) -> CacheInfo:
        """Return how often calls compiled a kernel, found it on disk, or found it in memory.

        Returns
        -------
        CacheInfo
            Named tuple with the fields `compiled`, `disk` and `memory`.
        """
        return CacheInfo(**self._counts)

    def __call__(
        self,
        *args: Any,
        out: Out | tuple[Out | None, ...] | None = None,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        keepdims: bool = False,
        stream: Stream | None = None,
        device: str | devices.Device | None = None,
        as_device: bool | None = None,
    ) -> Any:
        """Reduce arrays.

        Parameters
        ----------
        *args : array_like, device array or scalar
            Inputs, broadcast against one another, all in host memory or all on one device; optionally
            followed by the outputs. Arrays are not cast: their dtypes must be those of the parameters. Python
            and NumPy scalars are converted, and determine the dtype of a letter only if no array does.
        out : numpy.ndarray or device array, or a tuple of them, optional
            Output array of the dtype of the output; it is also returned, and may determine the dtype of a
            letter. For several outputs a tuple of arrays or None, all in host memory or all on the device.
        axis : int or tuple of int, optional
            Axis or axes of the broadcast inputs along which to reduce. Default: all axes.
        keepdims : bool
            True keeps the reduced axes with length one.
        stream : int or object, optional
            CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
            ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first
            argument on a device. The call is ordered after the work already queued on this stream and on the
            streams of the arrays. The host synchronizes only when a result is returned to host memory. See
            docs/explanation/streams.md.
        device : str or Device, optional
            Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of the
            arrays, or for host arrays the default device (see `set_default_device`).
        as_device : bool, optional
            True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default:
            True if the arrays are on a device and `axis` is given.

        Returns
        -------
        numpy scalar, numpy.ndarray or DeviceArray
            A tuple of these for several outputs.

        Raises
        ------
        CompileError
            If NVRTC rejects an expression; a subclass of ValueError.
        ImportError
            If NVRTC is not installed.
        TypeError
            If the number of arguments is wrong, or a dtype is not that of its parameter.
        ValueError
            If shapes do not broadcast, `axis` or `out` is wrong, or the input is empty and there is no
            identity.
        DeviceError, SimulationError
            If the device does not exist or fails.
        MemoryError
            If the device runs out of memory.
        """
        args, outs = self._split(args, out)
        options = Options(device=device, stream=stream, as_device=as_device)
        inputs = _take_inputs(self._inputs, args, options)
        arrays = [value for value in inputs if isinstance(value, Operand)]
        shape = _broadcast_shape(self.name, arrays)
        axes = rules.reduced_axes(axis, len(shape))
        kept = rules.kept_shape(shape, axes)
        targets = [OutputSpec(one, options, arrays[0], axis, shape, axes, keepdims) for one in outs]
        _join(targets, arrays)
        if not self._expressions.identity and 0 not in kept:
            rules.require_elements(self.name, rules.reduced_count(shape, axes), shape)

        dtypes, out_dtypes = self._resolve(inputs, [_out_dtype(target) for target in targets])
        handles = tuple(
            _broadcast(value, shape).handle if isinstance(value, Operand) else _scalar_bytes(p, value, dtype)
            for p, value, dtype in zip(self._inputs, inputs, dtypes, strict=True)
        )
        scalars = tuple(isinstance(handle, bytes) for handle in handles)
        types = self._types(dtypes, scalars, out_dtypes)
        for target, dtype in zip(targets, out_dtypes, strict=True):
            target.set_dtype(dtype)
            target.wait_for_inputs()
        results: list[np.ndarray | None] = []
        places: list[Any] = []
        for target, dtype in zip(targets, out_dtypes, strict=True):
            results.append(None if target.on_device else np.empty(kept, dtype))
            places.append(target.core_out(dtype) if target.on_device else results[-1])
        kind, index = arrays[0].kind, arrays[0].index
        kernels = self._ready.setdefault((types, kind, index), {})
        source = "memory"
        while missing := _core.custom_run(
            kernels,
            handles,
            types.by_position,
            types.packed,
            self._expressions.counts,
            types.large,
            axes,
            tuple(places),
            targets[0].stream,
        ):
            loaded, source = self._load(types, missing, kind, index)
            kernels |= dict.fromkeys(missing, loaded)
        with _counting:
            self._counts[source] += 1
        stored = tuple(target.store(result) for target, result in zip(targets, results, strict=True))
        return stored if len(stored) > 1 else stored[0]

    def _split(self, args: tuple, out: Any) -> tuple[tuple, tuple]:
        """Return the inputs and the outputs, None for missing ones."""
        input_count, output_count = len(self._inputs), len(self._outs)
        if len(args) == input_count:
            if output_count == 1 or out is None:
                return args, (out,) * output_count
            if not isinstance(out, tuple) or len(out) != output_count:
                got = f"{len(out)} in a tuple" if isinstance(out, tuple) else type(out).__name__
                raise TypeError(f"out: expected a tuple of {output_count} arrays, got {got}")
            return args, out
        if len(args) != input_count + output_count:
            names = ", ".join(parameter.name for parameter in self._inputs)
            raise TypeError(f"{self.name}: expected {input_count} arguments ({names}), got {len(args)}")
        if out is not None:
            raise ValueError("out: the output was already passed as an argument")
        return args[:input_count], args[input_count:]

    def _resolve(
        self, inputs: list[Any], out_dtypes: list[np.dtype | None]
    ) -> tuple[list[np.dtype], list[np.dtype]]:
        """Return the dtypes of the inputs and of the outputs, or raise TypeError."""
        letters: dict[str, np.dtype] = {}
        known = [(p, dtype) for p, dtype in zip(self._outs, out_dtypes, strict=True) if dtype is not None]
        known += [
            (p, value.dtype)
            for p, value in zip(self._inputs, inputs, strict=True)
            if isinstance(value, Operand)
        ]
        for p, dtype in known:
            if p.is_letter:
                expected = letters.setdefault(p.type, dtype)
                if dtype != expected:
                    raise TypeError(f"{self.name}: {p.name} has dtype {dtype}, but {p.type} is {expected}")
            elif dtype.name != p.type:
                raise TypeError(f"{self.name}: {p.name} has dtype {dtype}; expected {p.type}")
        for p, value in zip(self._inputs, inputs, strict=True):
            if p.is_letter and p.type not in letters:
                letters[p.type] = _scalar_dtype(p, value)
        for p in self._outs:
            if p.is_letter and p.type not in letters:
                raise TypeError(f"{self.name}: no argument determines {p.type}, the type of the output")
        inputs, outs = (
            [letters.get(p.type) or dtype_from_name(p.type) for p in declared]
            for declared in (self._inputs, self._outs)
        )
        return inputs, outs

    def _types(self, dtypes: list[np.dtype], scalars: tuple[bool, ...], outs: list[np.dtype]) -> Types:
        names, results = (tuple(dtype.name for dtype in some) for some in (dtypes, outs))
        letters = dict(zip([p.type for p in (*self._inputs, *self._outs)], names + results, strict=True))
        reduced, _ = self._expressions.reduced(letters, results[0])
        # Shared memory of a block that reduces columns of small elements does not fit eight large values per
        # thread.
        fits = reduced in _SMALL_VALUES or dtypes[0].itemsize >= _LARGE_ELEMENT
        return Types(
            names, scalars, results, packed=scalars == (False,) and fits, large=reduced not in SUPPORTED
        )

    def _load(self, types: Types, kernels: list[str], kind: int, index: int) -> tuple[object, str]:
        """Load the kernels for these types on a device; return them and where they were found."""
        names = sorted(set(kernels))
        program = source(self.name, self._inputs, self._outs, self._expressions, types, names)
        try:
            return _loaded(self.name, program, self._arguments["options"], kind, index)
        except nvrtc.CompileError as error:
            raise nvrtc.CompileError(f"{error}\nin {self!r}", error.log, error.source) from None


# Loaded kernels of all ReductionKernels, the oldest first.
_KEPT = 256
_kernels: dict[tuple, object] = {}
_lock = threading.Lock()  # held while a kernel is compiled
_counting = threading.Lock()


def _renew_locks() -> None:
    global _lock, _counting
    _lock, _counting = threading.Lock(), threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)  # another thread of the parent may have held them


def _loaded(name: str, program: str, options: tuple[str, ...], kind: int, index: int) -> tuple[object, str]:
    """Return kernels on a device, and where they were found, as a field of CacheInfo."""
    prepared = nvrtc.prepared(name, program, options)
    key = (prepared.key, kind, index)
    with _lock:
        if key in _kernels:
            return _kernels[key], "memory"
        ptx, kept = prepared.compile()
        kernels = _core.custom_load(name, ptx, kind, index)
        if prepared.key is None:
            return kernels, "compiled"
        _kernels[key] = kernels
        if len(_kernels) > _KEPT:
            del _kernels[next(iter(_kernels))]
    return kernels, "disk" if kept else "compiled"


# Inputs


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def _take_inputs(declared: tuple[Parameter, ...], args: tuple, options: Options) -> list[Any]:
    """Convert arrays to operands; scalars are unchanged. There is at least one array."""
    if all(map(_is_scalar, args)):
        args = (np.asarray(args[0]), *args[1:])
    inputs: list[Any] = []
    common, device = None, options.device
    for parameter, value in zip(declared, args, strict=True):
        if not _is_scalar(value):
            value = as_operand(value, device, parameter.name)
            here = (value.view is None, value.kind, value.index)
            if common is None:
                common = here
                device = devices.device_name(value.kind, value.index)
            elif here != common:
                raise TypeError(
                    f"{parameter.name}: must be on the device of the other arrays, or in host memory"
                )
        inputs.append(value)
    return inputs


def _scalar_dtype(parameter: Parameter, value: Any) -> np.dtype:
    dtype = np.asarray(value).dtype
    return native(dtype, parameter.name)


def _scalar_bytes(parameter: Parameter, value: Any, dtype: np.dtype) -> bytes:
    have = _scalar_dtype(parameter, value)
    if _KINDS[have.kind] > _KINDS[dtype.kind]:
        raise TypeError(f"{parameter.name}: cannot convert {value!r} to {dtype}")
    if have.kind in "ui" and dtype.kind in "ui":
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"{parameter.name}: {value!r} does not fit {dtype}")
    return np.asarray(value).astype(dtype).tobytes()


def _broadcast_shape(name: str, arrays: list[Operand]) -> tuple[int, ...]:
    shapes = [operand.shape for operand in arrays]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"{name}: shapes {', '.join(map(str, shapes))} do not broadcast") from None
    if math.prod(shape) > _MOST_ELEMENTS:
        raise ValueError(f"{name}: an array of shape {shape} is too large")
    return shape


def _broadcast(operand: Operand, shape: tuple[int, ...]) -> Operand:
    if operand.shape == shape:
        return operand
    if operand.view is not None:
        strides = rules.broadcast_strides(operand.shape, operand.handle[2], shape)
        return operand.with_strides(shape, strides)
    return replace(operand, handle=np.broadcast_to(operand.handle, shape), shape=shape)


def _join(targets: list[OutputSpec], arrays: list[Operand]) -> None:
    """Place all outputs on one device and one stream, ordered after all inputs."""
    first, *others = targets
    first.reads = arrays
    for other in others:
        if other.on_device != first.on_device:
            raise ValueError("out: expected all outputs on the device, or none")
        other.reads = []
        other.stream, other.stream_owner = first.stream, first.stream_owner
    places = [target.view._pointer for target in targets if target.view is not None and target.view._pointer]
    if len(set(places)) < len(places):
        raise ValueError("out: two outputs share memory")


def _out_dtype(target: OutputSpec) -> np.dtype | None:
    if target.out is None:
        return None
    dtype = target.host_out.dtype if target.host_out is not None else target.view.dtype
    return native(dtype, "out")
