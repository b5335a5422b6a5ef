"""States of several processes: `allreduce`, and Dask arrays, with one state per chunk."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gpureduce._rules import arguments as rules
from gpureduce._states.build import partial
from gpureduce._states.operators import POSITION_OPS
from gpureduce._states.state import State


def allreduce(state: State, comm: Any) -> State:
    """Merge the states of all processes of a communicator; every process gets the merged state.

    Parameters
    ----------
    state : State
        State of this process, which is not modified.
    comm : communicator
        An mpi4py communicator, a process group of ``torch.distributed`` (gloo or NCCL), the module
        ``torch.distributed`` itself for the default group, or any object with a method ``allgather(object)``
        like mpi4py's.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        If the states cannot be merged: they are of different reductions; in every process.

    Notes
    -----
    This is a collective operation: every process of the communicator must call it. Processes exchange the
    bytes of their states, and merge them in the order of the ranks.

    Examples
    --------
    >>> import gpureduce
    >>> class Alone:  # mpi4py.MPI.COMM_WORLD in a program with processes
    ...     def allgather(self, mine):
    ...         return [mine]
    >>> state = gpureduce.partial([1, 2, 3], "sum", device="sim")
    >>> gpureduce.allreduce(state, Alone()).result()
    np.int64(6)
    """
    if not isinstance(state, State):
        raise TypeError(f"state: expected a State, got {type(state).__name__}")
    parts = _gather(state.to_bytes(), comm)
    return functools.reduce(operator.iadd, map(State.from_bytes, parts))


def _gather(mine: bytes, comm: Any) -> list[bytes]:
    """Return the bytes of all processes, in the order of their ranks."""
    torch = sys.modules.get("torch")
    if torch is not None:
        distributed = torch.distributed
        group = None if comm is distributed else comm
        if comm is distributed or isinstance(comm, distributed.ProcessGroup):
            parts: list[Any] = [None] * distributed.get_world_size(group)
            distributed.all_gather_object(parts, mine, group=group)
            return parts
    gather = getattr(comm, "allgather", None)
    if not callable(gather):
        raise TypeError(
            "comm: expected a communicator of mpi4py or a process group of torch.distributed, got "
            f"{type(comm).__name__}"
        )
    return gather(mine)


# Dask


def reduce_dask(
    op: str,
    a: Any,
    axis: Any,
    keepdims: bool,
    split_every: Any,
    b: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    device: Any = None,
) -> Any:
    """Return the reduction of a Dask array: a state per chunk, merged in a tree."""
    import dask.array as da

    keepdims, split_every = rules.flag(keepdims, "keepdims"), _split(split_every)
    options = {"dtype": dtype, "device": None if device is None else str(device)}
    result_args = {"ddof": ddof} if op in ("var", "std") else {}
    if not (isinstance(a, da.Array) or isinstance(b, da.Array)):
        return partial(a, op, axis, b=b, keepdims=keepdims, **options).result(**result_args)
    for each, name in ((a, "a"), (b, "b")):
        rules.reject_parts(each, name)
    a = da.asanyarray(a)
    axes = rules.single_axis(axis, a.ndim) if op in POSITION_OPS else rules.reduced_axes(axis, a.ndim)
    arrays = [a]
    if b is not None:
        b = da.asanyarray(b)
        if a.ndim != 1 or a.shape != b.shape:
            raise ValueError(f"dot: expected two vectors of one length, got shapes {a.shape} and {b.shape}")
        arrays = [a, b.rechunk(a.chunks)]
    if op in POSITION_OPS and _is_unknown(a, axes):
        raise ValueError(f"{op}: positions need the lengths of chunks; call compute_chunk_sizes() before")
    if a.ndim == 0:  # Dask converts the elements of a 0-d array of states
        a, axis, axes, keepdims = a.reshape(1), None, (0,), False
        arrays = [a]
    # The state of no elements has the dtype and raises the errors of the chunks' states; it needs no device.
    first, *others = [np.empty((0,) * each.ndim, each.dtype) for each in arrays]
    whole = partial(first, op, axis, b=others[0] if others else None, dtype=dtype, device="sim")
    parts = da.map_blocks(
        _part_with_location if op in POSITION_OPS else _part,
        *arrays,
        op=op,
        axis=axis if axis is None else axes,
        options=options,
        dtype=object,
        meta=np.empty((0,) * a.ndim, object),
        token=f"gpureduce-{op}-part",  # as what progress bars and dashboards show them
    )
    return da.reduction(
        parts,
        _same,
        functools.partial(_finish, result_args=result_args),
        axis=axes,
        keepdims=keepdims,
        dtype=whole.dtype,
        split_every=_within(split_every, parts.npartitions),
        combine=_merge,
        name=f"gpureduce-{op}",
        concatenate=False,
        meta=np.empty((0,) * (a.ndim if keepdims else a.ndim - len(axes)), whole.dtype),
    )


def _split(split_every: Any) -> Any:
    """Return ``split_every=`` as an int, a dict of them or None; TypeError and ValueError name it."""
    if split_every is None or isinstance(split_every, Mapping):
        return (
            None
            if split_every is None
            else {rules.integer(key, "split_every"): _split(split_every[key]) for key in split_every}
        )
    number = rules.integer(split_every, "split_every", "an integer, a mapping of axes to integers or None")
    if number < 2:
        raise ValueError(f"split_every: expected 2 or more, got {number}")
    return number


def _within(split_every: Any, parts: int) -> Any:
    """Return ``split_every=`` limited to the number of parts: Dask makes lists of that length."""
    if isinstance(split_every, dict):
        return {axis: _within(number, parts) for axis, number in split_every.items()}
    return split_every if split_every is None else min(split_every, max(parts, 2))


def _is_unknown(a: Any, axes: tuple[int, ...]) -> bool:
    """Return whether a chunk has an unknown length along one of the axes."""
    return any(math.isnan(length) for axis in axes for length in a.chunks[axis])


# In the workers of Dask


def _part(
    block: Any, other: Any = None, *, op: str, axis: Any, options: dict[str, Any], **more: Any
) -> State:
    """Return the state of a chunk; an empty one needs no device."""
    if block.size == 0:
        options = {**options, "device": "sim"}
        block = np.empty(block.shape, block.dtype)
        other = None if other is None else np.empty(other.shape, other.dtype)
    return partial(block, op, axis, b=other, keepdims=True, **options, **more)


def _part_with_location(block: Any, *, block_info: Any, op: str, axis: Any, options: dict[str, Any]) -> State:
    """Return the state of a chunk with its location in the whole array."""
    location = block_info[0]
    starts = tuple(start for start, _ in location["array-location"])
    if axis is None:
        return _part(block, op=op, axis=None, options=options, offset=starts, within=location["shape"])
    return _part(block, op=op, axis=axis[0], options=options, offset=starts[axis[0]])


def _same(parts: Any, axis: Any = None, keepdims: Any = None) -> Any:
    return parts


def _flat(parts: Any) -> Iterator[State]:
    if isinstance(parts, list):
        for part in parts:
            yield from _flat(part)
    else:
        yield parts


def _merge(parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False) -> Any:
    """Return the merge of states in nested lists, which are not modified, since Dask may use them again."""
    if computing_meta or isinstance(parts, np.ndarray):
        return parts
    first, *others = _flat(parts)
    return functools.reduce(operator.iadd, others[1:], first + others[0]) if others else first


def _finish(
    parts: Any,
    axis: Any = None,
    keepdims: bool = False,
    result_args: Any = None,
    computing_meta: bool = False,
) -> Any:
    """Return the result of all states."""
    if computing_meta or isinstance(parts, np.ndarray):
        return parts
    result = np.asarray(_merge(parts).result(**result_args))
    return (result if keepdims else np.squeeze(result, axis))[()]
