"""The public function of tensors: histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpureduce._rules import arguments as rules
from gpureduce._torch import operators, torch
from gpureduce._torch.arguments import number
from gpureduce._torch.scatter import check_tensor


class Histogram(NamedTuple):
    """Named tuple that `gpureduce.torch.histogram` returns.

    Attributes
    ----------
    hist : torch.Tensor
        Counts, sums of weights, or densities.
    bin_edges : torch.Tensor
        The edges of the bins, one more than there are bins.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.histogram(torch.tensor([0.0, 1.0]), 2).bin_edges
    tensor([0.0000, 0.5000, 1.0000])
    """

    hist: torch.Tensor
    bin_edges: torch.Tensor


def histogram(
    a: torch.Tensor,
    bins: int | torch.Tensor = 10,
    range: Sequence[float] | None = None,
    weights: torch.Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """Return a histogram of all elements, as `torch.histogram` and `numpy.histogram`, also on a GPU.

    Parameters
    ----------
    a : torch.Tensor
        Input tensor of a floating-point dtype, of any shape and strides, on a GPU or the CPU.
    bins : int or torch.Tensor
        Number of bins of equal width, or their edges, ascending, in the dtype of `a`.
    range : sequence of two floats, optional
        Lower and upper limit of bins of equal width. Default: the smallest and the largest element;
        0 and 1 if there are no elements.
    weights : torch.Tensor, optional
        Weights of the elements, of their shape and on their device.
    density : bool
        True divides by the sum of all bins and by the widths of the bins.

    Returns
    -------
    Histogram
        ``hist`` and ``bin_edges``. Counts are int64; sums of weights have the dtype of the weights, and
        densities that of `a`.

    Notes
    -----
    Elements outside of the bins, and NaNs, are left out. The last bin includes its upper edge. Sums of
    weights are exact and rounded once, in any order of the elements. There is no gradient, and no call waits
    for the GPU.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.histogram(torch.tensor([1.0, 2.0, 1.0, 4.0]), 3).hist
    tensor([2, 1, 1])
    """
    elements, edges = _elements_and_edges(a, bins, range)
    count = edges.shape[0] - 1
    places = torch.searchsorted(edges, elements, right=True) - 1
    places = torch.where(elements == edges[-1], count - 1, places)
    outside = (elements < edges[0]) | (elements > edges[-1]) | elements.isnan()
    places = torch.where(outside, count, places)  # a bin of its own, which is not returned
    if weights is None:
        values = torch.ones(places.shape, dtype=torch.bool, device=a.device)
    else:
        check_tensor(weights, "weights")
        if weights.shape != a.shape or weights.device != a.device:
            raise ValueError(f"weights: expected the shape {tuple(a.shape)} and the device of a, {a.device}")
        values = weights.detach().reshape(-1)
    hist = operators.group_reduce(values, places, "sum", count + 1, 0)[:count]
    if rules.flag(density, "density"):
        hist = hist.to(edges.dtype)
        hist = hist / hist.sum() / edges.diff()
    return Histogram(hist, edges)


def _elements_and_edges(a: Any, bins: Any, range: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the elements as a vector, and the edges of the bins in their dtype."""
    check_tensor(a, "a")
    if not a.dtype.is_floating_point:
        raise TypeError(f"a: histogram takes tensors of floating-point dtypes, not {a.dtype}")
    elements = a.detach().reshape(-1)
    elements = elements if elements.dtype == torch.float64 else elements.float()
    if isinstance(bins, torch.Tensor):
        if bins.ndim != 1 or bins.shape[0] < 2 or bins.device != a.device:
            raise ValueError(f"bins: expected a vector of two edges or more on {a.device}")
        if range is not None:
            raise TypeError("range: the edges have their own limits; pass only one of bins and range")
        return elements, bins.detach().to(elements.dtype).contiguous()
    count = rules.integer(bins, "bins")
    if count < 1:
        raise ValueError(f"bins: expected 1 or more, got {count}")
    if range is None and elements.shape[0] == 0:
        range = (0.0, 1.0)  # as in NumPy and PyTorch
    if range is None:
        low, high = operators.min(elements), operators.max(elements)
    else:
        if len(range) != 2:
            raise ValueError(f"range: expected two numbers, got {range!r}")
        low, high = (
            torch.full((), number(each, "range"), dtype=elements.dtype, device=a.device) for each in range
        )
    same = low == high  # NumPy widens a range of no width
    low, high = torch.where(same, low - 0.5, low), torch.where(same, high + 0.5, high)
    steps = torch.arange(count + 1, dtype=elements.dtype, device=a.device) / count
    return elements, torch.where(steps == 1, high, low + (high - low) * steps)
