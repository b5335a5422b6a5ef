"""Activity of each thread of one block between barriers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpureduce._profiles.palette import LIGHT, palette_of
from gpureduce._rules.equality import WithArrays

_WORKED, _CONFLICTED, _WAYS = 1, 2, 2

# Activity of a thread in a round; `Timeline.kinds` are indices into this list.
KINDS = ("idle", "at work", *(f"{ways}-way bank conflict" for ways in (2, 4, 8, 16, 32)))
_KIND_OF_WAYS = np.array([0, 0, *(min(1 + (ways - 1).bit_length(), 6) for ways in range(2, 64))], np.uint8)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, eq=False)
class Timeline(WithArrays):
    """Activity of the threads of one block in each round, the interval between two barriers.

    Attributes
    ----------
    kernel : str
        Name of the kernel.
    block : int
        Linear index of the block.
    states : numpy.ndarray of uint8
        Array of shape (rounds, threads). Bit 0: the thread accessed memory or exchanged data with other
        lanes. Bit 1: one of its accesses had a bank conflict. Bits 2 and higher: `ways`.
    """

    kernel: str
    block: int
    states: np.ndarray[Any, Any] = field(repr=False)

    @property
    def active(self) -> np.ndarray[Any, Any]:
        """Whether a thread was active in a round: bool array of shape (rounds, threads)."""
        return (self.states & _WORKED) != 0

    @property
    def conflict(self) -> np.ndarray[Any, Any]:
        """Whether a thread had a bank conflict in a round: bool array of shape (rounds, threads)."""
        return (self.states & _CONFLICTED) != 0

    @property
    def ways(self) -> np.ndarray[Any, Any]:
        """Degree of a thread's worst bank conflict: 2 for a 2-way conflict, 0 for none; uint8 array."""
        return np.maximum(self.states >> _WAYS, self.states & _CONFLICTED)

    @property
    def kinds(self) -> np.ndarray[Any, Any]:
        """Categories of a drawing: 0 idle, 1 active, 2 to 6 a bank conflict of up to 2, 4, 8, 16, 32 ways."""
        return np.maximum(self.states & _WORKED, _KIND_OF_WAYS[self.ways])

    def text(self, width: int = 96) -> str:
        """Return a text drawing: one row per round, one character per thread or group of threads.

        Parameters
        ----------
        width : int
            Maximum number of characters per row for the threads.

        Returns
        -------
        str
            ``#`` all threads active, ``+`` some active, ``.`` idle. For bank conflicts, the degree of the
            worst one: ``2`` to ``9``, ``a`` for 10, ``g`` for 16, ``w`` for 32.
        """
        if width < 1:
            raise ValueError(f"width: expected a positive number, got {width}")
        threads = self.states.shape[1]
        each = 1
        while -(-threads // each) > width:
            each *= 2
        title = f"{self.kernel}, block {self.block}: {threads} threads, {each} per character"
        lines = [f"{title}; # active, + some active, . idle;", _LEGEND]
        for number in range(self.states.shape[0]):
            row = [self._character(number, start, each) for start in range(0, threads, each)]
            lines.append(f"round {number:4} |{''.join(row)}|")
        return "\n".join(lines)

    def _character(self, number: int, start: int, each: int) -> str:
        ways = int(self.ways[number, start : start + each].max())
        if ways:
            return _DIGITS[min(ways, len(_DIGITS) - 1)]
        working = self.active[number, start : start + each]
        return "#" if working.all() else "+" if working.any() else "."

    def plot(self, ax: Any = None, *, dark: bool | None = False) -> Any:
        """Draw threads by rounds, coloured by activity and degree of bank conflicts.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. Default: a new figure.
        dark : bool or None
            Whether to use colours for a dark background; None: colours for both.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
            from matplotlib.colors import ListedColormap
            from matplotlib.patches import Patch
        except ModuleNotFoundError as error:
            raise ImportError("Timeline.plot needs matplotlib: pip install matplotlib") from error
        palette = palette_of(dark)
        rounds, threads = self.states.shape
        if ax is None:
            _, ax = plt.subplots(figsize=(9, 1.2 + 0.25 * rounds), layout="constrained")
        ax.pcolormesh(
            np.arange(threads + 1) - 0.5,
            np.arange(rounds + 1) - 0.5,
            self.kinds,
            cmap=ListedColormap(list(palette.lanes)),
            vmin=-0.5,
            vmax=len(KINDS) - 0.5,
            edgecolors=palette.background,
            linewidth=0.3 if threads <= 128 else 0,
            rasterized=True,
        )
        ax.invert_yaxis()
        ax.set_xticks(range(0, threads, 32))
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel(f"thread of block {self.block} (ticks at each warp)")
        ax.set_ylabel("round between\nbarriers")
        handles = [Patch(color=palette.lanes[kind], label=name) for kind, name in self._legend()]
        legend_box = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": min(4, len(handles))}
        ax.legend(handles=handles, fontsize="small", **legend_box)
        ax.set_title(self.kernel, fontsize="medium", loc="left")
        return ax

    def _legend(self) -> list[tuple[int, str]]:
        """Return the kinds for a legend: idle, active, and the conflicts that occur."""
        present = {0, 1, *np.unique(self.kinds).tolist()}
        return [(kind, name) for kind, name in enumerate(KINDS) if kind in present]

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        import base64
        from html import escape

        rounds, threads = self.states.shape
        picture = base64.b64encode(self._png()).decode()
        colours = (_IDLE[:7], *LIGHT.lanes[1:])
        legend = " &nbsp; ".join(
            f'<span style="color:{colours[kind]}">&#9632;</span> {name}' for kind, name in self._legend()
        )
        return (
            f"<div>{escape(self.kernel)}, block {self.block}: {threads} threads from left to right, "
            f"{rounds} rounds between barriers downwards<br>{legend}<br>"
            f'<img width="900" height="{14 * rounds}" src="data:image/png;base64,{picture}"></div>'
        )

    def _png(self) -> bytes:
        """Return a PNG, because untrusted notebooks do not show SVG in HTML.

        Idle threads are half transparent, because the page may be light or dark.
        """
        import struct
        import zlib

        def chunk(kind: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        colours = bytes.fromhex("".join(colour[1:7] for colour in (_IDLE, *LIGHT.lanes[1:])))
        kinds = self.kinds
        lines = np.zeros((14 * kinds.shape[0], 1 + 4 * kinds.shape[1]), np.uint8)
        lines[:, 1:] = np.kron(kinds, np.ones((14, 4), np.uint8))
        lines[12::14] = lines[13::14] = 0  # between rounds; a line's first byte says that it is not filtered
        head = struct.pack(">IIBBBBB", lines.shape[1] - 1, lines.shape[0], 8, 3, 0, 0, 0)
        pixels = zlib.compress(lines.tobytes())
        clear = bytes.fromhex(_IDLE[7:])
        parts = ((b"IHDR", head), (b"PLTE", colours), (b"tRNS", clear), (b"IDAT", pixels), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


_LEGEND = "a digit: a bank conflict of this many ways, 2 to 9, a for 10, g for 16, w for 32"
_IDLE = "#80808040"
