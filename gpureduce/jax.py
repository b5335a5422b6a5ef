"""Functions for JAX's compiled programs: they work inside `jax.jit`, `jax.vmap` and `jax.grad`.

The functions are custom calls that XLA runs in its own stream, with workspace that XLA allocates, and the
host does not wait. The simulator reduces arrays on the CPU, for tests. Arguments and dtypes of results are
those of `jax.numpy`. XLA cannot fuse other work into a custom call, so use these functions for results that
XLA's functions do not have: sums of segments whose bits do not depend on the order of the rows, exact sums,
quantiles, top-k. See docs/how-to/jax-in-jit.md.

>>> import jax, jax.numpy as jnp, gpureduce.jax
>>> x = jnp.array([[3.0, 1.0], [2.0, 5.0]])
>>> jax.jit(jax.grad(lambda x: gpureduce.jax.logsumexp(x, axis=1).sum()))(x).sum().item()
2.0
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from gpureduce._jax import jax, order, reductions, segments, targets
from gpureduce._order.methods import POSITIONS
from gpureduce._rules import arguments as rules

__all__ = [
    "argmax",
    "argmin",
    "cumsum",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "quantile",
    "segment_sum",
    "std",
    "sum",
    "topk",
    "var",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Array: TypeAlias = "jax.Array"
ArrayLike: TypeAlias = "jax.typing.ArrayLike"
Axis = int | tuple[int, ...] | None

jnp = jax.numpy


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    return tuple(sorted(rules.reduced_axes(tuple(axis) if isinstance(axis, list) else axis, ndim)))


def _reduced(op: str, x: Any, axis: Any, keepdims: Any, exact: Any = False, ddof: float = 0) -> Any:
    if keepdims is not False and keepdims is not True:
        keepdims = rules.keeps_dims(keepdims)
    if exact is not False and exact is not True:
        exact = rules.flag(exact, "exact")
    return reductions.compiled(op, _axes(axis, x.ndim), keepdims, exact, ddof)(x)


def sum(a: ArrayLike, axis: Axis = None, keepdims: bool = False, *, exact: bool = False) -> Array:
    """Return the sum of elements along axes, as `jax.numpy.sum`.

    Parameters
    ----------
    a : array_like
        Input array.
    axis : int, tuple of int or None
        Axes to reduce; None, all of them.
    keepdims : bool
        True keeps the reduced axes with length one.
    exact : bool
        True rounds the exact sum once, so that its bits depend neither on the order of the elements nor on
        the device.

    Returns
    -------
    jax.Array
        The sums, in the dtype of `jax.numpy.sum`.

    Raises
    ------
    TypeError
        If the dtype is unsupported, or an argument has the wrong type.
    ValueError
        If an axis is out of bounds.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.sum([1e20, 1.0, -1e20], exact=True).item()
    1.0
    """
    return _reduced("sum", targets.as_array(a, "a"), axis, keepdims, exact)


def mean(a: ArrayLike, axis: Axis = None, keepdims: bool = False, *, exact: bool = False) -> Array:
    """Return the mean of elements along axes, as `jax.numpy.mean`.

    Parameters
    ----------
    a, axis, keepdims
        As for `sum`.
    exact : bool
        True divides the exact sum and rounds once.

    Returns
    -------
    jax.Array
        The means; means of integers are in the dtype of those of `jax.numpy`.

    Raises
    ------
    TypeError, ValueError
        As for `sum`. ValueError also if a mean has no elements.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.mean([[1.0, 2.0], [3.0, 4.0]], axis=0).tolist()
    [2.0, 3.0]
    """
    return _reduced("mean", targets.as_array(a, "a"), axis, keepdims, exact)


def var(a: ArrayLike, axis: Axis = None, keepdims: bool = False, *, ddof: float = 0) -> Array:
    """Return the variance of elements along axes, as `jax.numpy.var`, in one pass over the elements.

    Parameters
    ----------
    a, axis, keepdims
        As for `sum`.
    ddof : float
        The divisor is the number of elements less `ddof`.

    Returns
    -------
    jax.Array
        The variances, in the dtype of `mean`; of complex numbers, in the dtype of their real parts.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.var([1.0, 2.0, 3.0, 4.0]).item()
    1.25
    """
    return _reduced("var", targets.as_array(a, "a"), axis, keepdims, ddof=rules.degrees(ddof))


def std(a: ArrayLike, axis: Axis = None, keepdims: bool = False, *, ddof: float = 0) -> Array:
    """Return the standard deviation of elements along axes, as `jax.numpy.std`.

    Parameters
    ----------
    a, axis, keepdims, ddof
        As for `var`.

    Returns
    -------
    jax.Array
        The square roots of the variances.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.std([1.0, 3.0]).item()
    1.0
    """
    return _reduced("std", targets.as_array(a, "a"), axis, keepdims, ddof=rules.degrees(ddof))


def max(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest element along axes, as `jax.numpy.max`.

    Parameters
    ----------
    a, axis, keepdims
        As for `sum`; complex numbers are not ordered.

    Returns
    -------
    jax.Array
        The largest elements; NaN where an element is NaN.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.max([[1, 4], [3, 2]], axis=1).tolist()
    [4, 3]
    """
    return _reduced("max", _ordered(a), axis, keepdims)


