"""Arrays on devices as text: in a terminal, and in a notebook."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._arrays.copies import to_host


def short_repr(array: Any) -> str:
    """Return type, shape, dtype and device of an array, without its elements."""
    return f"{type(array).__name__}(shape={array.shape}, dtype={array.dtype}, device={array.device!r})"


def as_text(array: Any) -> str:
    """Return the elements as NumPy's str formats them."""
    host, options = _sample(array)
    return np.array2string(host, **options) if host.shape else str(host[()])


def as_repr(array: Any) -> str:
    """Return the elements as NumPy's repr formats them, with dtype and device."""
    try:
        host, options = _sample(array)
    except (_core.DeviceError, ValueError):  # its stream is being captured into a graph, or the device failed
        return short_repr(array)
    name = type(array).__name__
    body = np.array2string(host, separator=", ", prefix=f"{name}(", suffix=",", **options)
    more = [f"dtype={array.dtype}", f"device={array.device!r})"]
    if "threshold" in options or (array.size == 0 and array.shape != (0,)):
        more.insert(0, f"shape={array.shape}")
    tail = ", ".join(more)
    last = len(f"{name}({body}".rsplit("\n", 1)[-1])
    space = (
        " " if last + len(tail) + 2 <= np.get_printoptions()["linewidth"] else "\n" + " " * (len(name) + 1)
    )
    return f"{name}({body},{space}{tail}"


def as_html(array: Any) -> str:
    """Return the HTML for Jupyter."""
    from html import escape

    try:
        host, options = _sample(array)
        text = np.array2string(host, separator=", ", **options)
    except (_core.DeviceError, ValueError):
        text = ""
    facts = [
        f"shape {array.shape}",
        f"{array.dtype}",
        f"{array.nbytes:,} bytes",
        array.device + (", a view" if array.base is not None else ""),
    ]
    cells = "".join(f'<td style="text-align:left">{escape(fact)}</td>' for fact in facts)
    return (
        f"<table><tr><th>{escape(type(array).__name__)}</th>{cells}</tr></table>"
        f'<pre style="line-height:1.2">{escape(text)}</pre>'
    )


def _sample(array: Any) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """Return elements for `numpy.array2string`, and its options.

    For a large array, only the ends of the long axes are copied, which NumPy shows.
    """
    options = np.get_printoptions()
    if array.size <= options["threshold"]:
        return to_host(array), {}
    edge = max(int(options["edgeitems"]), 1)
    room = 2 * edge + 1
    host = np.zeros([min(length, room) for length in array.shape], array.dtype)
    ends = [[slice(edge), slice(-edge, None)] if length > room else [slice(None)] for length in array.shape]
    for corner in itertools.product(*ends):
        host[corner] = to_host(array[corner])
    return host, {"threshold": 0, "edgeitems": edge}
