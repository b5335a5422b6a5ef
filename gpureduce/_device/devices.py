"""Devices: their list, and what `device=` means."""

from __future__ import annotations

import atexit
import functools
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from gpureduce import _core
from gpureduce._device.ptx import KERNEL_DIR
from gpureduce._rules.arguments import caller_stacklevel

_core.open_registry(KERNEL_DIR)

# How CUDA, DLPack and the CUDA array interface number the legacy default stream, in which our work runs.
LEGACY_STREAM = 1


def free_memory() -> None:
    """Release the memory, streams and threads that devices keep from call to call.

    They come back with the next call that needs them. Calls that run meanwhile keep theirs. The same is done
    when the interpreter ends.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.free_memory()
    >>> gpureduce.sum([1, 2, 3], device="sim")
    np.int64(6)
    """
    _core.free_memory()


@atexit.register
def _free_at_exit(process: int = os.getpid(), free: Callable[[], None] = _core.free_memory) -> None:
    if os.getpid() == process:  # what a forked child has copied is its parent's
        free()


# A fork waits until no thread holds a lock of the core, as the child has no thread that would release it. A
# signal handler of Python's cannot interrupt these hooks, which are C functions.
_release_locks = functools.partial(_core.lock_for_fork, False)
os.register_at_fork(
    before=functools.partial(_core.lock_for_fork, True),
    after_in_parent=_release_locks,
    after_in_child=_release_locks,
)


class SimulatorWarning(UserWarning):
    """No CUDA device was found and none was asked for, so the simulator runs the kernels.

    Examples
    --------
    >>> import warnings, gpureduce
    >>> warnings.simplefilter("ignore", gpureduce.SimulatorWarning)
    >>> gpureduce.sum([1, 2, 3])
    np.int64(6)
    """


@dataclass(frozen=True)
class Device:
    """A device that can run the kernels.

    Attributes
    ----------
    kind : str
        ``"cuda"`` or ``"sim"``.
    index : int
        The number of the CUDA device; 0 for the simulator.
    name : str
        What the driver calls it.
    compute_capability : tuple of int
        Major and minor; ``(0, 0)`` for the simulator.
    multiprocessors : int
        Their number; for the simulator the one of the device whose launch plan it follows.
    memory_bytes : int
        The whole of its memory, in bytes.
    driver_version : int
        CUDA version of the driver, 13000 for 13.0; 0 for the simulator.
    memory_bytes_per_second : int
        The peak of its memory, by its clock and the width of its bus; 0 for the simulator.

    Examples
    --------
    >>> import gpureduce
    >>> device = gpureduce.devices()[-1]
    >>> device.kind, device.compute_capability, str(device)
    ('sim', (0, 0), 'sim')
    >>> gpureduce.sum([1, 2, 3], device=device)
    np.int64(6)
    """

    kind: str
    index: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    driver_version: int
    memory_bytes_per_second: int

    def __str__(self) -> str:
        return text(_core.SIM if self.kind == "sim" else _core.CUDA, self.index)


def devices() -> tuple[Device, ...]:
    """Return the devices of this machine: CUDA devices by number, then the simulator.

    Returns
    -------
    tuple of Device

    Raises
    ------
    DeviceError
        When the CUDA driver fails while it is asked.

    Examples
    --------
    >>> import gpureduce
    >>> [str(device) for device in gpureduce.devices()][-1]
    'sim'
    """
    return tuple(Device(*row) for row in _core.devices())


# Where calls without device= go, once that is known.
default: tuple[int, int] | None = None
_not_warned = [True]  # popped by the thread that warns


def _find_default() -> tuple[int, int]:
    global default
    if default is not None:
        return default
    problem = _core.cuda_problem()
    found = (_core.SIM, 0) if problem is not None else (_core.CUDA, 0)
    if problem is not None and _pop(_not_warned):
        try:
            warnings.warn(
                f"no CUDA device ({problem}); kernels run on the simulator. Pass device='sim' to say so.",
                SimulatorWarning,
                stacklevel=caller_stacklevel(),
            )
        except BaseException:  # warnings are errors here, and the next call has to get it, too
            _not_warned.append(True)
            raise
    _core.default_device(*found)
    default = found
    return found


def _pop(values: list[bool]) -> bool:
    """Return whether there was an element, which one of several threads gets."""
    try:
        return values.pop()
    except IndexError:
        return False


def resolve(device: str | Device | None) -> tuple[int, int]:
    """Return the kind and index, for the core, of what a user passed as ``device=``."""
    if device is None:
        return default or _find_default()
    if isinstance(device, Device):
        device = str(device)
    if not isinstance(device, str):
        raise TypeError(f"device: expected str, Device or None, got {type(device).__name__}")
    if device == "sim":
        return (_core.SIM, 0)
    match = re.fullmatch(r"cuda(?::([0-9]{1,9}))?|sim:([1-9][0-9]{0,8})", device)
    if match is None:
        raise ValueError(f"device: unknown device {device!r}; expected 'cuda', 'cuda:<number>' or 'sim'")
    return (_core.SIM, int(match[2])) if match[2] else (_core.CUDA, int(match[1] or 0))


def text(kind: int, index: int) -> str:
    """Return what ``device=`` takes for a device that the core numbers so."""
    if kind == _core.SIM:
        return f"sim:{index}" if index else "sim"
    return f"cuda:{index}"


def record(device: str | Device | None) -> Device:
    """Return the device that ``device=`` means."""
    if isinstance(device, Device):
        return device
    wanted = text(*resolve(device))
    for found in devices():
        if str(found) == wanted:
            return found
    raise _core.DeviceError(f"{wanted}: no such device; there are {', '.join(map(str, devices()))}")
