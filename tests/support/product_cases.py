"""Products of matrices: shapes, data and exact results, and the error that a float may have.

*Exact* data are whole numbers so small that every sum of products is representable: the product must be
equal to that of Python's integers, so that one lost, doubled or foreign product fails; no element is 0.
NumPy's integers that wrap and its doubles are as exact there, which a test holds against Python's.
*Rounded* data are compared under the bound of N. J. Higham, "Accuracy and Stability of Numerical Algorithms",
section 3.5: each of the k products takes part in at most k roundings, in any order of the additions, so

    |computed - exact| <= gamma(k) * (|A| |B|),      gamma(k) = k u / (1 - k u).

Where factors are rounded to TF32 first, each has one more relative error of 2^-11; where a factor is the sum
of two such numbers, what is left out are products of two small parts, 2^-22 each; tensor cores cut their sums
(u = 2^-22). Halves are exact factors, and the sum, in float32, is rounded once more. A complex product is
four real ones, of which two meet in each part of the result.

The exact product is that of doubles, or for doubles of long doubles, whose own error, by the same bound, is
added: of 2 k products, as complex ones have.
"""

import zlib

import numpy as np

from gpureduce._rules.dtypes import dtype_from_name

# One off a tile (32, 64, 128) or a step along k (8, 16, 32), primes, long and thin, nothing.
SHAPES = (
    (1, 1, 1), (1, 1, 2), (2, 3, 1), (1, 5, 7), (5, 1, 7), (7, 5, 1), (3, 2, 5), (2, 2, 2), (4, 4, 4), (8,
    8, 8), (7, 8, 9), (9, 7, 8), (16, 16, 16), (15, 17, 16), (17, 15, 15), (31, 32, 33), (32, 32, 32),
    (33, 31, 32), (32, 33, 31), (37, 41, 43), (63, 64, 65), (64, 64, 64), (65, 63, 64), (64, 65, 63), (65,
    65, 17), (127, 128, 8), (128, 127, 9), (128, 128, 7), (129, 127, 16), (127, 129, 15), (128, 129, 17),
    (129, 128, 1), (129, 129, 33), (130, 137, 33), (137, 130, 24), (1, 257, 65), (257, 1, 65), (1, 1,
    1025), (1, 1, 257), (2, 1, 513), (1, 2, 511), (3, 300, 5), (300, 3, 5), (5, 3, 300), (256, 2, 2), (2,
    256, 2), (2, 2, 256), (255, 3, 31), (3, 255, 31), (0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (1, 1,
    0), (130, 131, 0), (71, 73, 79), (97, 11, 13), (11, 97, 13), (13, 11, 97), (66, 34, 18), (34, 66, 10),
    (132, 136, 20), (5, 6, 2100), (129, 192, 31),
)  # fmt: skip
THIN_SHAPES = ((1, 1, 1), (5, 3, 0), (33, 31, 32), (129, 127, 16), (130, 137, 33), (1, 257, 65), (64, 65, 63))

UNIT_ROUNDOFF = {"float32": 2.0**-24, "float64": 2.0**-53, "longdouble": 2.0**-64}
CORES = 2.0**-22  # of sums in tensor cores
FACTORS = {"ieee": 0.0, "tf32": 2 * 2.0**-11 + 2.0**-22, "tf32x3": 4 * 2.0**-22, "f16x3": 4 * 2.0**-22}
LAST = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # the rounding of the result
SMALLEST = {"float16": 2.0**-25}  # half of the distance of those next to 0
EXACT_UNTIL = {"float32": 2**24, "float64": 2**53, "float16": 60000, "bfloat16": 2**24}
LARGEST = {"bfloat16": 256}  # else 1000
PARTS = {"complex64": "float32", "complex128": "float64"}


def gamma(count, dtype):
    """The relative error that `count` roundings may make, in a dtype or of a unit."""
    unit = UNIT_ROUNDOFF[dtype] if isinstance(dtype, str) else dtype
    return count * unit / (1 - count * unit)


def allowed(a, b, precision):
    """The error that a product of floats may have, relative to the product of the absolute values."""
    k, name = a.shape[-1], a.dtype.name
    if name in PARTS:
        return gamma(2 * k, PARTS[name])
    if name in LAST:
        return gamma(k, CORES) * (1 + LAST[name])
    unit = name if precision == "ieee" else CORES
    return gamma(k, unit) * (1 + FACTORS[precision]) + FACTORS[precision]


def wider(name):
    """The dtype whose products stand for the exact ones."""
    return "longdouble" if name in ("float64", "complex128") else "float64"


def numbers(dtype, shape, k, kind, seed):
    """An array whose products of length k are exact, wrap ("extremes") or round."""
    rng = np.random.default_rng(zlib.crc32(f"{dtype}/{shape}/{k}/{kind}/{seed}".encode()))
    dtype = dtype_from_name(dtype)
    if dtype.name in PARTS:
        re, im = (numbers(PARTS[dtype.name], shape, 4 * k, kind, f"{seed}/{part}") for part in "ri")
        return (re + 1j * im).astype(dtype)
    if kind == "rounded":
        return (rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)).astype(dtype)
    if kind == "extremes":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    largest = int(min((EXACT_UNTIL.get(dtype.name, 2**62) / max(k, 1)) ** 0.5, LARGEST.get(dtype.name, 1000)))
    values = rng.integers(1, largest, shape, endpoint=True)
    if dtype.kind != "u":
        values = np.where(rng.integers(0, 2, shape) == 1, values, -values)
    return values.astype(dtype)