def min(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest element along axes, as `jax.numpy.min`.

    Parameters
    ----------
    a, axis, keepdims
        As for `max`.

    Returns
    -------
    jax.Array
        The smallest elements; NaN where an element is NaN.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.min([[1, 4], [3, 2]], axis=1).tolist()
    [1, 2]
    """
    return _reduced("min", _ordered(a), axis, keepdims)


def argmax(a: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the position of the largest element along an axis, as `jax.numpy.argmax`.

    Parameters
    ----------
    a, keepdims
        As for `max`.
    axis : int or None
        Axis to reduce; None, all of them: the position in C order.

    Returns
    -------
    jax.Array
        The positions, of equal elements the first: int64 if JAX has it, else int32.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.argmax([1.0, 5.0, 5.0]).item()
    1
    """
    return _position("argmax", a, axis, keepdims)


def argmin(a: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the position of the smallest element along an axis, as `jax.numpy.argmin`.

    Parameters
    ----------
    a, axis, keepdims
        As for `argmax`.

    Returns
    -------
    jax.Array
        As for `argmax`.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.argmin([1.0, 5.0, 0.0]).item()
    2
    """
    return _position("argmin", a, axis, keepdims)


def logsumexp(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials along axes, as `jax.nn.logsumexp`, in one pass.

    Parameters
    ----------
    a, axis, keepdims
        As for `sum`; not complex.

    Returns
    -------
    jax.Array
        The logarithms, in the dtype of `mean`.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> round(gpureduce.jax.logsumexp([1000.0, 1000.0]).item(), 3)
    1000.693
    """
    return _reduced("logsumexp", _ordered(a), axis, keepdims)


def cumsum(a: ArrayLike, axis: int | None = None) -> Array:
    """Return the sums of the elements up to each one along an axis, as `jax.numpy.cumsum`.

    Parameters
    ----------
    a : array_like
        Input array.
    axis : int or None
        Axis to add up; None, the elements in C order.

    Returns
    -------
    jax.Array
        The sums, in the dtype of `jax.numpy.cumsum`. Their bits are the same in every run.

    Raises
    ------
    TypeError, ValueError
        As for `sum`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.cumsum([1, 2, 3]).tolist()
    [1, 3, 6]
    """
    x = targets.as_array(a, "a")
    along = None if axis is None else rules.single_axis(axis, x.ndim)[0]
    return reductions.compiled_scan(along)(x)


def median(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the median of elements along axes, as `jax.numpy.median`, by radix selection, without a sort.

    Parameters
    ----------
    a, axis, keepdims
        As for `max`.

    Returns
    -------
    jax.Array
        The medians, in the dtype of `mean`; NaN where an element is NaN.

    Raises
    ------
    TypeError, ValueError
        As for `mean`.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.median([[10, 7, 4], [3, 2, 1]], axis=1).tolist()
    [7.0, 2.0]
    """
    x = _ordered(a)
    return order.compiled_quantiles(((), "median"), _axes(axis, x.ndim), rules.keeps_dims(keepdims), True)(x)


def quantile(
    a: ArrayLike, q: Any, axis: Axis = None, keepdims: bool = False, *, method: str = "linear"
) -> Array:
    """Return quantiles of elements along axes, as `jax.numpy.quantile`, by radix selection, without a sort.

    Parameters
    ----------
    a, axis, keepdims
        As for `max`.
    q : float or sequence of float
        Quantile or quantiles, between 0 and 1: numbers, not traced arrays.
    method : str
        Estimation method, as for `gpureduce.quantile`.

    Returns
    -------
    jax.Array
        The axis of `q`, if it is a sequence, followed by the axes of `a` that are not reduced; the dtype of
        `mean`.

    Raises
    ------
    TypeError
        As for `sum`; also if `q` is traced.
    ValueError
        As for `mean`; also if `q` is outside 0 to 1, or the method is unknown.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.quantile([10.0, 7.0, 4.0, 3.0, 2.0], [0.25, 0.75]).tolist()
    [3.0, 7.0]
    """
    if isinstance(q, jax.core.Tracer):
        raise TypeError("q: expected numbers, got a traced array; make it an argument of static_argnames")
    values = rules.as_array(q, "q", np.float64)
    if values.ndim > 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("q: expected one or several quantiles between 0 and 1")
    if method not in POSITIONS:
        raise ValueError(f"method: expected one of {', '.join(POSITIONS)}, got {method!r}")
    x = _ordered(a)
    of = tuple(values.reshape(-1).tolist()), method
    axes, keepdims = _axes(axis, x.ndim), rules.keeps_dims(keepdims)
    return order.compiled_quantiles(of, axes, keepdims, values.ndim == 0)(x)


def topk(a: ArrayLike, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Array, Array]:
    """Return the k largest or smallest elements along an axis, in order, and their indices.

    Parameters
    ----------
    a
        As for `max`. NaN is larger than all numbers.
    k : int
        The number of elements.
    axis : int
        Axis along which to search.
    largest : bool
        False returns the smallest elements.

    Returns
    -------
    tuple of jax.Array
        Elements and indices, as `jax.lax.top_k`; of equal elements the first ones. Indices are int64 if JAX
        has it, else int32.

    Raises
    ------
    TypeError
        As for `sum`.
    ValueError
        If an axis is out of bounds, or `k` is not 0 to the length of the axis.

    Examples
    --------
    >>> import gpureduce.jax
    >>> values, indices = gpureduce.jax.topk([5.0, 9.0, 7.0], 2)
    >>> values.tolist(), indices.tolist()
    ([9.0, 7.0], [1, 2])
    """
    x = _ordered(a)
    (axis,) = rules.single_axis(axis, x.ndim)
    count = rules.integer(k, "k")
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(f"k: expected 0 to {x.shape[axis]}, the length of the axis, got {count}")
    return order.compiled_topk(count, axis, rules.flag(largest, "largest"))(x)


def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None) -> Array:
    """Return the sums of rows by label, as `jax.ops.segment_sum`, whatever the order of the rows.

    Parameters
    ----------
    data : array_like
        Rows along the first axis.
    segment_ids : array_like of int
        The label of each row. Rows with negative labels, or with labels from `num_segments` on, are ignored.
    num_segments : int, optional
        The number of segments. Default: one more than the largest label, for which the host waits; inside
        `jit` the labels are not known, so `num_segments` is needed.

    Returns
    -------
    jax.Array
        A row per segment, in the dtype of `data`; 0 for a segment without rows. Sums of floats are exact, and
        rounded once; those of integers, which never depend on an order, are those of `jax.ops.segment_sum`.

    Raises
    ------
    TypeError
        As for `sum`; also if labels are not integers, or `num_segments` is needed.
    ValueError
        If the labels are not one for each row, or `num_segments` is negative.

    Examples
    --------
    >>> import gpureduce.jax
    >>> gpureduce.jax.segment_sum([1.0, 2.0, 3.0, 4.0], [1, 0, 1, -1], 3).tolist()
    [2.0, 4.0, 0.0]
    """
    x, labels = targets.as_array(data, "data"), targets.as_array(segment_ids, "segment_ids")
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        raise TypeError(f"segment_ids: expected integers, got {labels.dtype}")
    if labels.ndim != 1 or x.ndim == 0 or labels.shape[0] != x.shape[0]:
        raise ValueError(
            f"segment_ids: expected one for each of the rows of {x.shape}, got shape {labels.shape}"
        )
    if num_segments is None:
        if isinstance(labels, jax.core.Tracer):
            raise TypeError("num_segments: needed inside jit, where the labels are not known")
        num_segments = int(labels.max()) + 1 if labels.size else 0
    groups = rules.integer(num_segments, "num_segments")
    if groups < 0:
        raise ValueError(f"num_segments: expected 0 or more, got {groups}")
    return segments.compiled(groups)(x, labels)


def _ordered(a: Any, name: str = "a") -> Any:
    x = targets.as_array(a, name)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise TypeError(f"{name}: expected real numbers, got {x.dtype}")
    return x


def _position(op: str, a: Any, axis: Any, keepdims: Any) -> Any:
    if isinstance(axis, (tuple, list)):
        raise TypeError(f"axis: expected int or None, got {type(axis).__name__}")
    return _reduced(op, _ordered(a), axis, keepdims)
