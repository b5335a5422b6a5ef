"""clip_grad_norm_: the exact norm of all gradients, and their scaling, without waiting for the GPU."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from gpureduce import _core
from gpureduce._multi.lists import STATE_WORDS, reduce_list
from gpureduce._rules import tensors as marks
from gpureduce._torch import torch
from gpureduce._torch.kernels import NAMES, current_stream, view_of

_EPS = 1e-6  # as in PyTorch
_DTYPE = operator.attrgetter("dtype")
_OPS = {1.0: "norm1", 2.0: "norm2", math.inf: "max"}


def clip_grad_norm_(
    parameters: torch.Tensor | Iterable[torch.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> torch.Tensor:
    """Scale gradients so that their total norm is at most `max_norm`, and return the norm before.

    Parameters
    ----------
    parameters : torch.Tensor or iterable of torch.Tensor
        Parameters whose gradients are scaled in place. Those without a gradient are left out.
    max_norm : float
        Largest norm of all gradients together.
    norm_type : {1, 2, inf}
        Order of the norm, as for `gpureduce.multi.total_norm`.
    error_if_nonfinite : bool
        True raises RuntimeError if the norm is infinite or NaN, for which the call waits for the GPU.
    foreach : bool, optional
        Accepted for compatibility with PyTorch, without effect.

    Returns
    -------
    torch.Tensor
        The norm, on the device of the first gradient: float64 if any gradient is, else float32.

    Raises
    ------
    NotImplementedError
        If a gradient is a DTensor whose placement is a partial sum, or `norm_type` is 1 and gradients are
        on several devices or processes.

    Notes
    -----
    The norm is exact and rounded once, so that its bits depend neither on the order of the parameters nor on
    how DTensors are sharded. Gradients are multiplied by ``min(max_norm / (norm + 1e-6), 1)``; if this
    factor is 1, they are neither read again nor written. The call does not synchronize, and can be captured
    into a CUDA graph. PyTorch clips gradients on the CPU.

    Gradients that are DTensors, as those of FSDP2, are added up in the process group of each dimension of
    their mesh along which they are sharded, as integers. All of its processes must call the function.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> gpureduce.torch.clip_grad_norm_([p], max_norm=10.0)
    tensor(5.)
    """
    try:
        items = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        gradients = [gradient for p in items if (gradient := p.grad) is not None]
    except (AttributeError, TypeError):
        raise TypeError("parameters: expected a tensor, or an iterable of tensors") from None
    if not gradients:
        return torch.tensor(0.0)
    try:
        op = _OPS[float(norm_type)]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"norm_type: expected 1, 2 or inf, got {norm_type!r}") from None
    if all(gradient.device.type == "cpu" for gradient in gradients):
        return torch.nn.utils.clip_grad_norm_(items, max_norm, norm_type, error_if_nonfinite, foreach)
    with torch.no_grad():
        return _clip(gradients, op, float(max_norm), error_if_nonfinite)


def _clip(gradients: list[Any], op: str, max_norm: float, error_if_nonfinite: bool) -> torch.Tensor:
    if set(map(type, gradients)) == {torch.Tensor}:
        norm = _clip_on_one_device(gradients, op, max_norm, error_if_nonfinite)
        if norm is not None:
            return norm
    shards = _Shards(gradients)
    dtype = torch.float64 if torch.float64 in map(_DTYPE, shards.local) else torch.float32
    norm = shards.total_norm(op, dtype)
    if error_if_nonfinite:
        _check_finite(norm)
    for tensors in _by_device(shards.local):
        _scale(tensors, norm.to(tensors[0].device), max_norm)
    return norm


def _check_finite(norm: torch.Tensor) -> None:
    if not math.isfinite(norm.item()):
        raise RuntimeError(
            f"the total norm of the gradients is {norm.item()}, so they cannot be clipped; pass "
            "error_if_nonfinite=False to scale them nevertheless"
        )


def _clip_on_one_device(
    gradients: list[torch.Tensor], op: str, max_norm: float, error_if_nonfinite: bool
) -> torch.Tensor | None:
    """Clip gradients that the core can describe, which it does once; None if it cannot.

    Nothing else is asked of each gradient, because that would take more host time than the rest.
    """
    try:
        known = _core.multi_list(gradients, False)
    except ValueError:  # they are on several devices
        return None
    if known is NotImplemented:
        return None
    dtype = torch.float64 if _core.multi_dtype(known) == "float64" else torch.float32
    norm = torch.empty((), dtype=dtype, device=gradients[0].device)
    view, stream = view_of(norm, NAMES[dtype]), current_stream(norm.get_device())
    _core.multi(known, op, dtype=NAMES[dtype], stream=stream, out=view)
    if error_if_nonfinite:
        _check_finite(norm)
    _core.multi(known, "scale", norm=view, max_norm=max_norm, eps=_EPS, stream=stream)
    _mark_written(gradients)
    return norm


class _Shards:
    """The local tensors of gradients, by the process groups over which they are sharded."""

    def __init__(self, gradients: list[Any]) -> None:
        self.local: list[torch.Tensor] = []
        self.groups: dict[tuple[Any, ...], list[torch.Tensor]] = {}
        for gradient in gradients:
            tensor, groups = gradient, ()
            if hasattr(gradient, "to_local"):
                tensor, groups = gradient.to_local(), _process_groups(gradient)
            self.local.append(tensor)
            self.groups.setdefault((tensor.device, *groups), []).append(tensor)

    def total_norm(self, op: str, dtype: torch.dtype) -> torch.Tensor:
        device = self.local[0].device
        if list(self.groups) == [(device,)]:
            return _reduced(op, self.local, torch.empty((), dtype=dtype, device=device))
        if op == "norm1":
            raise NotImplementedError("norm_type: 1 is not supported for gradients on several devices")
        parts = []
        for (_, *groups), tensors in self.groups.items():
            part = _reduced(op, tensors, _part(op, dtype, tensors[0].device))
            for group in groups:
                torch.distributed.all_reduce(part, _merge_op(op), group)
            parts.append(part.to(device))
        if op == "max":
            return torch.stack(parts).amax(0)
        return _reduced("norm2_state", [torch.stack(parts)], torch.empty((), dtype=dtype, device=device))


def _part(op: str, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return memory for what the gradients of a process group add to the norm."""
    if op == "max":
        return torch.empty((), dtype=dtype, device=device)
    return torch.empty(STATE_WORDS, dtype=torch.int64, device=device)


