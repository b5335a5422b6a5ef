"""What property tests draw: numbers of every dtype, shapes, layouts, axes, masks; and how they are drawn."""

from collections import Counter

import numpy as np
import pytest

from tests.support import numpy_oracle as oracle

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


# Numbers


def numbers(rng, dtype, shape, flavour):
    """An array of the dtype; `flavour` says which numbers."""
    with np.errstate(all="ignore"):
        return FLAVOURS[flavour](rng, dtype, shape)


def _small(rng, dtype, shape):
    low = 0 if dtype.kind in "bu" else -9
    values = rng.integers(low, 9, size=shape, endpoint=True)
    if dtype.kind == "c":
        values = values + 1j * rng.integers(-9, 9, size=shape)
    return values.astype(dtype)


def _wide(rng, dtype, shape):
    """The full range of integers; floats over many magnitudes."""
    if dtype.kind == "b":
        return rng.integers(0, 2, size=shape).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)
    spread = 2.0 if dtype.name == "float16" else 6.0
    values = rng.normal(size=shape) * np.exp(spread * rng.normal(size=shape))
    if dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape) * np.exp(spread * rng.normal(size=shape))
    return values.astype(dtype)


def _near_one(rng, dtype, shape):
    """Products of thousands of these stay in range."""
    if dtype.kind not in "fcV":
        return _small(rng, dtype, shape)
    values = np.exp(0.05 * rng.normal(size=shape)) * rng.choice([-1, 1], size=shape)
    if dtype.kind == "c":
        values = values * np.exp(2j * np.pi * rng.random(size=shape))
    return values.astype(dtype)


def _special(rng, dtype, shape):
    """A few NaNs, infinities, zeros of both signs and extremes among others."""
    values = np.array(_near_one(rng, dtype, shape))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        pool = [0, info.min, info.max, info.max]
    elif dtype.kind == "b":
        pool = [False]
    else:
        pool = [np.nan, np.inf, -np.inf, 0.0, -0.0]
        if dtype.kind == "c":
            pool += [complex(np.nan, 1), complex(1, np.nan), complex(np.inf, -1), complex(2, -np.inf)]
        pool = rng.choice(np.array(pool), size=rng.integers(1, 4))
    hit = rng.random(size=shape) < rng.choice([0.02, 0.2, 0.9])
    return np.where(hit, rng.choice(np.array(pool).astype(dtype), size=shape), values).astype(dtype)


def _extreme(rng, dtype, shape):
    """The ends of a float's range: sums overflow."""
    if dtype.kind not in "fcV":
        return _special(rng, dtype, shape)
    largest = 3e38 if dtype.name == "bfloat16" else np.finfo(dtype).max
    tiny = 1e-40 if dtype.name == "bfloat16" else np.finfo(dtype).smallest_subnormal
    pool = np.array([largest, -largest, largest / 4, tiny, -tiny, 1.0])
    keep = rng.choice(pool, size=rng.integers(1, 4))
    return rng.choice(keep, size=shape).astype(dtype)


def _sparse(rng, dtype, shape):
    """Zeros and ones, mostly of one kind: ties, and truth that one element decides."""
    common = rng.integers(0, 2)
    values = np.full(shape, common)
    values[rng.random(size=shape) < 0.1] = 1 - common
    return values.astype(dtype)


FLAVOURS = {
    "small": _small,
    "wide": _wide,
    "near one": _near_one,
    "special": _special,
    "extreme": _extreme,
    "sparse": _sparse,
}


# Layouts


def _sliced(draw, rng, shape, make):
    """An array of the shape that is a slice, with steps of both signs, of a larger one."""
    steps = [draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in shape]
    starts = [draw(st.integers(0, 2)) for _ in shape]
    large = [start + length * abs(step) for start, length, step in zip(starts, shape, steps, strict=True)]
    base = make(tuple(large))
    for axis, (start, step) in enumerate(zip(starts, steps, strict=True)):
        base = base[(slice(None),) * axis + (slice(start, None),)]
        base = base[(slice(None),) * axis + (slice(None, None, step),)]
    return base


