"""The keyword arguments that NumPy does not have."""

from __future__ import annotations

from gpureduce import _core
from gpureduce._device.devices import Device
from gpureduce._device.variants import AUTO, find
from gpureduce._reduce.progress import Progress


class Options:
    """As the caller gave them.

    `record` is that of the named variant, None of the default; `handle` that of the stream, if one was given.
    The variant is one of `ladder`.
    """

    __slots__ = ("as_device", "block_size", "device", "grid_size", "handle", "progress", "record", "stream")

    def __init__(
        self,
        variant: str = AUTO,
        device: str | Device | None = None,
        block_size: int | None = None,
        grid_size: int | None = None,
        stream: object = None,
        as_device: bool | None = None,
        progress: Progress = None,
        ladder: str = "reduction",
    ) -> None:
        self.record = None if variant == AUTO else find(variant, AUTO, ladder=ladder)
        if self.record is None:
            for name, size in (("block_size", block_size), ("grid_size", grid_size)):
                if size is not None:
                    raise ValueError(f"{name}: variant 'auto' chooses its own; name a variant to set it")
        self.device = device
        self.block_size = block_size
        self.grid_size = grid_size
        self.stream = stream
        self.handle = None if stream is None else _core.stream_handle(stream)
        self.as_device = as_device
        self.progress = progress
