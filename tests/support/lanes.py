"""The order of the elements of columns and of rows with gaps, and columns of a part of a matrix."""

import numpy as np

from tests.support.invariance import placed


def in_lanes(row):
    """Return the sum of float64 numbers in the order of lanes: see how-auto-chooses.md."""
    lanes = 1
    while 2 * lanes <= max(len(row) // 16, min(len(row) // 8, 256)) and lanes < 65_536:
        lanes *= 2
    states = [np.float64(0) for _ in range(lanes)]
    for k, value in enumerate(row):
        states[k % lanes] = states[k % lanes] + value
    while len(states) > 1:
        states = [states[i] + states[i + 1] for i in range(0, len(states), 2)]
    return states[0]


def part_of(columns, before, behind, start, device):
    """Return columns of a device matrix, which has others before and behind them.

    The matrix begins behind `start` elements.
    """
    wide = np.pad(columns, ((0, 0), (before, behind)), constant_values=1)
    return placed(wide, 1, start, device)[:, before : before + columns.shape[1]]