def kinds(dtype):
    """The kinds of data of a dtype."""
    return ("exact", "extremes") if dtype_from_name(dtype).kind in "iu" else ("exact", "rounded")


def magnitude(a):
    """Absolute values; of complex numbers the sum of those of both parts."""
    return abs(a.real) + abs(a.imag) if a.dtype.kind == "c" else abs(a)


def exact(a, b):
    """The product of whole numbers, modulo what the dtype holds, as Python's integers have it."""
    if a.dtype.kind == "c":
        re, im = exact(a.real, b.real) - exact(a.imag, b.imag), exact(a.real, b.imag) + exact(a.imag, b.real)
        return (re + 1j * im).astype(a.dtype)
    if a.dtype.kind in "iu":  # 64 bits that wrap have the lower ones right
        return np.matmul(a.astype(np.uint64), b.astype(np.uint64)).astype(a.dtype)
    wide = a.astype(np.float64), b.astype(np.float64)
    largest = np.matmul(*map(abs, wide)).max(initial=0)
    assert largest <= 2**53  # doubles hold every sum, in any order
    return np.matmul(*wide).astype(a.dtype)


def mismatch(a, b, got, kind, precision="ieee"):
    """What is wrong with the product of two arrays, or None."""
    shape = np.matmul(np.empty(a.shape, np.int8), np.empty(b.shape, np.int8)).shape
    if got.shape != shape or got.dtype != a.dtype:
        return f"got {got.dtype} of shape {got.shape}, expected {a.dtype} of {shape}"
    if kind != "rounded":
        wanted = exact(a, b)
        wrong = got != wanted
    else:
        width = wider(a.dtype.name)
        reference = np.result_type(width, np.complex64) if a.dtype.kind == "c" else np.dtype(width)
        wide = a.astype(reference), b.astype(reference)
        wanted, sizes = np.matmul(*wide), np.matmul(*map(magnitude, wide))
        error = abs(got.astype(reference) - wanted)
        bound = (allowed(a, b, precision) + gamma(2 * a.shape[-1], width)) * sizes
        bound += LAST.get(a.dtype.name, 0) * (abs(wanted) + bound) + SMALLEST.get(a.dtype.name, 0)
        wrong = ~(error <= bound)
    if not wrong.any():
        return None
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    first = f"the first at {place}: {got[place]}, not {wanted[place]}"
    return f"{int(wrong.sum())} of {wrong.size} are wrong, {first}"


ALL_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip


def strided(array, how):
    """The same elements lying another way."""
    if how == "transposed":
        return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
    if how == "backwards":
        return np.ascontiguousarray(array[..., ::-1, ::-1])[..., ::-1, ::-1]
    if how == "apart":
        wide = np.full((*array.shape[:-2], 2 * array.shape[-2], 3 * array.shape[-1]), 77, array.dtype)
        wide[..., ::2, ::3] = array
        return wide[..., ::2, ::3]
    if how == "cropped":
        wide = np.full((*array.shape[:-2], array.shape[-2] + 3, array.shape[-1] + 5), 77, array.dtype)
        wide[..., 1:-2, 3:-2] = array
        return wide[..., 1:-2, 3:-2]
    if how == "record":
        records = np.zeros(array.shape, [("before", "i1"), ("value", array.dtype)])
        records["value"] = array
        return records["value"]
    return array
