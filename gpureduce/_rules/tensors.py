"""PyTorch tensors: access to their memory, and notes of writes to it. Nothing imports PyTorch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._rules import dtypes


def is_tensor(a: object) -> bool:
    """Return whether an object is a tensor of PyTorch."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return kind is not None and isinstance(a, kind)


def resolved(tensor: Any, name: str) -> Any:
    """Return a tensor whose memory holds its elements: lazy conjugates and negatives are computed.

    TypeError for a tensor without such memory, BufferError for one that requires a gradient.
    """
    if tensor.is_nested or "strided" not in str(tensor.layout):
        kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        raise TypeError(f"{name}: expected a dense tensor, got one of layout {kind}")
    if not _has_memory(tensor):
        hint = f"; pass {name}.to_local()" if hasattr(tensor, "to_local") else ""
        raise TypeError(
            f"{name}: a {type(tensor).__name__} on device {tensor.device} has no memory that holds its "
            f"elements{hint}"
        )
    if tensor.requires_grad:
        raise BufferError(
            f"{name}: a tensor that requires grad; pass tensor.detach(), or call gpureduce.torch"
        )
    return tensor.resolve_conj().resolve_neg()


def _has_memory(tensor: Any) -> bool:
    """Return whether a tensor's memory holds its elements.

    False for subclasses with their own operations (DTensor, FakeTensor, an unfinished collective), for
    tensors on the device "meta", and inside `torch.vmap`.
    """
    plain = getattr(sys.modules["torch"].Tensor, "__torch_dispatch__", None)
    if tensor.device.type == "meta" or getattr(type(tensor), "__torch_dispatch__", None) is not plain:
        return False
    try:
        return tensor.data_ptr() != 0 or tensor.numel() == 0
    except RuntimeError:
        return False


def host_array(tensor: Any, name: str) -> np.ndarray:
    """Return a NumPy array that shares the memory of a CPU tensor without lazy bits."""
    tensor = resolved(tensor, name)
    if tensor.device.type != "cpu":
        raise TypeError(f"{name}: expected a host array, got a tensor on device {tensor.device}")
    dtype = dtypes.dtype_of(tensor.dtype, name)
    if dtype.name == "bfloat16":  # NumPy's bfloat16 is unknown to PyTorch
        return tensor.view(sys.modules["torch"].int16).numpy().view(dtype)
    return tensor.numpy()


def require_writable(out: Any) -> None:
    """Raise ValueError for a tensor ``out=`` whose memory does not hold its elements."""
    for is_lazy, kind in ((out.is_conj(), "conjugate"), (out.is_neg(), "negative")):
        if is_lazy:
            raise ValueError(f"out: the tensor is a lazy {kind}, which cannot be written")


def mark_written(out: object) -> None:
    """Tell PyTorch's autograd that a tensor was written: a backward pass that has saved it then raises."""
    if is_tensor(out):
        increment = getattr(sys.modules["torch"].autograd.graph, "increment_version", None)
        if increment is not None:  # PyTorch before 2.1 has none
            increment(out)


_core.on_written(mark_written)
