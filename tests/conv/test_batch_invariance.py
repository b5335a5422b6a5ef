"""The bits of an image do not depend on how many other images there are, or which of them it is."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpureduce
from gpureduce._rules.dtypes import dtype_from_name
from tests.support import conv_cases
from tests.support.conv_cases import Case

KINDS = [
    *(("float32", precision) for precision in ("ieee", "tf32", "tf32x3", "f16x3")),
    *((dtype, None) for dtype in ("float64", "float16", "bfloat16")),
]
# By precision or dtype and layout, a layer of which kernels with other bits compute few images and many.
CHANGING = {
    ("ieee", "NHWC"): Case(40, 6, 4, 8, 128, 3, 3, 1, 1),
    ("ieee", "NCHW"): Case(20, 9, 8, 16, 128, 3, 3, 1, 0, 1, 4),
    ("tf32", "NHWC"): Case(60, 4, 13, 8, 128, 3, 3, 1, 1, 1, 2),
    ("tf32", "NCHW"): Case(100, 4, 9, 48, 128, 1, 1),
    ("tf32x3", "NHWC"): Case(100, 3, 12, 32, 128, 3, 3, 1, 1, 1, 4),
    ("tf32x3", "NCHW"): Case(20, 10, 5, 96, 64, 3, 3, 1, 1, 1, 2),
    ("f16x3", "NHWC"): Case(10, 11, 12, 32, 128, 3, 3, 1, 0, 1, 2),
    ("f16x3", "NCHW"): Case(40, 13, 6, 4, 64, 5, 5, 1, 1),
    ("float64", "NHWC"): Case(60, 5, 10, 8, 16, 5, 5, 1, 1, 1, 2),
    ("float64", "NCHW"): Case(60, 13, 5, 136, 32, 3, 3, 1, 0, 1, 4),
    ("float16", "NHWC"): Case(40, 5, 7, 34, 128, 1, 1), ("float16", "NCHW"): Case(100, 8, 5, 34, 32, 3, 3),
    ("bfloat16", "NHWC"): Case(100, 1, 6, 192, 512, 1, 1, 1, 0, 1, 4),
    ("bfloat16", "NCHW"): Case(40, 9, 10, 64, 8, 3, 3),
}  # fmt: skip
# Kernels that are no rungs, and those whose order is their own.
OTHERS = (
    Case(7, 9, 8, 12, 24, 3, 3, 1, 1), Case(6, 11, 9, 3, 16, 5, 5, 2, 2), Case(9, 8, 8, 64, 3, 1, 1),
    Case(5, 12, 9, 20, 20, 3, 3, 1, 1, 1, 20), Case(5, 9, 9, 24, 32, 3, 2, (2, 1), 1, (1, 2), 2),
    Case(9, 7, 7, 16, 1, 3, 3, 1, 1), Case(5, 8, 8, 48, 32, 1, 1, 2),
)  # fmt: skip
# Of a GPU: layers whose kernels differ between few images and many.
LARGE = (
    Case(24, 112, 112, 3, 64, 7, 7, 2, 3), Case(24, 56, 56, 64, 64, 1, 1),
    Case(24, 28, 28, 128, 128, 3, 3, 1, 1), Case(24, 28, 28, 256, 256, 3, 3, 2, 1),
    Case(24, 14, 14, 256, 256, 3, 3, 1, 1),
    Case(24, 14, 14, 512, 512, 3, 3, 2, 1), Case(24, 7, 7, 512, 512, 3, 3, 1, 1),
    Case(24, 14, 14, 1024, 512, 1, 1), Case(24, 7, 7, 512, 2048, 1, 1), Case(24, 28, 28, 512, 128, 1, 1),
    Case(24, 56, 56, 32, 32, 3, 3, 1, 1, 1, 32), Case(24, 137, 153, 17, 29, 5, 3, (1, 2), (2, 1)),
    Case(24, 64, 64, 64, 64, 3, 3, 1, 2, 2), Case(24, 28, 28, 256, 256, 3, 3, 1, 1, 1, 8),
    Case(24, 64, 64, 64, 2, 1, 1), Case(24, 40, 40, 12, 24, 3, 3, 1, 1),
)  # fmt: skip


def spread(shape, dtype, seed):
    """Numbers over many exponents, of both signs, so that another order of a sum has other bits."""
    rng = np.random.default_rng(seed)
    exponents = 3 if dtype == "float16" else 8
    drawn = rng.standard_normal(shape, np.float32) * np.exp2(rng.integers(-exponents, exponents + 1, shape))
    return drawn.astype(dtype_from_name(dtype))


def arrays(case, dtype, layout):
    shapes = case.shapes(layout)
    return spread(shapes[0], dtype, case.c), spread(shapes[1], dtype, case.f)


def same_bits(x, y):
    return x.shape == y.shape and x.tobytes() == y.tobytes()


def parts_of(images):
    """The first and the end of some batches."""
    half, middle = images // 2, images // 3
    return {(0, 1), (middle, middle + 2), (images - 1, images), (images - half, images)}


def in_a_new_thread(function, *args, **options):
    """A thread remembers the orders of layers; a new one chooses them anew."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *args, **options).result()


