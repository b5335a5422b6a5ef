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


def plot_halo(halo: Halo, ax: Any = None, *, dark: bool = False) -> Any:
    """Draw the loads of each element, and the pixels of the results."""
    with style(dark) as palette:
        ax = axes_of(ax, 7.2, 2.6)
        shown = np.ma.masked_equal(halo.comes, 0)
        image = ax.imshow(shown, vmin=0, cmap="viridis", interpolation="nearest", aspect="equal")
        rows, columns = np.nonzero(halo.makes)
        # Results are drawn where the middle of their kernel is, without padding.
        down, along = ((a - b) / 2 for a, b in zip(halo.comes.shape, halo.makes.shape, strict=True))
        ax.plot(columns + along, rows + down, ".", markersize=1.5, color=palette.text)
        ax.figure.colorbar(image, ax=ax, label="loads per element")
        what = f"{halo.made} pixels computed, {halo.seen} read, each {halo.times:.1f} times"
        ax.set_title(f"{halo.variant}, a block: {what}", fontsize="medium")
        return ax
