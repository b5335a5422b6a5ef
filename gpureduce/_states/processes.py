"""States of several processes, merged in all of them."""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

from gpureduce._states.state import State


def allreduce(state: State, comm: Any) -> State:
    """Merge the states of all processes of a communicator; each gets the same one.

    Parameters
    ----------
    state : State
        That of this process, which stays as it is.
    comm : communicator
        One of mpi4py, a process group of ``torch.distributed`` (gloo or NCCL) or that module itself for the
        default group, or whatever has mpi4py's ``allgather(object)``.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        In every process, where states are of different reductions.

    Notes
    -----
    Every process of the communicator has to call it, as any collective operation. States travel as their
    bytes, and are merged in the order of the processes.

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
    """Return what all processes have given, by their number."""
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
