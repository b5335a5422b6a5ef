"""NumPy as the judge of a reduction: the same value, dtype, shape and, for a bad call, the same exception.

What does not depend on the order of the elements has to be *equal*: integers (modulo a power of two),
minima, maxima, positions, bits, truth values, counts. Floating sums, products and means are compared with
NumPy's own sum in extended precision (`numpy.longdouble`), under a proven bound. With n elements, u the unit
roundoff of the dtype (2^-53, 2^-24, 2^-11, 2^-8) and gamma(n) = n u / (1 - n u):

* float64 is added plainly, in any order: every element meets at most n roundings, so the error is at most
  gamma(n) sum |x|.
* float32 is added with compensation: one rounding of the result, and second-order terms,
  u |S| + gamma(2 n)^2 sum |x| (Ogita, Rump and Oishi 2005, with two roundings where a tree adds two errors).
* float16 and bfloat16 are added in float32 and rounded once: u |S| + gamma32(n) sum |x|, and half the
  spacing of the smallest numbers.
* A mean divides a sum: its bound over n, and the roundings of the division and the result, 2 u |mean|.
* A product meets n roundings: gamma(n) |P|; complex ones 4 n, since one component of a complex product
  errs by at most 3 u |z w|. The bound is on the modulus.
* Complex sums are two real ones.

Where a partial result of *some* order leaves the range of the accumulator, infinities and NaNs depend on the
order, NumPy's included; no value is then asked for (`ORDER_DEPENDENT`), unless every order must overflow.
"""

import builtins
import warnings

import numpy as np

try:
    import ml_dtypes

    BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BFLOAT16 = None

BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
ARG = ("argmin", "argmax")
ROUNDED = ("sum", "prod", "mean", "dot")
OPS = ("sum", "prod", "min", "max", "mean", "any", "all", *BITWISE, *ARG, "count_nonzero")
# Variances and moments, which have tests of their own.
MORE = ("var", "std", "nanvar", "nanstd", "moments")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", *(["bfloat16"] if BFLOAT16 else []), "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)

HALVES = ("float16", "bfloat16")
_LONG = np.longdouble
ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
LARGEST = {"float16": 65504.0, "bfloat16": (2 - 2**-7) * 2.0**127}
SMALLEST = {"float16": _LONG(2.0**-24), "bfloat16": _LONG(2.0**-133)}  # subnormal
for _name in ("float32", "float64"):
    LARGEST[_name] = float(np.finfo(_name).max)
    SMALLEST[_name] = _LONG(np.finfo(_name).smallest_subnormal)  # of which float64 has no half

ORDER_DEPENDENT = "order dependent"


def dtype_of(name):
    """The dtype of a name, bfloat16 included."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def call_numpy(op, *operands, **arguments):
    """What NumPy returns, or the exception that it raises."""
    function = getattr(np, op)
    if op in BITWISE:
        function = function.reduce
        arguments = {"axis": None, **arguments}
    return attempt(function, *operands, **arguments)


def attempt(function, *operands, **arguments):
    """What a function returns or raises; warnings about values are as they may be."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*operands, **arguments)
        except Exception as error:
            return error


def public_type(error):
    """The exception type that a caller would name in `except`."""
    for kind in type(error).__mro__:
        if kind is np.exceptions.AxisError or getattr(builtins, kind.__name__, None) is kind:
            return kind
    raise AssertionError(error)


def mismatch_of_form(op, got, wanted):
    """None if two results have one type, dtype and shape, else what differs."""
    if type(wanted) is int and op == "count_nonzero":
        wanted = np.intp(wanted)  # NumPy before 2.4
    if isinstance(got, np.ndarray) != isinstance(wanted, np.ndarray):
        return f"a {type(got).__name__} came back, NumPy gives a {type(wanted).__name__}"
    if got.dtype != wanted.dtype:
        return f"dtype {got.dtype}, NumPy's is {wanted.dtype}"
    if got.shape != wanted.shape:
        return f"shape {got.shape}, NumPy's is {wanted.shape}"
    return None


