"""Convolutions: shapes, data, and the results that they must have.

*Exact* data are whole numbers so small that every sum of products is representable: results must be equal to
those of 64-bit integers, so that one lost, doubled or foreign product fails; no element is 0. *Rounded* data
are compared under the bound of product_cases.py, by which a result of k products is off by gamma(k) times the
sum of the absolute products. The reference takes a tap of the kernel at a time, out of padded pictures.
"""

from typing import NamedTuple

import numpy as np

from tests.support import product_cases


class Case(NamedTuple):
    """Sizes: n pictures of h by w with c channels, f filters of kh by kw."""

    n: int
    h: int
    w: int
    c: int
    f: int
    kh: int
    kw: int
    stride: tuple | int = 1
    padding: tuple | int | str = 0
    dilation: tuple | int = 1
    groups: int = 1

    @property
    def products(self):
        """How many a result has, at most."""
        return self.kh * self.kw * self.c // self.groups

    @property
    def options(self):
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "groups": self.groups,
        }

    def shapes(self, layout):
        deep = self.c // self.groups
        if layout == "NHWC":
            return (self.n, self.h, self.w, self.c), (self.f, self.kh, self.kw, deep)
        return (self.n, self.c, self.h, self.w), (self.f, deep, self.kh, self.kw)


CASES = tuple(
    Case(*sizes)
    for sizes in (
        # Nothing, one, and few of everything.
        (1, 1, 1, 1, 1, 1, 1), (0, 5, 5, 2, 3, 3, 3), (2, 5, 5, 2, 0, 3, 3), (2, 5, 5, 0, 3, 3, 3),
        (1, 0, 4, 2, 3, 2, 2, 1, 1), (1, 4, 0, 2, 3, 2, 2, 1, (0, 1)), (1, 3, 3, 1, 1, 3, 3),
        (1, 1, 1, 7, 5, 1, 1), (3, 1, 1, 2, 2, 3, 3, 1, 1), (1, 2, 2, 1, 1, 2, 2), (2, 3, 5, 2, 3, 2, 3),
        # Kernels of every size, even ones too.
        (1, 9, 8, 3, 4, 1, 1), (1, 9, 8, 3, 4, 1, 3), (1, 9, 8, 3, 4, 3, 1), (1, 9, 8, 3, 4, 2, 2),
        (1, 9, 8, 3, 4, 4, 2), (1, 9, 8, 3, 4, 5, 5), (1, 9, 11, 3, 4, 6, 4), (1, 9, 8, 3, 4, 7, 7),
        (1, 7, 7, 2, 2, 7, 7), (2, 13, 11, 3, 5, 7, 7, 2, 3), (1, 16, 17, 3, 8, 11, 3),
        # Strides.
        (1, 9, 9, 2, 3, 3, 3, 2), (1, 10, 9, 2, 3, 3, 3, 2), (2, 11, 10, 2, 3, 3, 3, 3),
        (1, 9, 9, 2, 3, 1, 1, 2), (1, 9, 9, 2, 3, 1, 1, 3), (1, 12, 9, 2, 3, 3, 2, (1, 2)),
        (1, 9, 12, 2, 3, 2, 3, (3, 1)), (1, 5, 5, 2, 3, 2, 2, 9), (1, 8, 8, 4, 4, 2, 2, 2),
        # Paddings, as wide as the kernel and wider.
        (1, 5, 6, 2, 3, 3, 3, 1, 1), (1, 5, 6, 2, 3, 3, 3, 1, 2), (1, 5, 6, 2, 3, 3, 3, 1, 3),
        (1, 5, 6, 2, 3, 3, 3, 1, (0, 2)), (1, 5, 6, 2, 3, 3, 3, 1, (5, 0)), (1, 5, 6, 2, 3, 5, 3, 2, (2, 1)),
        (1, 5, 6, 2, 3, 4, 2, 1, "same"), (1, 5, 6, 2, 3, 3, 5, 1, "same"), (1, 5, 6, 2, 3, 3, 3, 1, "valid"),
        (1, 6, 6, 2, 3, 2, 3, 1, "same", (3, 2)), (2, 4, 4, 2, 3, 1, 1, 1, 1), (1, 7, 5, 3, 2, 4, 4, 3, 3),
        # Dilations.
        (1, 9, 9, 2, 3, 3, 3, 1, 0, 2), (1, 9, 9, 2, 3, 3, 3, 1, 2, 2), (1, 11, 13, 2, 3, 3, 3, 2, 3, 3),
        (1, 9, 9, 2, 3, 2, 3, 1, 0, (4, 1)), (1, 9, 9, 2, 3, 3, 2, (2, 3), (1, 2), (1, 5)),
        # Groups, and a filter or more for each channel.
        (1, 6, 7, 4, 6, 3, 3, 1, 1, 1, 2), (2, 6, 7, 6, 6, 3, 3, 1, 1, 1, 3),
        (1, 6, 7, 5, 5, 3, 3, 1, 1, 1, 5), (1, 6, 7, 4, 8, 3, 3, 2, 1, 1, 4),
        (1, 6, 7, 3, 9, 1, 1, 1, 0, 1, 3), (1, 9, 7, 8, 4, 3, 2, 1, 2, 2, 4),
        (1, 10, 9, 33, 33, 3, 3, 1, 1, 1, 33), (2, 5, 5, 4, 6, 1, 1, 2, 0, 1, 2),
        # One channel a group: filters by fours and not, rows and columns of one more than a thread takes.
        (2, 5, 9, 8, 8, 3, 3, 1, 1, 1, 8), (1, 9, 5, 4, 4, 5, 3, 2, 2, 1, 4),
        (1, 6, 7, 8, 16, 3, 3, 1, 1, 1, 8), (1, 8, 8, 1, 12, 3, 3, 1, 1),
        (1, 6, 9, 12, 12, 3, 3, (2, 1), 2, 2, 12), (3, 4, 1, 4, 4, 1, 1, 1, 0, 1, 4),
        (1, 1, 1, 6, 6, 1, 1, 1, 0, 1, 6), (1, 10, 7, 5, 5, 3, 3, 2, 1, 1, 5),
        (2, 9, 6, 8, 8, 3, 3, 2, 1, 1, 8),
        # Tiles and one off: pixels, channels, filters; the pictures of the published size, cut.
        (1, 8, 32, 4, 32, 3, 3, 1, 1), (1, 9, 33, 4, 33, 3, 3), (1, 7, 31, 5, 31, 3, 3, 1, 1),
        (1, 10, 66, 12, 24, 3, 3), (2, 6, 34, 12, 24, 3, 3), (1, 5, 65, 12, 23, 3, 3),
        (1, 4, 130, 3, 8, 3, 3, 1, 1), (1, 6, 6, 32, 16, 3, 3, 1, 1), (1, 5, 6, 33, 17, 3, 3),
        (1, 4, 5, 64, 65, 1, 1), (3, 4, 4, 31, 64, 2, 2), (1, 3, 4, 129, 7, 3, 3),
        (5, 3, 3, 16, 128, 3, 3, 1, 1), (2, 17, 19, 7, 13, 3, 5, 2, 2), (1, 4, 134, 12, 26, 3, 3, 1, 1),
        # Of 1 x 1 with few filters.
        (2, 5, 28, 40, 3, 1, 1), (1, 4, 5, 64, 2, 1, 1), (1, 3, 3, 8, 4, 1, 1),
    )
)  # fmt: skip
THIN = CASES[::10] + CASES[1:3]
FEW = (
    Case(1, 1, 1, 1, 1, 1, 1), Case(2, 13, 11, 3, 5, 7, 7, 2, 3),
    Case(1, 9, 9, 2, 3, 3, 2, (2, 3), (1, 2), (1, 5)),
    Case(1, 6, 7, 4, 6, 3, 3, 1, 1, 1, 2), Case(2, 6, 34, 12, 24, 3, 3),
)  # fmt: skip

