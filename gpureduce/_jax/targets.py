"""Registers the custom call targets of csrc/jax in JAX, and calls them with the workspace they require."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._jax import jax
from gpureduce._rules import arguments as rules
from gpureduce._rules.dtypes import dtype_name, is_supported

Shape = tuple[int, ...]
Attribute = str | int | np.ndarray


@functools.cache
def _targets() -> dict[str, str]:
    """Register the targets; return their names in JAX.

    The backend must exist: a version of XLA that refuses the handlers would otherwise fail to start.
    """
    jax.devices()
    names = {}
    for name, on_host, on_cuda in _core.jax_targets():
        jax.ffi.register_ffi_target(name, on_host, platform="cpu")
        jax.ffi.register_ffi_target(name, on_cuda, platform="CUDA")
        names[name.split("_")[1]] = name
    return names


@functools.cache
def _cuda_devices() -> tuple[int, ...]:
    """Return the indices of JAX's GPUs, one of each model, as plans depend on the model alone."""
    try:
        devices = jax.local_devices(backend="cuda")
    except RuntimeError:
        return ()
    first: dict[str, int] = {}
    for device in devices:
        first.setdefault(device.device_kind, device.local_hardware_id)
    return tuple(first.values())


@functools.lru_cache(maxsize=1024)
def _workspace(target: str, operands: Any, results: Any, attributes: tuple) -> int:
    """Return the bytes of workspace that a call requires on any of JAX's devices.

    The simulator allocates its own workspace.
    """
    named = {
        name: np.frombuffer(value, dtype) if isinstance(value, bytes) else value
        for name, value, dtype in attributes
    }
    indices = _cuda_devices()
    places = [(_core.CUDA, index) for index in indices] or [(_core.SIM, 0)]
    return max(_core.jax_workspace(target, *place, operands, results, named) for place in places)


def _key(name: str, value: Attribute) -> tuple[str, str | bytes, str]:
    if isinstance(value, str):
        return name, value, ""
    array = np.asarray(value, np.int64) if isinstance(value, int) else value
    return name, array.tobytes(), array.dtype.str


def _described(arrays: Sequence[Any]) -> tuple[tuple[str, Shape], ...]:
    return tuple((dtype_name(np.dtype(array.dtype)), tuple(array.shape)) for array in arrays)


def call(
    target: str, operands: Sequence[Any], results: Sequence[Any], **attributes: Attribute
) -> tuple[Any, ...]:
    """Call a target on arrays; `results` are their shapes and dtypes (`jax.ShapeDtypeStruct`)."""
    for array in operands:
        if not all(isinstance(length, int) for length in array.shape):
            raise TypeError(f"expected a shape of numbers, which plans depend on, got {array.shape}")
    name = _targets()[target]
    keys = tuple(_key(*item) for item in attributes.items())
    size = _workspace(target, _described(operands), _described(results), keys)
    workspace = jax.ShapeDtypeStruct((max(size, 1),), np.uint8)
    *arrays, _ = jax.ffi.ffi_call(name, (*results, workspace))(*operands, **attributes)
    return tuple(arrays)


def is_accepted(
    target: str, operands: Sequence[Any], results: Sequence[Any], **attributes: Attribute
) -> bool:
    """Return whether the kernels take a call, whose workspace is limited."""
    keys = tuple(_key(*item) for item in attributes.items())
    try:
        _workspace(target, _described(operands), _described(results), keys)
    except ValueError:
        return False
    return True


def has_64_bits() -> bool:
    """Return whether JAX has 64-bit integers now (jax_enable_x64)."""
    return jax.dtypes.canonicalize_dtype(np.int64) == np.int64


def integers(shape: Shape, dtype: np.dtype) -> Any:
    """Describe a result of 64-bit integers: as such or, where JAX has none, as pairs of 32-bit halves."""
    if has_64_bits():
        return jax.ShapeDtypeStruct(shape, dtype)
    return jax.ShapeDtypeStruct((*shape, 2), f"{dtype.kind}4")


def low_words(result: Any, shape: Shape) -> Any:
    """Return a result that `integers` describes, modulo 2^32 if JAX has no 64-bit integers."""
    return result if result.shape == shape else result[..., 0]


@functools.cache
def _is_supported(dtype: Any) -> bool:
    return is_supported(np.dtype(dtype))


def as_array(value: Any, name: str) -> Any:
    """Return a JAX array of a dtype that the kernels have."""
    array = value
    if not isinstance(value, jax.Array):
        if isinstance(value, (str, bytes)) or value is None:
            raise TypeError(f"{name}: expected an array, got {type(value).__name__}")
        array = jax.numpy.asarray(value)
    if not _is_supported(array.dtype):
        raise TypeError(f"{name}: unsupported dtype {array.dtype}")
    return array


def as_float(x: Any) -> Any:
    """Return an array of floating-point numbers: integers in JAX's default dtype."""
    return x if jax.numpy.issubdtype(x.dtype, np.inexact) else x.astype(jax.numpy.result_type(float))


def float_dtype(x: Any) -> Any:
    """Return the dtype that JAX's means of an array have: of short integers it may be float32 with x64."""
    if jax.numpy.issubdtype(x.dtype, np.inexact):
        return x.dtype
    return jax.eval_shape(jax.numpy.mean, jax.ShapeDtypeStruct((1,), x.dtype)).dtype


def require_elements(op: str, x: Any, axes: tuple[int, ...]) -> None:
    """Raise a ValueError if a result would have no elements. Without results only extremes need some."""
    some_results = 0 not in rules.kept_shape(x.shape, axes) or op in ("max", "min", "argmax", "argmin")
    if some_results and any(x.shape[axis] == 0 for axis in axes):
        raise ValueError(f"a: {op} of no elements, of shape {x.shape}")
