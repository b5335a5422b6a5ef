"""Out of device memory while PyTorch uses the same device; nothing here imports PyTorch."""

from __future__ import annotations

import sys

from gpureduce import _core

_joined: type[MemoryError] | None = None


def release_caches(index: int) -> bool:
    """Release PyTorch's unused cached memory of a CUDA device; return whether there was any."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized() or cuda.is_current_stream_capturing():
        return False
    before = cuda.memory_reserved(index)
    cuda.empty_cache()
    return cuda.memory_reserved(index) < before


def error_class() -> type[MemoryError]:
    """Return the class of out-of-memory errors: MemoryError, and also PyTorch's if it is loaded."""
    global _joined
    theirs = getattr(sys.modules.get("torch"), "OutOfMemoryError", None)
    if not (isinstance(theirs, type) and issubclass(theirs, Exception)):
        return MemoryError
    if _joined is None or theirs not in _joined.__bases__:
        members = {
            "__module__": "gpureduce",
            "__doc__": _DOC,
            "__reduce__": lambda self: (_rebuild_error, self.args),
        }
        _joined = type("OutOfMemoryError", (MemoryError, theirs), members)
    return _joined


_DOC = "Device or host memory ran out: a MemoryError that is PyTorch's OutOfMemoryError as well."


def _rebuild_error(*args: object) -> MemoryError:
    # An unpickled error has the class of the current process.
    return error_class()(*args)


_core.on_low_memory(release_caches, error_class)