def check(case, kind, layout, device, batches=parts_of, **options):
    dtype, precision = kind
    x, w = arrays(case, dtype, layout)
    options = {**case.options, "layout": layout, "precision": precision, "device": device, **options}
    whole = gpureduce.conv2d(x, w, **options)
    assert np.isfinite(whole.astype(np.float32)).all()
    for first, end in batches(case.n):
        got = in_a_new_thread(gpureduce.conv2d, x[first:end], w, **options)
        assert same_bits(got, whole[first:end]), (case, layout, first, end)


@pytest.mark.parametrize("layout", conv_cases.LAYOUTS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_images_alone_and_among_others(kind, layout, device, on_gpu, some):
    check(CHANGING[kind[1] or kind[0], layout], kind, layout, device)
    for case in some(OTHERS, 3):
        check(case, kind, layout, device)
    if on_gpu:
        for case in LARGE[2 * KINDS.index(kind) % 5 + (layout == "NCHW") :: 5]:
            check(case, kind, layout, device)


def test_any_order(device):
    """Without the promise, few images take the fastest kernels, whose bits are other ones in most layers."""
    kept = 0
    for kind in KINDS:
        for layout in conv_cases.LAYOUTS:
            x, w = arrays(case := CHANGING[kind[1] or kind[0], layout], kind[0], layout)
            options = {**case.options, "layout": layout, "precision": kind[1], "device": device}
            whole = gpureduce.conv2d(x, w, batch_invariant=False, **options)
            kept += same_bits(gpureduce.conv2d(x[:1], w, batch_invariant=False, **options), whole[:1])
    assert kept < len(CHANGING) // 2


@pytest.mark.parametrize("kind", [("float32", "ieee"), ("float32", "tf32"), ("float16", None)], ids=str)
def test_drawn_layers(kind, device, on_gpu):
    rng = np.random.default_rng(len(str(kind)))
    for _ in range(40 if on_gpu else 4):
        kernel = [int(each) for each in rng.choice([1, 1, 2, 3, 3, 5], 2)]
        channels, filters, groups = (int(rng.choice(of)) for of in ([4, 16, 24, 64], [8, 20, 64], [1, 1, 2]))
        sizes = [int(each) for each in rng.integers(max(kernel), 40 if on_gpu else 9, 2)]
        case = Case(
            int(rng.integers(3, 33 if on_gpu else 7)), *sizes, channels * groups, filters * groups, *kernel,
            int(rng.choice([1, 1, 2])), int(rng.integers(0, 2)), 1, groups,
        )  # fmt: skip
        check(case, kind, str(rng.choice(conv_cases.LAYOUTS)), device)


@pytest.mark.many
@pytest.mark.parametrize(
    ("kind", "layout"), [(("float32", "tf32"), "NCHW"), (("float16", None), "NHWC")], ids=str
)
def test_parts_of_k(kind, layout, device):
    """Of few images, blocks of a cluster have a part of k each; of many images, a block takes all parts."""
    few_and_many = [(0, 1), (140, 144), (10, 80)]
    check(Case(150, 8, 8, 512, 64, 1, 1), kind, layout, device, lambda _: few_and_many)


def test_a_flag_is_required(device):
    with pytest.raises(TypeError, match="batch_invariant: expected a bool"):
        gpureduce.conv2d(
            np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), batch_invariant=np.ones(3), device=device
        )
