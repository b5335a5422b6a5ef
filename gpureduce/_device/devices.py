"""Devices: their list, the default device, and the argument `device=`."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gpureduce import _core
from gpureduce._device.ptx import KERNEL_DIR
from gpureduce._rules.arguments import caller_stacklevel

_core.open_registry(KERNEL_DIR)

# The legacy default stream of CUDA, DLPack and the CUDA array interface, on which our work runs.
LEGACY_STREAM = 1


def free_memory() -> None:
    """Release the memory, streams and threads that are kept between calls.

    The next call that needs them creates them anew. Calls that are running keep theirs. The interpreter does
    the same when it exits.

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
    """Warning that no CUDA device was found and no device was given, so that the simulator runs the kernels.

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
        Number of the CUDA device; 0 for the simulator.
    name : str
        Name, as the driver reports it.
    compute_capability : tuple of int
        Major and minor; ``(0, 0)`` for the simulator.
    multiprocessors : int
        Number of streaming multiprocessors; for the simulator, of the GPU whose launch configurations it
        uses.
    memory_bytes : int
        Size of its memory in bytes.
    driver_version : int
        Latest CUDA version that the driver supports, 13000 for 13.0; 0 for the simulator.
    memory_bytes_per_second : int
        Peak memory bandwidth, from memory clock and bus width; 0 for the simulator.

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
        return device_name(_core.SIM if self.kind == "sim" else _core.CUDA, self.index)


def devices() -> tuple[Device, ...]:
    """Return the devices of this machine: CUDA devices by number, then the simulator.

    Returns
    -------
    tuple of Device

    Raises
    ------
    DeviceError
        If the CUDA driver fails.

    Examples
    --------
    >>> import gpureduce
    >>> [str(device) for device in gpureduce.devices()][-1]
    'sim'
    """
    return tuple(Device(*row) for row in _core.devices())


# The environment variable of the default device.
VARIABLE = "GPUREDUCE_DEVICE"
_not_warned = [True]  # popped by the thread that warns


def set_default_device(device: str | Device | None) -> None:
    """Set the device of calls without ``device=``, for all threads of the process.

    The device of a call is, in this order: the argument ``device=``; the innermost ``with
    gpureduce.device(...)``; this setting; the environment variable ``GPUREDUCE_DEVICE``; the first CUDA
    device; the simulator. Arrays on a device are always reduced there.

    Parameters
    ----------
    device : str, Device or None
        ``"cuda"``, ``"cuda:<number>"`` or ``"sim"``; None removes the setting.

    Raises
    ------
    DeviceError
        If the device does not exist.
    TypeError, ValueError
        If `device` is not a device, or its name is unknown.

    Examples
    --------
    >>> import gpureduce
    >>> gpureduce.set_default_device("sim")
    >>> gpureduce.to_device([1, 2, 3]).device
    'sim'
    >>> gpureduce.set_default_device(None)
    """
    _core.set_default_device(None if device is None else _existing(device))


@contextlib.contextmanager
def device(device: str | Device) -> Iterator[Device]:
    """Set the device of calls without ``device=`` in a ``with`` block.

    It applies to the thread or asyncio task that runs the block, and to tasks that are started there; other
    threads keep their default. Blocks may be nested. `set_default_device` describes the order of precedence.

    Parameters
    ----------
    device : str or Device
        ``"cuda"``, ``"cuda:<number>"`` or ``"sim"``.

    Yields
    ------
    Device
        The device.

    Raises
    ------
    DeviceError
        If the device does not exist.
    TypeError, ValueError
        If `device` is not a device, or its name is unknown.

    Examples
    --------
    >>> import gpureduce
    >>> with gpureduce.device("sim") as chosen:
    ...     chosen.kind, gpureduce.to_device([1, 2, 3]).device
    ('sim', 'sim')
    """
    token = _core.push_device(_existing(device))
    try:
        yield device_info(device)
    finally:
        token.var.reset(token)


def _existing(device: str | Device) -> tuple[int, int]:
    """Return kind and index of an existing device."""
    if device is None:
        raise TypeError("device: expected str or Device, got None")
    device_info(device)
    return resolve(device)


def automatic_default() -> tuple[int, int]:
    """Return the device that the environment names, else the first CUDA device, else the simulator."""
    name = os.environ.get(VARIABLE)
    if name:
        try:
            return _existing(name)
        except (ValueError, _core.DeviceError) as error:
            raise type(error)(f"{VARIABLE}: {str(error).removeprefix('device: ')}") from None
    return (_core.SIM, 0) if _core.cuda_problem() is not None else (_core.CUDA, 0)


def _find_default() -> tuple[int, int]:
    """Return and cache the default device; warn if it is the simulator for lack of a CUDA device."""
    default = automatic_default()
    if default == (_core.SIM, 0) and not os.environ.get(VARIABLE) and _pop(_not_warned):
        try:
            warnings.warn(
                f"no CUDA device ({_core.cuda_problem()}); kernels run on the simulator. Pass device='sim', "
                f"or set {VARIABLE}=sim.",
                SimulatorWarning,
                stacklevel=caller_stacklevel(),
            )
        except BaseException:  # warnings are errors here, and the next call has to get it, too
            _not_warned.append(True)
            raise
    _core.set_default_device(default)
    return default


def _pop(values: list[bool]) -> bool:
    """Pop an element; return whether there was one, which only one thread gets."""
    try:
        return values.pop()
    except IndexError:
        return False


def resolve(device: str | Device | None) -> tuple[int, int]:
    """Return the kind and index, for the core, of the argument ``device=``."""
    if device is None:
        return _core.default_device() or _find_default()
    if isinstance(device, Device):
        device = str(device)
    if not isinstance(device, str):
        raise TypeError(f"device: expected str, Device or None, got {type(device).__name__}")
    if device == "sim":
        return (_core.SIM, 0)
    match = re.fullmatch(r"cuda(?::([0-9]{1,9}))?|sim:([0-9]{1,9})", device)
    if match is None:
        raise ValueError(
            f"device: unknown device {device!r}; expected 'cuda', 'cuda:<number>', 'sim' or 'sim:<number>'"
        )
    return (_core.SIM, int(match[2])) if match[2] else (_core.CUDA, int(match[1] or 0))


def device_name(kind: int, index: int) -> str:
    """Return the name of a device, as for ``device=``."""
    if kind == _core.SIM:
        return f"sim:{index}" if index else "sim"
    return f"cuda:{index}"


def device_info(device: str | Device | None) -> Device:
    """Return the `Device` for the argument ``device=``."""
    if isinstance(device, Device):
        return device
    kind, index = resolve(device)
    name = device_name(kind, index)
    every = devices()
    if kind == _core.SIM:  # simulators are created on demand
        return replace(every[-1], index=index)
    for each in every:
        if str(each) == name:
            return each
    raise _core.DeviceError(f"{name}: no such device; there are {', '.join(map(str, every))}")