def mismatch_of_equal(got, wanted):
    """None if two results are equal, NaN to NaN, else what differs."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if wanted.dtype == BFLOAT16:
        got, wanted = got.astype(np.float32), wanted.astype(np.float32)
    if wanted.dtype.kind == "c":
        # Which of several NaN elements comes back depends on the order.
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    elif wanted.dtype.kind == "f":
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    else:
        same = got == wanted
    return first_difference(~same, got, wanted)


def mismatch_of_near(got, wanted, ulps=4):
    """None if two results are at most that many units in the last place of `got` apart, else what differs."""
    if np.asarray(got).dtype.kind not in "fcV":
        return mismatch_of_equal(got, wanted)
    unit = ROUNDOFF[np.asarray(got).real.dtype.name] * 2 * ulps
    got, wanted = (np.asarray(each).astype(np.clongdouble) for each in (got, wanted))
    with np.errstate(invalid="ignore"):
        near = (
            (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | (abs(got - wanted) <= unit * abs(wanted))
        )
    return first_difference(~near, got, wanted)


def first_difference(bad, got, wanted, allowed=None):
    bad = np.asarray(bad)
    if not bad.any():
        return None
    where = np.unravel_index(int(np.argmax(bad)), bad.shape)
    limit = "" if allowed is None else f", {np.asarray(allowed)[where]:.3g} apart at most"
    return f"{got[where]!r} at {where}, expected {wanted[where]!r}{limit} ({int(bad.sum())} differ)"


def gamma(rounds, u):
    return rounds * u / (1 - rounds * u)


def mismatch_of_rounded(op, got, elements, accumulator, axis, keepdims=False, initial=None, where=True):
    """None if `got` is a right sum, product or mean, `ORDER_DEPENDENT`, or what is wrong with it.

    `elements` are those of the call, cast to `accumulator`, the dtype in which NumPy adds them up.
    """
    got = np.asarray(got)
    chosen = {"axis": axis, "keepdims": keepdims, "where": where}
    if accumulator.kind == "c":
        if op == "prod":
            return _judge_complex_product(got, elements, chosen, initial)
        parts = [
            mismatch_of_rounded(
                op,
                getattr(got, part),
                getattr(elements, part),
                np.dtype(f"float{accumulator.itemsize * 4}"),
                initial=None if initial is None else getattr(initial, part),
                **chosen,
            )
            for part in ("real", "imag")
        ]
        if op == "mean":
            # NumPy divides by a complex number, which makes a NaN of the part next to an infinity.
            numpy_mean = attempt(np.mean, elements, **chosen)
            if not np.isfinite(numpy_mean).all():
                return None if np.array_equal(np.isfinite(got), np.isfinite(numpy_mean)) else parts[0]
        return next((part for part in parts if part not in (None, ORDER_DEPENDENT)), parts[0] or parts[1])
    judge = _judge_product if op == "prod" else _judge_sum
    return judge(op, got, elements, accumulator.name, chosen, initial)


def _extended(elements, initial):
    exact = elements.astype(np.float32) if elements.dtype == BFLOAT16 else elements
    return exact.astype(_LONG), None if initial is None else _LONG(np.asarray(initial).astype(np.float64))


def _count(elements, chosen):
    count = np.add.reduce(np.ones(elements.shape, _LONG), **chosen)
    return np.maximum(count, 1), count


def _judge_sum(op, got, elements, name, chosen, initial):
    x, start = _extended(elements, initial)
    start = _LONG(0) if start is None else start
    sizes = np.where(np.isfinite(x), np.abs(x), 0)
    with np.errstate(all="ignore"):
        total = np.add.reduce(x, initial=start, **chosen)
    magnitude = np.add.reduce(sizes, initial=abs(start) if np.isfinite(start) else _LONG(0), **chosen)
    n, count = _count(x, chosen)
    terms = n + (start != 0)
    u, half = ROUNDOFF[name], name in HALVES
    with np.errstate(all="ignore"):
        if half:
            allowed = u * np.abs(total) + 2 * gamma(terms, ROUNDOFF["float32"]) * magnitude
        elif name == "float32":
            allowed = u * np.abs(total) + gamma(2 * terms, u) ** 2 * magnitude
        else:
            allowed = gamma(terms, u) * magnitude
        if op == "mean":
            total, allowed = total / count, allowed / n
            allowed = allowed + 2 * u * np.abs(total)
    if half or op == "mean":
        allowed = allowed + SMALLEST[name] / 2
    reach = magnitude / LARGEST["float32" if half else name]
    if half:
        reach = np.maximum(reach, np.where(np.isfinite(total), np.abs(total), 0) / LARGEST[name])
    # Elements of one sign whose sum is far too large overflow in every order.
    overflows = (op == "sum") & np.isfinite(total) & (np.abs(total) > 1.01 * LARGEST[name])
    overflows &= np.abs(total) >= 0.999 * magnitude
    return _judge(
        got, np.where(overflows, np.copysign(_LONG(np.inf), total), total), allowed, reach, overflows
    )


def _judge_product(op, got, elements, name, chosen, initial):
    x, start = _extended(elements, initial)
    start = _LONG(1) if start is None else start
    n, _ = _count(x, chosen)
    half = name in HALVES
    carrier = "float32" if half else name
    with np.errstate(all="ignore"):
        product = np.multiply.reduce(x, initial=start, **chosen)
        above, below = _extremes(np.abs(x), abs(start), chosen)
        allowed = gamma(n + 1, ROUNDOFF[carrier]) * np.abs(product)
        reach = np.maximum(above / LARGEST[carrier], float(np.finfo(carrier).tiny) / below)
        if half:
            allowed = 2 * allowed + ROUNDOFF[name] * np.abs(product) + SMALLEST[name] / 2
            reach = np.maximum(reach, np.where(np.isfinite(product), np.abs(product), 0) / LARGEST[name])
    return _judge(got, product, allowed, reach, False)


def _extremes(sizes, start, chosen):
    """The largest and the smallest modulus that a product of some of the elements can have."""
    usual = np.isfinite(sizes) & (sizes > 0)
    sizes = np.where(usual, sizes, 1)
    start = start if np.isfinite(start) and start > 0 else _LONG(1)
    above = np.multiply.reduce(np.maximum(sizes, 1), initial=max(start, _LONG(1)), **chosen)
    below = np.multiply.reduce(np.minimum(sizes, 1), initial=min(start, _LONG(1)), **chosen)
    return above, below


def _judge_complex_product(got, elements, chosen, initial):
    z = elements.astype(np.clongdouble)
    start = np.clongdouble(1 if initial is None else complex(initial))
    name = f"float{got.dtype.itemsize * 4}"
    with np.errstate(all="ignore"):
        product = np.multiply.reduce(z, initial=start, **chosen)
        above, below = _extremes(np.abs(z), abs(start), chosen)
        n, _ = _count(z, chosen)
        allowed = gamma(4 * (n + 1), ROUNDOFF[name]) * np.abs(product)
        reach = np.maximum(above / LARGEST[name], float(np.finfo(name).tiny) / below)
        # A component may be as small as it likes compared with the other.
        allowed = allowed + 4 * n * SMALLEST[name] * above
        apart = np.abs(got.astype(np.clongdouble) - product)
    settled = reach < 0.25
    finite = np.isfinite(product)
    bad = settled & np.where(finite, ~(apart <= allowed), np.isfinite(got))
    return first_difference(bad, got, product, allowed) or (None if settled.all() else ORDER_DEPENDENT)


def _judge(got, wanted, allowed, reach, overflows):
    """Compare; `reach` is the largest partial result of any order, as a share of the largest number."""
    value = got.astype(np.float32).astype(_LONG) if got.dtype == BFLOAT16 else got.astype(_LONG)
    with np.errstate(all="ignore"):
        near = np.abs(value - wanted) <= allowed
    same = np.where(np.isfinite(wanted), near, (value == wanted) | (np.isnan(wanted) & np.isnan(value)))
    settled = np.isnan(wanted) | (reach < 0.99) | overflows
    return first_difference(settled & ~same, got, wanted, allowed) or (
        None if settled.all() else ORDER_DEPENDENT
    )
