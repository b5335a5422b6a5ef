"""The tree of additions of a variant, measured by rounding errors of chosen inputs.

With a huge number at i, its negative at j and ones elsewhere, every one that is added to either of the two
before they are added to each other is lost. So the sum is the number of elements outside of the subtree in
which i and j meet, and these numbers determine the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpureduce._reduce import functions

_HUGE = np.float32(2.0**60)


@dataclass(frozen=True)
class Addition:
    """One addition of a tree.

    Attributes
    ----------
    left, right : Addition or int
        Operands: other additions, or elements by index. The smallest index is on the left.
    leaves : int
        Number of elements below.
    """

    left: Addition | int
    right: Addition | int
    leaves: int

    @property
    def first(self) -> int:
        """The smallest index below."""
        return self.left if isinstance(self.left, int) else self.left.first

    @property
    def height(self) -> int:
        """Additions on the longest path down, this one included."""
        return 1 + max(0 if isinstance(side, int) else side.height for side in (self.left, self.right))

    def additions(self) -> list[Addition]:
        """Return this addition and all below it, those below first."""
        below = [
            each
            for side in (self.left, self.right)
            if isinstance(side, Addition)
            for each in side.additions()
        ]
        return [*below, self]


def _leaves(tree: Addition | int) -> int:
    return 1 if isinstance(tree, int) else tree.leaves


def _build(elements: list[int], meeting: Callable[[int, int], int]) -> Addition | int:
    """Return the tree over some elements; `meeting` is the size of the subtree in which two elements meet."""
    tree: Addition | int = elements[0]
    by_size: dict[int, list[int]] = {}
    for other in elements[1:]:
        by_size.setdefault(meeting(elements[0], other), []).append(other)
    for size, others in sorted(by_size.items()):
        branch = _build(others, meeting)
        leaves = _leaves(tree) + _leaves(branch)
        if leaves != size:
            raise ValueError("variant: not a tree of plain additions of two numbers")
        tree = Addition(tree, branch, leaves)
    return tree


def additions_of(variant: str, n: int = 128, block_size: int | None = None, device: str = "sim") -> Addition:
    """Return the tree of additions of a float32 sum.

    Parameters
    ----------
    variant : str
        Name of the variant, as in `gpureduce.variants`.
    n : int
        Number of elements, 2 or more; about n log(n) sums are computed.
    block_size : int, optional
        Threads per block.
    device : str
        Device that computes the sums.

    Returns
    -------
    Addition

    Raises
    ------
    ValueError
        If the sums are not those of a tree of plain additions.
    """
    if n < 2:
        raise ValueError(f"n: expected 2 or more, got {n}")
    data = np.ones(n, np.float32)

    def meeting(i: int, j: int) -> int:
        data[i], data[j] = _HUGE, -_HUGE
        left = functions.sum(data, variant=variant, block_size=block_size, device=device)
        data[i] = data[j] = 1
        return n - int(left)

    tree = _build(list(range(n)), meeting)
    assert isinstance(tree, Addition)
    return tree
