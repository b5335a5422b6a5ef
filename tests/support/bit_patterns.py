"""Arrays of chosen bit patterns, and the results of all variants over them as bits.

Only `PCG64.random_raw` is used to make them: unlike the distributions of `numpy.random`, NumPy promises never
to change it, so that bits measured once on a GPU stay comparable.
"""

import zlib
from functools import cache

import numpy as np

import gpureduce

SIZES = (1, 2, 33, 257, 1000, 4097, 65537)
# A small grid in which threads take many elements, and one with idle blocks, besides the default.
GRIDS = (None, 5, 96)
MANY_BLOCK_SIZES = (64, 96, 128, 256, 352, 512, 992, 1024)


def raw(text, n):
    seed = zlib.crc32(text.encode())
    return np.random.PCG64(seed).random_raw(n).astype(np.uint64)


class Layout:
    """Where sign, exponent and fraction lie in a float dtype."""

    def __init__(self, dtype):
        self.uint = np.dtype(f"u{np.dtype(dtype).itemsize}")
        self.bits = self.uint.itemsize * 8
        self.fraction_bits = np.finfo(dtype).nmant
        self.sign = self.uint.type(1 << (self.bits - 1))
        self.fraction = self.uint.type((1 << self.fraction_bits) - 1)
        self.infinity = self.uint.type(
            ((1 << (self.bits - 1 - self.fraction_bits)) - 1) << self.fraction_bits
        )
        self.quiet = self.uint.type(1 << (self.fraction_bits - 1))
        self.largest_exponent = (int(self.infinity) >> self.fraction_bits) - 1  # of finite numbers
        self.bias = self.largest_exponent // 2

    def build(self, random, lowest, highest):
        """Random sign and fraction with a random exponent field from `lowest` to `highest`."""
        exponent = lowest + (random >> np.uint64(11)) % np.uint64(highest - lowest + 1)
        high = (random >> np.uint64(64 - self.bits)).astype(self.uint)  # the sign and, low, the fraction
        scrambled = (random * np.uint64(0x9E3779B97F4A7C15)).astype(self.uint) & self.fraction
        return (
            (high & self.sign)
            | (exponent.astype(self.uint) << self.uint.type(self.fraction_bits))
            | scrambled
        )


def _narrow(layout, random):
    return layout.build(random, layout.bias - 12, layout.bias + 12)


def _wide(layout, random):
    # Everything finite, but so far below the largest number that no sum of these sizes overflows.
    return layout.build(random, 0, layout.largest_exponent - 20)


def _full_range(layout, random):
    return layout.build(random, 0, layout.largest_exponent)


def _overflowing(layout, random):
    return layout.build(random, layout.largest_exponent - 8, layout.largest_exponent)


def _subnormal(layout, random):
    return layout.build(random, 0, 0)


def _around_subnormal(layout, random):
    return layout.build(random, 0, 2)


def _negative_zeros(layout, random):
    return np.full(random.size, layout.sign)


def _zeros_of_both_signs(layout, random):
    return layout.build(random, 0, 0) & layout.sign


def _put(layout, random, *patterns):
    """Narrow data with each pattern at a random place; where they meet, the later one stays."""
    values = _narrow(layout, random)
    for i, pattern in enumerate(patterns):
        values[int(random[i % random.size] >> np.uint64(7 + i)) % random.size] = pattern
    return values


def _infinity(layout, random):
    return _put(layout, random, layout.infinity, layout.infinity)


def _negative_infinity(layout, random):
    return _put(layout, random, layout.infinity | layout.sign)


def _infinities_of_both_signs(layout, random):
    return _put(layout, random, layout.infinity, layout.infinity | layout.sign)


def _quiet_nan(layout, random):
    return _put(layout, random, layout.infinity | layout.quiet | layout.uint.type(0x1234))


def _negative_nan(layout, random):
    return _put(layout, random, layout.infinity | layout.quiet | layout.sign | layout.uint.type(0x4321))


def _signalling_nan(layout, random):
    return _put(layout, random, layout.infinity | layout.uint.type(0x55))


def _two_nans(layout, random):
    return _put(
        layout,
        random,
        layout.infinity | layout.quiet | layout.uint.type(7),
        layout.infinity | layout.sign | layout.uint.type(9),
    )


def _nan_first(layout, random):
    values = _narrow(layout, random)
    values[0] = layout.infinity | layout.quiet | layout.uint.type(0x77)
    return values


