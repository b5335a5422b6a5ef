"""What each thread of one block does between barriers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

_WORKED, _CONFLICTED = 1, 2


@dataclass(frozen=True)
class Timeline:
    """Threads by rounds of one block; a round is the stretch between two barriers of the block.

    Attributes
    ----------
    kernel : str
        The kernel.
    block : int
        Linear number of the block.
    states : numpy.ndarray of uint8
        Of shape (rounds, threads): bit 0 says that the thread accessed memory or exchanged data with other
        lanes, bit 1 that one of its accesses shared a bank of shared memory with another word.
    """

    kernel: str
    block: int
    states: np.ndarray[Any, Any] = field(repr=False)

    @property
    def active(self) -> np.ndarray[Any, Any]:
        """Which threads worked in which round: bool of shape (rounds, threads)."""
        return (self.states & _WORKED) != 0

    @property
    def conflict(self) -> np.ndarray[Any, Any]:
        """Which threads had a bank conflict in which round: bool of shape (rounds, threads)."""
        return (self.states & _CONFLICTED) != 0

    def text(self, width: int = 96) -> str:
        """Return a drawing: a row for each round, a character for each thread, or for several side by side.

        Parameters
        ----------
        width : int
            The most characters a row may have for the threads.

        Returns
        -------
        str
            ``#`` where all threads worked, ``+`` where some did, ``x`` with a bank conflict, ``.`` idle.
        """
        if width < 1:
            raise ValueError(f"width: expected a positive number, got {width}")
        threads = self.states.shape[1]
        each = 1
        while -(-threads // each) > width:
            each *= 2
        title = f"{self.kernel}, block {self.block}: {threads} threads, {each} a character"
        lines = [f"{title}; # working, + some of them, x bank conflict, . idle"]
        for number in range(self.states.shape[0]):
            row = [self._character(number, start, each) for start in range(0, threads, each)]
            lines.append(f"round {number:4} |{''.join(row)}|")
        return "\n".join(lines)

    def _character(self, number: int, start: int, each: int) -> str:
        if self.conflict[number, start : start + each].any():
            return "x"
        working = self.active[number, start : start + each]
        return "#" if working.all() else "+" if working.any() else "."

    def plot(self, ax: Any = None) -> Any:
        """Draw threads by rounds, coloured by idle, active and conflict.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        try:
            import matplotlib.pyplot as plt
            from matplotlib.colors import ListedColormap
            from matplotlib.patches import Patch
        except ImportError as error:
            raise ImportError("Timeline.plot needs matplotlib: pip install matplotlib") from error
        colours = {"idle": "#e5e7eb", "active": "#2563eb", "bank conflict": "#dc2626"}
        if ax is None:
            _, ax = plt.subplots(figsize=(9, 0.8 + 0.3 * self.states.shape[0]))
        kinds = np.where(self.conflict, 2, np.where(self.active, 1, 0))
        ax.imshow(
            kinds,
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap(list(colours.values())),
            vmin=-0.5,
            vmax=2.5,
        )
        ax.set_xlabel("thread")
        ax.set_ylabel("round between barriers")
        ax.set_title(f"{self.kernel}, block {self.block}")
        ax.legend(
            handles=[Patch(color=colour, label=name) for name, colour in colours.items()],
            loc="upper right",
            fontsize="small",
        )
        return ax

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        import base64
        from html import escape

        rounds, threads = self.states.shape
        picture = base64.b64encode(self._png()).decode()
        return (
            f"<div>{escape(self.kernel)}, block {self.block}: {threads} threads from left to right, "
            f"{rounds} rounds between barriers downwards; blue works, red has bank conflicts<br>"
            f'<img width="900" height="{14 * rounds}" src="data:image/png;base64,{picture}"></div>'
        )

    def _png(self) -> bytes:
        """Return a picture, since notebooks that are not trusted show no SVG in a page."""
        import struct
        import zlib

        def chunk(kind: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        colours = bytes.fromhex("f3f4f6 2563eb dc2626")  # idle, at work, with a bank conflict
        kinds = np.where(self.conflict, 2, np.where(self.active, 1, 0)).astype(np.uint8)
        lines = np.zeros((14 * kinds.shape[0], 1 + 4 * kinds.shape[1]), np.uint8)
        lines[:, 1:] = np.kron(kinds, np.ones((14, 4), np.uint8))
        lines[12::14] = lines[13::14] = 0  # between rounds; a line's first byte says that it is as it stands
        head = struct.pack(">IIBBBBB", lines.shape[1] - 1, lines.shape[0], 8, 3, 0, 0, 0)
        pixels = zlib.compress(lines.tobytes())
        parts = ((b"IHDR", head), (b"PLTE", colours), (b"IDAT", pixels), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