LAYOUTS = ("NHWC", "NCHW")


def arrays(dtype, case, layout, kind):
    """x and w of a case."""
    shapes = case.shapes(layout)
    return tuple(
        product_cases.numbers(dtype, shape, case.products, kind, side)
        for shape, side in zip(shapes, "xw", strict=True)
    )


def paddings(padding, dilation, kernel):
    """Rows above and below, and columns before and after."""
    if padding == "valid":
        return ((0, 0), (0, 0))
    if padding == "same":
        all_of = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return tuple((total // 2, total - total // 2) for total in all_of)
    down, along = pair(padding)
    return ((down, down), (along, along))


def pair(given):
    return given if isinstance(given, tuple) else (given, given)


def convolve(x, w, stride=1, padding=0, dilation=1, groups=1, layout="NHWC"):
    """The convolution in the dtype of the arrays."""
    if layout == "NCHW":
        x, w = np.moveaxis(x, 1, -1), np.moveaxis(w, 1, -1)
    kernel, stride, dilation = w.shape[1:3], pair(stride), pair(dilation)
    around = paddings(padding, dilation, kernel)
    room = np.pad(x, ((0, 0), *around, (0, 0)))
    sizes = [
        (length - d * (k - 1) - 1) // s + 1
        for length, d, k, s in zip(room.shape[1:3], dilation, kernel, stride, strict=True)
    ]
    result = np.zeros((x.shape[0], *sizes, w.shape[0]), x.dtype)
    channels, filters = x.shape[-1] // groups, w.shape[0] // groups
    for i in range(kernel[0]):
        rows = room[:, i * dilation[0] :][:, : (sizes[0] - 1) * stride[0] + 1 : stride[0]]
        for j in range(kernel[1]):
            seen = rows[:, :, j * dilation[1] :][:, :, : (sizes[1] - 1) * stride[1] + 1 : stride[1]]
            for g in range(groups):
                own = slice(g * filters, (g + 1) * filters)
                result[..., own] += seen[..., g * channels : (g + 1) * channels] @ w[own, i, j].T
    return np.ascontiguousarray(np.moveaxis(result, -1, 1)) if layout == "NCHW" else result


WINOGRAD = {  # absolute values of what turns tiles, filters and sums
    "tiles": np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]]),
    "filters": np.array([[2, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 2]]) / 2,
    "sums": np.array([[1, 1, 1, 0], [0, 1, 1, 1]]),
}


