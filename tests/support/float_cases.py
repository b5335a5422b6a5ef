"""Cases for operators of floating numbers: dtypes, shapes, layouts, axes, and elements of all kinds."""

import numpy as np

import gpureduce
from tests.support import numpy_oracle as oracle

FLOATS = (*oracle.FLOATS, *oracle.COMPLEX)
SHAPES = [
    (),
    (1,),
    (5,),
    (129,),
    (1000,),
    (3, 4),
    (40, 70),
    (300, 2),
    (2, 300),
    (1, 9),
    (5, 6, 7),
    (33, 1, 8),
    (2, 3, 4, 5),
]
LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: np.asfortranarray(a),
    "reversed": lambda a: a[..., ::-1] if a.ndim else a,
    "every other": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "swapped": lambda a: np.ascontiguousarray(np.swapaxes(a, 0, -1)).swapaxes(0, -1) if a.ndim else a,
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf]


def real_elements(rng, shape, dtype, nans, specials=True):
    """Numbers of moderate size, some of them NaN, and now and then zeros and infinities."""
    values = rng.standard_normal(shape) * rng.choice([0.1, 1.0, 8.0])
    if specials and rng.random() < 0.3:
        values = np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), values)
    if rng.random() < 0.3:
        values = np.round(values)  # so that some are equal
    return np.where(rng.random(shape) < nans, np.nan, values).astype(dtype)


def elements(rng, shape, name, nans, specials=True):
    """The same of any dtype; of complex numbers either part may be NaN."""
    dtype = oracle.dtype_of(name)
    if dtype.kind != "c":
        return real_elements(rng, shape, dtype, nans, specials)
    values = np.empty(shape, dtype)
    values.real = real_elements(rng, shape, values.real.dtype, nans, specials)
    values.imag = real_elements(rng, shape, values.real.dtype, nans / 2, specials)
    return values


def axes_of(rng, ndim, several=True):
    """An axis, several of them, or None."""
    if ndim == 0 or rng.random() < 0.35:
        return None
    if several and rng.random() < 0.3:
        count = rng.integers(1, ndim, endpoint=True)
        return tuple(int(one) for one in rng.permutation(ndim)[:count] - ndim * rng.integers(0, 2))
    return int(rng.integers(-ndim, ndim))


def case(rng, names=FLOATS, nans=None, several=True, specials=True):
    """An array and an axis."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    share = rng.choice([0.0, 0.2, 0.9, 1.0]) if nans is None else nans
    array = elements(rng, shape, names[rng.integers(len(names))], share, specials)
    array = list(LAYOUTS.values())[rng.integers(len(LAYOUTS))](array)
    return array, axes_of(rng, array.ndim, several)


def is_nan(array):
    """Where elements are NaN, bfloat16 too."""
    return np.isnan(array.astype(np.float32) if array.dtype == oracle.BFLOAT16 else array)


def plain(result):
    """A result of either place, on the host."""
    return result.numpy() if isinstance(result, gpureduce.DeviceArray) else result