def _merge_op(op: str) -> Any:
    operators = torch.distributed.ReduceOp
    return operators.MAX if op == "max" else operators.SUM


def _process_groups(gradient: Any) -> tuple[Any, ...]:
    """Return the process groups that have the other shards of a DTensor, by dimension of its mesh."""
    mesh = gradient.device_mesh
    if any(placement.is_partial() for placement in gradient.placements):
        raise NotImplementedError(
            "parameters: a gradient is a DTensor of partial sums; redistribute it to shards or replicas first"
        )
    return tuple(
        mesh.get_group(dimension)
        for dimension, placement in enumerate(gradient.placements)
        if not placement.is_replicate()
    )


def _reduced(op: str, tensors: list[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
    """Reduce tensors on a GPU on PyTorch's current stream, and write the result to `out`."""
    of_states = "squares" if op == "norm2" and out.dtype == torch.int64 else op
    name = None if out.dtype == torch.int64 else NAMES[out.dtype]
    stream = current_stream(out.get_device())
    reduce_list(of_states, tuple(tensors), None, stream, dtype=name, out=view_of(out, NAMES[out.dtype]))
    return out


def _by_device(tensors: list[torch.Tensor]) -> list[list[torch.Tensor]]:
    devices: dict[torch.device, list[torch.Tensor]] = {}
    for tensor in tensors:
        devices.setdefault(tensor.device, []).append(tensor)
    return list(devices.values())


def _scale(tensors: list[torch.Tensor], norm: torch.Tensor, max_norm: float) -> None:
    """Multiply tensors on a GPU by min(max_norm / (norm + eps), 1), in place."""
    stream = current_stream(norm.get_device())
    options = {"norm": view_of(norm, NAMES[norm.dtype]), "max_norm": max_norm, "eps": _EPS}
    try:
        reduce_list("scale", tuple(tensors), None, stream, **options)
    except ValueError:  # an array with gaps between its elements
        factor = torch.clamp(max_norm / (norm + _EPS), max=1.0)
        torch._foreach_mul_(tensors, factor)
        return
    _mark_written(tensors)


def _mark_written(tensors: list[torch.Tensor]) -> None:
    """Tell autograd that tensors were written."""
    try:
        torch.autograd.graph.increment_version(tensors)  # a list: PyTorch 2.7 and later
    except (AttributeError, TypeError):
        for tensor in tensors:
            marks.mark_written(tensor)