def is_winograds(w, stride=1, padding=0, dilation=1, groups=1, layout="NHWC"):
    """Whether Winograd's way is one for these filters: of 3 x 3 neighbours."""
    kernel = w.shape[1:3] if layout == "NHWC" else w.shape[2:]
    return kernel == (3, 3) and pair(stride) == pair(dilation) == (1, 1) and groups == 1


def winograd_sizes(x, w, stride=1, padding=0, dilation=1, groups=1, layout="NHWC"):
    """The sums of absolute products that Winograd's results are put together from."""
    if layout == "NCHW":
        x, w = np.moveaxis(x, 1, -1), np.moveaxis(w, 1, -1)
    around = paddings(padding, pair(dilation), w.shape[1:3])
    room = np.pad(x, ((0, 0), *around, (0, 0)))
    down, along = (length - 2 for length in room.shape[1:3])
    room = np.pad(room, ((0, 0), (0, down % 2), (0, along % 2), (0, 0)))
    tiles = np.lib.stride_tricks.sliding_window_view(room, (4, 4), axis=(1, 2))[:, ::2, ::2]
    turned = [
        matrix @ abs(each) @ matrix.T
        for matrix, each in ((WINOGRAD["tiles"], tiles), (WINOGRAD["filters"], w.transpose(0, 3, 1, 2)))
    ]
    sums = np.einsum("nyxcij,fcij->nyxfij", *turned)
    pairs = WINOGRAD["sums"] @ sums @ WINOGRAD["sums"].T
    n, high, wide, f = pairs.shape[:4]
    sizes = pairs.transpose(0, 1, 4, 2, 5, 3).reshape(n, 2 * high, 2 * wide, f)[:, :down, :along]
    return np.moveaxis(sizes, -1, 1) if layout == "NCHW" else sizes


def mismatch(x, w, got, kind, precision="ieee", **options):
    """What is wrong with a convolution of two arrays, or None."""
    exact = kind == "exact"
    width = "float64" if exact else product_cases.wider(x.dtype.name)
    wide = [each.astype(width) for each in (x, w)]
    wanted = convolve(*wide, **options)
    if got.shape != wanted.shape or got.dtype != x.dtype:
        return f"got {got.dtype} of shape {got.shape}, expected {x.dtype} of {wanted.shape}"
    if exact:
        wrong = got != wanted.astype(x.dtype)
    else:
        name, k = x.dtype.name, int(np.prod(w.shape[1:]))
        sizes = convolve(*map(abs, wide), **options)
        if precision == "winograd":
            precision = "ieee"
            if is_winograds(w, **options):
                sizes = winograd_sizes(*wide, **options)
                k += 12  # roundings of the transforms
        relative = product_cases.allowed(np.empty((0, k), x.dtype), None, precision)
        bound = (relative + product_cases.gamma(k, width)) * sizes
        bound += product_cases.LAST.get(name, 0) * (abs(wanted) + bound) + product_cases.SMALLEST.get(name, 0)
        wrong = ~(abs(got.astype(width) - wanted) <= bound)
    if not wrong.any():
        return None
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    first = f"the first at {place}: {got[place]}, not {wanted[place]}"
    return f"{int(wrong.sum())} of {wrong.size} are wrong, {first}"


def strided(array, how):
    """The same elements lying another way."""
    if how == "moved":
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)
    if how == "turned":
        return np.asfortranarray(array)
    if how == "backwards":
        return np.ascontiguousarray(array[::-1, ::-1, ::-1, ::-1])[::-1, ::-1, ::-1, ::-1]
    if how == "apart":
        wide = np.full([2 * length for length in array.shape], 77, array.dtype)
        wide[::2, ::2, ::2, ::2] = array
        return wide[::2, ::2, ::2, ::2]
    if how == "cropped":
        wide = np.full([length + 3 for length in array.shape], 77, array.dtype)
        wide[1:-2, 2:-1, 1:-2, 2:-1] = array
        return wide[1:-2, 2:-1, 1:-2, 2:-1]
    if how == "record":
        records = np.zeros(array.shape, [("before", "i1"), ("value", array.dtype)])
        records["value"] = array
        return records["value"]
    return array
