"""Keyword arguments that NumPy does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpureduce import _core
from gpureduce._device.variants import AUTO, NAMES, find
from gpureduce._reduce.progress import Progress

if TYPE_CHECKING:
    from gpureduce._reduce.types import Devices


def reject_variant(axis: object) -> None:
    """Raise TypeError for an axis that is a variant's name, as in ``sum(a, "v7")``."""
    if isinstance(axis, str) and axis in (AUTO, *NAMES):
        raise TypeError(f"axis: {axis!r} is a variant; write variant={axis!r}")


class Options:
    """Values of the keyword arguments that NumPy does not have.

    `variant` is None for the default variant; `handle` is the handle of the stream, if one was passed.
    The variant is one of `ladder`.
    """

    __slots__ = ("as_device", "block_size", "device", "grid_size", "handle", "progress", "stream", "variant")

    def __init__(
        self,
        variant: str = AUTO,
        device: Devices = None,
        block_size: int | None = None,
        grid_size: int | None = None,
        stream: object = None,
        as_device: bool | None = None,
        progress: Progress = None,
        ladder: str = "reduction",
    ) -> None:
        auto = isinstance(variant, str) and variant == AUTO
        self.variant = None if auto else find(variant, AUTO, ladder=ladder)
        if self.variant is None:
            for name, size in (("block_size", block_size), ("grid_size", grid_size)):
                if size is not None:
                    raise ValueError(f"{name}: variant 'auto' chooses its own; name a variant to set it")
        elif progress is not None and progress is not False:
            raise ValueError(
                f"progress: {variant} copies the array in one piece, and cannot report progress; 'auto' can"
            )
        self.device: Any = device  # one device: multi_device dispatches lists
        self.block_size = block_size
        self.grid_size = grid_size
        self.stream = stream
        self.handle = None if stream is None else _core.stream_handle(stream)
        self.as_device = as_device
        self.progress = progress