def _nan_last(layout, random):
    values = _narrow(layout, random)
    values[-1] = layout.infinity | layout.sign | layout.uint.type(0x78)
    return values


def _near_one(layout, random):
    # In half a thousandth of 1, of both signs: a product of all of them stays in range.
    smaller = (random >> np.uint64(7)) % np.uint64(2) == 1
    offset = ((random >> np.uint64(20)) % np.uint64(1 << (layout.fraction_bits - 11))).astype(layout.uint)
    sign = (random >> np.uint64(64 - layout.bits)).astype(layout.uint) & layout.sign
    one = layout.uint.type(layout.bias << layout.fraction_bits)
    return sign | np.where(smaller, one - offset, one + offset)


def _any_pattern(layout, random):
    return layout.build(random, 0, layout.largest_exponent + 1)


_FLOATS = {
    "narrow": _narrow,
    "wide": _wide,
    "full_range": _full_range,
    "overflowing": _overflowing,
    "subnormal": _subnormal,
    "around_subnormal": _around_subnormal,
    "negative_zeros": _negative_zeros,
    "zeros_of_both_signs": _zeros_of_both_signs,
    "infinity": _infinity,
    "negative_infinity": _negative_infinity,
    "infinities_of_both_signs": _infinities_of_both_signs,
    "quiet_nan": _quiet_nan,
    "negative_nan": _negative_nan,
    "signalling_nan": _signalling_nan,
    "two_nans": _two_nans,
    "nan_first": _nan_first,
    "nan_last": _nan_last,
    "any_pattern": _any_pattern,
}
_PRODUCTS = {"near_one": _near_one}


def datasets(dtype, op="sum"):
    if np.dtype(dtype).kind != "f":
        return ("any_pattern",)
    return (*_PRODUCTS, *_FLOATS) if op == "prod" else tuple(_FLOATS)


@cache
def array(dataset, dtype, n):
    """The array of a data set, the same bits on every machine; read-only, since all tests share it."""
    values = _make(dataset, dtype, n)
    values.setflags(write=False)
    return values


def _make(dataset, dtype, n):
    random = raw(f"{dataset}/{dtype}/{n}", n)
    if np.dtype(dtype).kind == "i":
        unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
        return (random >> np.uint64(64 - 8 * unsigned.itemsize)).astype(unsigned).view(dtype)
    layout = Layout(dtype)
    return (_FLOATS | _PRODUCTS)[dataset](layout, random).astype(layout.uint).view(dtype)


def combinations():
    """(variant, dtype, block, grid) of all sums whose bits do not depend on the run."""
    for variant in gpureduce.variants("reduction"):
        if variant.role == "study" or "sim" not in variant.backends:
            continue
        blocks = [b for b in variant.block_sizes if len(variant.block_sizes) < 9 or b in MANY_BLOCK_SIZES]
        for dtype in variant.dtypes:
            if variant.float_atomics and np.dtype(dtype).kind == "f":
                continue
            for block in blocks:
                for grid in GRIDS if variant.fixed_grid else (None,):
                    yield variant, dtype, block, grid


def operator_combinations():
    """(variant, op, dtype) of the operators other than sum, likewise; they run with the default launch."""
    for variant in gpureduce.variants("reduction"):
        if "sim" not in variant.backends:
            continue
        for op, dtype in variant.coverage:
            ordered = variant.float_atomics and np.dtype(dtype).kind == "f" and op not in ("any", "all")
            if op != "sum" and not ordered:
                yield variant, op, dtype


def launch_name(block, grid):
    return f"b{block}" if grid is None else f"b{block}g{grid}"


def bits(variant, dtype, block, grid, device, op="sum", sizes=SIZES):
    """The bits of the results over all data sets: {data set: "hex hex ...", one for each of the sizes}."""
    measured = {}
    for dataset in datasets(dtype, op):
        results = (
            getattr(gpureduce, op)(
                array(dataset, dtype, n),
                variant=variant.name,
                device=device,
                block_size=block,
                grid_size=grid,
            )
            for n in sizes
        )
        measured[dataset] = " ".join(_hex(result) for result in results)
    return measured


def _hex(scalar):
    unsigned = np.frombuffer(scalar.tobytes(), f"u{scalar.dtype.itemsize}")
    return f"{int(unsigned[0]):0{2 * scalar.dtype.itemsize}x}"
