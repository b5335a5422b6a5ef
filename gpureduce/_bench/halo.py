"""The part of an image that a block of a convolution reads, and how often it loads each element.

Both come from a launch on the simulator: `Profile.accesses` has the loads of x and the stores of results by
thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpureduce._bench.plotting import axes_of, style
from gpureduce._profiles.variant import profile
from gpureduce._rules.equality import WithArrays

ITEM_BYTES = 4  # of float32
MOST_LOADS = 64  # of the colours, which are the same for all rungs
PICTURE = (1, 34, 130, 12)  # several tiles of every rung
FILTERS = (24, 3, 3, 12)


@dataclass(frozen=True, eq=False)
class Halo(WithArrays):
    """The accesses of one block, for images in NHWC.

    Attributes
    ----------
    variant : str
        The rung.
    comes : numpy.ndarray of float
        For each row and column of the first image: loads of an element, averaged over the channels.
    makes : numpy.ndarray of int
        For each row and column of the first result: number of filters whose results the block stores.
    """

    variant: str
    comes: np.ndarray = field(repr=False)
    makes: np.ndarray = field(repr=False)

    @property
    def seen(self) -> int:
        """Number of pixels that the block reads."""
        return int((self.comes > 0).sum())

    @property
    def made(self) -> int:
        """Number of pixels for which the block computes results."""
        return int((self.makes > 0).sum())

    @property
    def times(self) -> float:
        """Mean number of loads of an element that the block reads."""
        return float(self.comes[self.comes > 0].mean())


def halo_of(variant: str, block: int = 0, x: tuple[int, ...] = PICTURE, w: tuple[int, ...] = FILTERS) -> Halo:
    """Return the accesses of one block of a float32 convolution.

    Parameters
    ----------
    variant : str
        A rung of the ladder ``"conv"`` that is one launch.
    block : int
        Linear number of the block.
    x, w : tuple of int
        Shapes, in NHWC.

    Returns
    -------
    Halo

    Raises
    ------
    ValueError
        If the accesses do not show the loads or stores of the variant.
    """
    launched = profile((x, w, {"layout": "NHWC"}), variant, races=False)
    accesses = launched.accesses(block)
    stores = accesses[accesses["writes"]]
    if len(launched.kernels) != 1 or set(stores["memory"]) != {2} or 0 not in accesses["memory"]:
        raise ValueError(
            f"variant: bulk copies and several launches hide which pixels a block of {variant} reads"
        )
    loads = accesses[(accesses["memory"] == 0) & ~accesses["writes"]]
    _, height, width, filters = launched.result.shape
    comes = _per_pixel(loads, x[1:3], x[3]) / x[3]
    return Halo(variant, comes, _per_pixel(stores, (height, width), filters).astype(np.int64))


def _per_pixel(accesses: np.ndarray, size: tuple[int, ...], channels: int) -> np.ndarray:
    """Count the accessed elements of the first image, by rows and columns."""
    counts = np.zeros(math.prod(size) * channels)
    for bytes_ in np.unique(accesses["bytes"]):
        for part in range(0, int(bytes_), ITEM_BYTES):
            at = (accesses["offset"][accesses["bytes"] == bytes_] + part) // ITEM_BYTES
            np.add.at(counts, at[at < counts.size], 1)
    return counts.reshape(*size, channels).sum(axis=2)


def plot_halo(halo: Halo, ax: Any = None, *, dark: bool | None = False) -> Any:
    """Draw the loads of each element that the block reads, and the pixels of the results.

    Only the part of the image that the block reads is drawn; colours are the same for all rungs.
    """
    with style(dark) as palette:
        from matplotlib.colors import LogNorm
        from matplotlib.ticker import NullLocator, ScalarFormatter

        rows, columns = (np.flatnonzero((halo.comes > 0).any(axis=axis))[[0, -1]] for axis in (1, 0))
        high, wide = (last - first + 3 for first, last in (rows, columns))
        ax = axes_of(ax, 7.6, 1.9 + 6 * high / wide)
        colours = {"norm": LogNorm(1, MOST_LOADS), "cmap": "viridis_r"}
        shown = np.ma.masked_equal(halo.comes, 0)
        image = ax.imshow(shown, **colours, interpolation="nearest", aspect="equal")
        # Results are drawn where the middle of their kernel is, without padding.
        down, along = ((a - b) / 2 for a, b in zip(halo.comes.shape, halo.makes.shape, strict=True))
        y, x = np.nonzero(halo.makes)
        size = min(5.0, 150 / wide)
        look = {"color": "white", "markeredgecolor": "black", "markeredgewidth": size / 6}
        ax.plot(x + along, y + down, "o", markersize=size, **look)
        ax.set_xlim(columns[0] - 1.5, columns[1] + 1.5)
        ax.set_ylim(rows[1] + 1.5, rows[0] - 1.5)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_yticks(rows[:1] if wide > 20 * high else range(rows[0], rows[1] + 1, 2))
        ax.set_xlabel("column of the image")
        ax.set_ylabel("row")
        bar = ax.figure.colorbar(
            image, ax=ax, label="loads per element", extend="max", orientation="horizontal", aspect=40
        )
        bar.set_ticks([1, 2, 4, 8, 16, 32, MOST_LOADS], minor=False)
        bar.ax.xaxis.set_major_formatter(ScalarFormatter())
        bar.ax.xaxis.set_minor_locator(NullLocator())
        what = f"{halo.made} pixels computed, {halo.seen} read, each {halo.times:.1f} times"
        ax.set_title(f"{halo.variant}, a block: {what}", fontsize="medium", loc="left", color=palette.text)
        return ax