def _permuted(draw, rng, shape, make):
    order = draw(st.permutations(range(len(shape))))
    inverse = np.argsort(order)
    return make(tuple(shape[axis] for axis in order)).transpose(inverse)


def _broadcast(draw, rng, shape, make):
    thin = tuple(1 if draw(st.booleans()) else length for length in shape)
    drop = draw(st.integers(0, len(shape)))
    while drop and any(length != 1 for length in thin[:drop]):
        drop -= 1
    return np.broadcast_to(make(thin[drop:]), shape)


def _misaligned(draw, rng, shape, make):
    array = make(shape)
    raw = np.empty(array.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return raw[1:].view(array.dtype).reshape(shape)


def _field(draw, rng, shape, make):
    array = make(shape)
    records = np.zeros(shape, np.dtype([("other", np.int8), ("value", array.dtype)]))
    records["value"] = array
    return records["value"]


def _wild(draw, rng, shape, make):
    """Axes of one element with a stride that leads nowhere."""
    array = make(shape)
    strides = [
        stride if length != 1 else 8 * 12345677 for length, stride in zip(shape, array.strides, strict=True)
    ]
    return np.lib.stride_tricks.as_strided(array, shape, strides)


def _read_only(draw, rng, shape, make):
    array = make(shape)
    array.setflags(write=False)
    return array


def _swapped(draw, rng, shape, make):
    array = make(shape)
    if array.dtype == oracle.BFLOAT16:
        return array
    return array.astype(array.dtype.newbyteorder())


class _Sub(np.ndarray):
    pass


LAYOUTS = {
    "C": lambda draw, rng, shape, make: make(shape),
    "F": lambda draw, rng, shape, make: np.asfortranarray(make(shape)) if shape else make(shape),
    "permuted": _permuted,
    "sliced": _sliced,
    "broadcast": _broadcast,
    "byte-swapped": _swapped,
    "misaligned": _misaligned,
    "field": _field,
    "wild stride": _wild,
    "read-only": _read_only,
    "subclass": lambda draw, rng, shape, make: make(shape).view(_Sub),
    "list": lambda draw, rng, shape, make: make(shape).tolist(),
}


# Shapes, axes, masks

SIZES = st.one_of(st.integers(1, 4), st.integers(0, 9), st.just(1), st.sampled_from([31, 33, 64]))
LONG = st.integers(200, 700)


@st.composite
def shapes(draw):
    """Up to four dimensions, of up to some thousand elements."""
    shape = draw(st.lists(SIZES, max_size=4))
    if shape and draw(st.integers(0, 9)) == 0:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(LONG)
    while np.prod(shape, dtype=int) > 4000:
        shape[int(np.argmax(shape))] //= 3
    return tuple(shape)


def valid_axes(op, ndim):
    """None, an axis or, where the operator takes them, a tuple of axes; negative ones too."""
    if ndim == 0:
        few = [None] if op == "mean" else [None, 0, -1]
        return st.sampled_from(few if op in oracle.ARG else [*few, ()])
    one = st.integers(-ndim, ndim - 1)
    if op in oracle.ARG:
        return st.one_of(st.none(), one)
    several = st.lists(one, unique_by=lambda axis: axis % ndim, max_size=ndim).map(tuple)
    return st.one_of(st.none(), one, several)


def mask(draw, rng, shape):
    thin = tuple(1 if draw(st.integers(0, 3)) == 0 else length for length in shape)
    drop = draw(st.integers(0, len(shape)))
    chosen = rng.random(size=thin[drop:]) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    return chosen.tolist() if draw(st.integers(0, 5)) == 0 else np.asarray(chosen)


# Judgement


def judged(cases, judge, device, count, config):
    """Draw a number of cases, judge each, and count their classes; a wrong one is an AssertionError."""
    seed = config.getoption("hypothesis_seed", None)
    classes = Counter()

    @hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=seed is None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.explain],
    )
    @hypothesis.given(cases)
    def check(case):
        wrong, kind = judge(case, device)
        classes["wrong" if wrong else kind] += 1
        assert wrong is None, wrong

    check()
    return classes
