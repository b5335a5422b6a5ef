"""The state of part of the elements of a reduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpureduce._reduce import several
from gpureduce._rules.arguments import flag
from gpureduce._states import part, spread
from gpureduce._states.state import State

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import DTypeLike

    from gpureduce._reduce.types import AnyArray, Devices, Stream


@several.takes_several
def partial(
    a: AnyArray,
    op: str,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    b: AnyArray | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    where: AnyArray | bool = True,
    offset: SupportsIndex | tuple[SupportsIndex, ...] = 0,
    within: tuple[SupportsIndex, ...] | None = None,
    device: Devices = None,
    stream: Stream | None = None,
    as_device: bool = False,
) -> State:
    """Return the state of a reduction after part of its elements, which merges with those of other parts.

    Parameters
    ----------
    a : array_like, device array or Sharded
        The part, as `sum` takes it. It may be empty.
    op : str
        ``"sum"``, ``"mean"``, ``"dot"``, ``"var"``, ``"std"``, ``"min"``, ``"max"``, ``"argmin"``,
        ``"argmax"``, ``"any"``, ``"all"``, ``"count_nonzero"``, ``"prod"``, ``"bitwise_and"``,
        ``"bitwise_or"`` or ``"bitwise_xor"``.
    axis : int or tuple of int, optional
        The axes to reduce, which gives a state for each result; None reduces all.
    b : array_like, device array or Sharded, optional
        The same part of the other vector, for ``"dot"``.
    dtype : dtype_like, optional
        What the elements are cast to before, for sum, mean, var, std and prod, as `sum` does it.
    keepdims : bool
        Whether reduced axes stay in the shape, with length one.
    where : array_like or device array of bool
        The elements that count, broadcast against `a`, as `sum` takes it: not for ``"dot"``, and of one
        device.
    offset : int or tuple of int
        Where the part begins in the whole, for ``"argmin"`` and ``"argmax"``: what positions in it count
        from, or with `within` an index for each axis.
    within : tuple of int, optional
        The shape of the whole, where positions are those in all of its elements.
    device : str, Device or list of them, optional
        As `sum` takes it: of several devices each makes states of pieces, which are merged.
    stream : int or object, optional
        As `sum` takes it. The host waits for the state.
    as_device : bool
        Whether the state stays on the device, of several on the first, where it is merged. Nobody waits for
        it, and it can be captured into a graph.

    Returns
    -------
    State

    Notes
    -----
    States of sum, mean and dot are exact: what comes of them has the bits of ``sum(..., exact=True)``,
    whatever the parts, their order and the devices. So are those of var and std, whose result is rounded
    once, from the exact sum and sum of squares; integers are converted to float64 for them, as NumPy does.
    Products of floats are rounded where states are merged, so that they depend on the parts.

    Examples
    --------
    >>> import numpy as np, gpureduce
    >>> a = np.array([3.0, 9.0, 1.0, 9.0])
    >>> first = gpureduce.partial(a[:2], "argmax", device="sim")
    >>> second = gpureduce.partial(a[2:], "argmax", offset=2, device="sim")
    >>> (second + first).result()
    np.int64(1)
    >>> gpureduce.partial(a, "mean", where=a < 9, device="sim").result()
    np.float64(2.0)
    """
    is_spread = spread.is_spread(a, device)
    keepdims, as_device = flag(keepdims, "keepdims"), as_device is not None and flag(as_device, "as_device")
    others = (axis, dtype, within, device, stream, keepdims or None, as_device or None)
    if where is True and isinstance(offset, int) and offset == 0 and all(each is None for each in others):
        state = (spread.state_at_once if is_spread else part.state_at_once)(a, op, b)
        if state is not None:
            return state
    if is_spread:
        if where is not True:
            raise ValueError("where: is for one device")
        state = spread.state_of(a, op, axis, b, dtype, keepdims, offset, within, device, stream)
        return state.to_device(spread.first_of(a, device)) if as_device else state
    return part.state_of(a, op, axis, b, dtype, keepdims, offset, within, device, stream, where, as_device)
