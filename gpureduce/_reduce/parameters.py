"""What the docstrings of the reductions have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable

_PARAMETERS = {
    "a": """
a : array_like or device array
    A NumPy array of any shape, strides, byte order and alignment, whatever `numpy.asarray` takes, or an
    array on a device: a `DeviceArray`, or one that speaks DLPack or ``__cuda_array_interface__``, which is
    read where it lies. Subclasses such as ``numpy.matrix`` are read as plain arrays; masked arrays are
    refused.
""",
    "axis": """
axis : int or tuple of int, optional
    The axes to reduce; None reduces all.
""",
    "one_axis": """
axis : int, optional
    The axis to search; None searches the array in C order.
""",
    "dtype": """
dtype : dtype_like, optional
    Elements are cast to it, added up in it, and it is the result's. None takes NumPy's choice. A device
    array is not cast.
""",
    "out": """
out : numpy.ndarray or device array, optional
    Where the result goes; it is returned. An array of the host is cast to, as NumPy does; one on a device
    must have the result's dtype and C order.
""",
    "keepdims": """
keepdims : bool
    Whether reduced axes stay, with length one.
""",
    "initial": """
initial : scalar, optional
    One more element, for every element of the result.
""",
    "where": """
where : array_like of bool
    Which elements take part; broadcast to the shape of `a`.
""",
    "tail": """
variant : str
    The kernel: ``"auto"``, or one of `variants` where its record covers the operator, for a whole array.
device : str or Device, optional
    ``"cuda"``, ``"cuda:1"`` or ``"sim"``. None takes the device on which `a` lies; for `a` of the host the
    first CUDA device or, when there is none, the simulator, with one `SimulatorWarning`.
block_size, grid_size : int, optional
    Threads a block, and blocks of the first pass; with a named variant only.
stream : int or object, optional
    The CUDA stream to work in: a handle, or an object that has one (``torch.cuda.Stream``,
    ``cupy.cuda.Stream``, anything with ``__cuda_stream__``). None takes the current one of the library of the
    first array on a device, or that of a `DeviceArray`. The call comes after what is in it and in the streams
    of the arrays; the host waits only for results that it gets. See docs/streams.md.
as_device : bool, optional
    Whether the result stays on the device, as a `DeviceArray`. None leaves it there when `a` lies there and
    `axis` is given.
progress : callable or bool, optional
    Called as ``progress(done, total)``, in bytes, every 50 ms or so while a long array of the host is on its
    way to the device, and at its end; an exception that it raises stops the call. True shows a bar of tqdm.
    Only whole contiguous arrays go in steps: other calls do not report.
""",
}  # fmt: skip


def documented(function: Callable, parameters: dict[str, str] = _PARAMETERS) -> Callable:
    """Replace lines ``{name}`` of the docstring by the shared description of a parameter."""
    lines = []
    for line in inspect.cleandoc(function.__doc__ or "").splitlines():
        name = line.strip()
        if name.startswith("{") and name.endswith("}"):
            lines += parameters[name[1:-1]].strip("\n").splitlines()
        else:
            lines.append(line)
    function.__doc__ = "\n".join(lines)
    return function
