"""Every rung of the convolutions, and `auto`, is right for every shape and every argument."""

import numpy as np
import pytest

import gpureduce
from tests.support import conv_cases as cases

VARIANTS = [each for each in gpureduce.variants("conv") if each.role != "study" and each.block_sizes]
PRECISIONS = {"auto": "ieee", **{variant.name: variant.precision or "ieee" for variant in VARIANTS}}
PRECISIONS["c2_winograd"] = "winograd"  # whose error is another one
NAMES = {"auto": "float32", **{variant.name: variant.dtypes[0] for variant in VARIANTS}}  # a dtype of each
DTYPES = ("float32", "float64", "float16", "bfloat16")


def combinations():
    for variant in VARIANTS:
        for dtype in variant.dtypes:
            yield pytest.param(variant, dtype, id=f"{variant.name}-{dtype}")


def failures(variant, dtype, chosen, device):
    """The sentences about every wrong result, so that one report names all cases that fail."""
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    found = []
    for case in chosen:
        for layout in cases.LAYOUTS:
            for kind in ("exact", "rounded"):
                x, w = cases.arrays(dtype, case, layout, kind)
                options = {**case.options, "layout": layout}
                got = gpureduce.conv2d(x, w, **options, variant=variant, device=device)
                reason = cases.mismatch(x, w, got, kind, PRECISIONS[variant], **options)
                found += [f"{kind} {layout} {case}: {reason}"] if reason else []
    return found


@pytest.mark.parametrize("variant, dtype", list(combinations()))
def test_every_case(variant, dtype, device, thin, some):
    chosen = cases.THIN if thin else some(cases.CASES, 3) if dtype == "float32" else some(cases.CASES, 5)
    if variant.compute_capability >= (9, 0):  # slow to simulate
        if thin:
            pytest.skip("test_quick has those that take ways of their own")
        chosen = [case for i, case in enumerate(chosen) if i % 3 == 0 or case.c == 12]
    chosen = [case for case in chosen if case not in cases.FEW]  # which test_quick has
    found = failures(variant.name, dtype, chosen, device)
    assert not found, "\n".join(found)


@pytest.mark.core
@pytest.mark.parametrize("variant, dtype", list(combinations()))
def test_quick(variant, dtype, device, thin):
    slow = thin and variant.compute_capability >= (9, 0)
    found = failures(variant.name, dtype, cases.FEW[3:] if slow else cases.FEW, device)
    assert not found, "\n".join(found)


ALONE = (  # they have kernels of their own: depthwise ones, and those of 1 x 1 with few filters
    cases.Case(2, 21, 7, 3, 3, 5, 5, 1, 2, 1, 3), cases.Case(1, 22, 5, 2, 4, 5, 3, 2, (2, 1), 1, 2),
    cases.Case(1, 19, 9, 2, 2, 7, 7, 1, 3, 1, 2), cases.Case(1, 24, 11, 3, 3, 7, 5, 2, (3, 0), 1, 3),
    cases.Case(2, 9, 6, 8, 8, 3, 3, 2, 1, 1, 8), cases.Case(1, 18, 7, 5, 5, 3, 3, 1, 1, 1, 5),
    cases.Case(1, 6, 9, 8, 8, 3, 3, 1, 1, 1, 8), cases.Case(2, 5, 28, 40, 3, 1, 1),
    cases.Case(1, 4, 5, 64, 2, 1, 1), cases.Case(2, 7, 9, 21, 21, 1, 1, 1, 0, 1, 21),
    cases.Case(5, 1, 3, 3, 3, 1, 1, 1, 0, 1, 3), cases.Case(2, 9, 11, 4, 4, 3, 5, 1, (1, 2), 1, 4),
)  # fmt: skip
SHALLOW = (  # few channels: filters by 32 and by 64, pieces that a row of taps fills and does not
    cases.Case(2, 13, 11, 3, 5, 7, 7, 2, 3), cases.Case(1, 5, 34, 1, 66, 3, 3, 1, 1),
    cases.Case(1, 12, 7, 5, 33, 5, 3, (1, 2), (0, 1), (2, 1)),
)  # fmt: skip
TWELVE = (  # channels, of 3 x 3: filters in two parts, an odd first column
    cases.Case(1, 4, 134, 12, 26, 3, 3, 1, 1), cases.Case(2, 6, 34, 12, 23, 3, 3),
)  # fmt: skip


@pytest.mark.core
@pytest.mark.parametrize("dtype", DTYPES)
def test_those_that_have_kernels_of_their_own(dtype, device):
    found = failures("auto", dtype, ALONE, device)
    assert not found, "\n".join(found)


PADDED = (  # channels that are no multiples of 16 bytes
    cases.Case(2, 9, 10, 17, 5, 3, 3, 1, 1), cases.Case(1, 12, 11, 35, 9, 7, 7, 1, 3),
    cases.Case(2, 13, 9, 67, 70, 3, 3, 2, 1), cases.Case(1, 8, 9, 33, 3, 5, 3, 1, (2, 0)),
    cases.Case(2, 7, 9, 21, 40, 1, 1),
)  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), [("c8", "float32"), ("c9", "float16"), ("c9", "bfloat16")])
def test_channels_are_padded_for_the_copy_engine(name, dtype, device):
    found = failures(name, dtype, PADDED, device)
    assert not found, "\n".join(found)
    if not device.startswith("cuda") and dtype == "float32":
        x, w = cases.arrays(dtype, PADDED[0], "NHWC", "exact")
        sample = (x, w, {**PADDED[0].options, "layout": "NHWC"})
        kernels = gpureduce.profile(sample, name, races=False).kernels
        assert [kernel.name[:7] for kernel in kernels] == ["c8_turn", "c8_f32_"]


@pytest.mark.parametrize("channels", [33, 32])
def test_depthwise_filters_of_large_images_are_transposed(channels, device):
    """Neighbouring threads then load the taps of neighbouring channels; few results need no copy."""
    rng = np.random.default_rng(channels)
    x = rng.integers(-3, 4, (1, 130, 130, channels)).astype("float32")
    w = rng.integers(-3, 4, (channels, 4, 5, 1)).astype("float32")
    options = {"groups": channels, "padding": 2, "layout": "NHWC"}
    large = gpureduce.conv2d(x, w, **options, device=device)
    few = gpureduce.conv2d(x[:, :40], w, **options, device=device)
    other = gpureduce.conv2d(x[:, :40, ::-1], w[:, :, ::-1], **options, device=device)
    assert np.array_equal(large[:, :37], few[:, :37])
    assert np.array_equal(other[:, :, ::-1], few)


LARGE = (  # of NHWC: n, h, w, channels, kernel, stride; tiles of pixels, by one channel and by four
    (1, 93, 91, 33, 3, 1), (2, 65, 67, 35, 7, 1), (1, 128, 131, 17, 5, 1), (3, 101, 99, 21, 1, 1),
    (1, 141, 139, 7, 7, 2), (2, 103, 110, 13, 3, 2), (1, 131, 130, 64, 5, 1), (1, 133, 129, 64, 1, 1),
    (2, 150, 114, 64, 7, 2), (150, 13, 9, 64, 7, 1), (1, 131, 130, 64, 3, 1),
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_depthwise_convolutions_of_large_images(dtype, device, some):
    """Their threads compute tiles of pixels."""
    for n, h, w, channels, size, stride in some(LARGE, 3 if dtype == "float16" else 2):
        rng = np.random.default_rng(channels + size)
        x = rng.integers(-2, 3, (n, h, w, channels)).astype(dtype)
        filters = rng.integers(-2, 3, (channels, size, size, 1)).astype(dtype)
        options = {"groups": channels, "stride": stride, "padding": size // 2, "layout": "NHWC"}
        large = gpureduce.conv2d(x, filters, **options, device=device)
        wanted = cases.convolve(x.astype("int32"), filters.astype("int32"), **options)
        assert np.array_equal(large, wanted), (n, h, w, channels, size, stride)
        part = gpureduce.conv2d(x[-1:, :12], filters, **options, device=device)
        rows = (12 - size) // stride
        assert np.array_equal(part[:, :rows], large[-1:, :rows])
        turned = gpureduce.conv2d(
            x[:1, :12, ::-1], filters[:, :, ::-1], **{**options, "stride": 1}, device=device
        )
        straight = gpureduce.conv2d(x[:1, :12], filters, **{**options, "stride": 1}, device=device)
        assert np.array_equal(turned[:, :, ::-1], straight)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("size", [3, 5, 7])
def test_depthwise_columns_of_large_images(size, dtype, device):
    """A thread computes two neighbouring columns in NCHW, the second of which may be beyond the row.

    Threads of short rows, of few channels and of pixels with gaps compute one column, with the same bits.
    """
    rng = np.random.default_rng(size)
    x = rng.integers(-2, 3, (1, 8, 65, 1099)).astype(dtype)
    filters = rng.integers(-2, 3, (8, 1, size, size)).astype(dtype)
    options = {"padding": size // 2, "device": device}
    got = gpureduce.conv2d(x, filters, groups=8, **options)
    last = (0, 2, 3, 1)
    wanted = cases.convolve(
        x.transpose(last).astype("int32"),
        filters.transpose(last).astype("int32"),
        groups=8,
        padding=size // 2,
        layout="NHWC",
    )
    assert np.array_equal(got.transpose(last), wanted)
    x, filters = (rng.standard_normal(each.shape).astype(dtype) for each in (x, filters))
    many = gpureduce.conv2d(x, filters, groups=8, **options)
    rows, columns = 9 - size // 2, 40 - size // 2
    few = gpureduce.conv2d(x[:, 7:, :9, :40], filters[7:], **options)
    assert few[:, :, :rows, :columns].tobytes() == many[:, 7:, :rows, :columns].tobytes()
    gaps = np.ascontiguousarray(x[:, :, :9].transpose(last)).transpose(0, 3, 1, 2)
    spread = gpureduce.conv2d(gaps, filters, groups=8, **options)
    assert spread[:, :, :rows].tobytes() == many[:, :, :rows].tobytes()


BATCHES = (  # few and many images: deep and not, with other tiles and parts of k
    cases.Case(12, 9, 11, 20, 40, 3, 3), cases.Case(12, 7, 7, 256, 30, 1, 1),
    cases.Case(9, 5, 5, 100, 10, 3, 3, 2, 1), cases.Case(12, 8, 8, 64, 48, 3, 3, 1, 1, 1, 4),
)  # fmt: skip


LAST = slice(-1, None)  # of the images


def check_images(rng, case, parts, layout, device, **options):
    """Fail if some images alone have other bits than among all images of a case."""
    x, w = (rng.standard_normal(shape).astype("float32") for shape in case.shapes(layout))
    options |= {**case.options, "layout": layout, "device": device}
    among = gpureduce.conv2d(x, w, **options)
    for part in parts:
        alone = gpureduce.conv2d(x[part], w, **options)
        assert np.array_equal(alone.view("uint32"), among[part].view("uint32")), (case, part)


@pytest.mark.parametrize("variant", ["c0", "c1", "c2", "c2_ring", "c3"])
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_an_image_has_the_same_bits_among_any_number(variant, layout, device):
    """Each of these variants keeps its bits in float32 by itself, without a choice of `auto`."""
    rng = np.random.default_rng(20)
    for case in BATCHES:
        check_images(rng, case, [LAST, slice(-2, None), slice(-5, None)], layout, device, variant=variant)


@pytest.mark.parametrize("kernel, stride", [(1, 1), (3, 1), (3, 2), (3, 3), (4, 1), (5, 2), (7, 1)])
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_a_depthwise_image_has_the_same_bits_among_any_number(kernel, stride, layout, device):
    rng = np.random.default_rng(kernel)
    case = cases.Case(48 * stride * stride, 52, 55, 12, 12, kernel, kernel, stride, kernel // 2, 1, 12)
    check_images(rng, case, [slice(1)], layout, device)


FEW_FILTERS = (  # NHWC: 4 and 8 warps per pixel; NCHW: up to 4, 8 and 16 filters, groups; strides, dilation
    cases.Case(2, 19, 21, 257, 6, 3, 3, 1, 1), cases.Case(1, 31, 33, 209, 3, 5, 5, (2, 1), (2, 0)),
    cases.Case(1, 47, 43, 230, 8, 3, 3, 1, 2, (2, 1)), cases.Case(4, 30, 13, 38, 4, 3, 3, 1, 1, 1, 2),
    cases.Case(3, 33, 34, 24, 8, 3, 3, 1, 1, 2), cases.Case(8, 20, 37, 72, 13, 1, 1),
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_few_filters(dtype, device):
    found = failures("auto", dtype, FEW_FILTERS, device)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("layout", "case"),
    [("NHWC", cases.Case(5, 40, 41, 257, 6, 3, 3, 1, 1)), ("NCHW", cases.Case(5, 25, 26, 19, 4, 3, 3, 1, 1))],
)
def test_an_image_of_few_filters_has_the_same_bits_among_any_number(layout, case, device):
    """These sizes have the kernel of few filters for any of these numbers."""
    check_images(np.random.default_rng(21), case, [LAST, slice(-2, None)], layout, device)


FEW_RESULTS = (  # steps along k, groups; tiles of 16 x 16, and in the last line of 128 x 8 and 32 x 32
    cases.Case(2, 6, 11, 9, 31, 3, 3, 2, 1), cases.Case(1, 9, 10, 33, 5, 5, 3, 1, 2, 2),
    cases.Case(3, 7, 5, 18, 64, 3, 3, 1, 1), cases.Case(2, 8, 9, 24, 40, 1, 1, 1, 0, 1, 2),
    cases.Case(5, 9, 8, 6, 27, 3, 3, (2, 1), (1, 0), 1, 3), cases.Case(1, 12, 13, 70, 3, 3, 3),
    cases.Case(1, 131, 130, 3, 6, 3, 3, 1, 1), cases.Case(1, 60, 61, 5, 55, 3, 3),
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_few_results(dtype, device):
    found = failures("auto", dtype, FEW_RESULTS, device)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "name, dtype",
    [("c5_few", "float32"), ("c7_few", "float16"), ("c5", "float32"), ("c6", "float32"), ("c7", "bfloat16")],
)
def test_sizes_that_kernels_know(name, dtype, device):
    chosen = SHALLOW if name.endswith("few") else TWELVE
    found = failures(name, dtype, chosen, device)
    assert not found, "\n".join(found)
    if not device.startswith("cuda") and dtype != "bfloat16":
        x, w = cases.arrays(dtype, chosen[-1], "NHWC", "exact")
        kernels = gpureduce.profile(
            (x, w, {**chosen[-1].options, "layout": "NHWC"}), name, races=False
        ).kernels
        form = "_64" if name.endswith("few") else "_twelve_nhwc"
        assert [kernel.name for kernel in kernels] == [f"{name}_f{dtype[5:]}{form}"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_case_by_default(dtype, device, thin):
    every = cases.CASES if dtype in ("float32", "float64") else cases.CASES[::2]
    found = failures("auto", dtype, cases.THIN if thin else every, device)
    assert not found, "\n".join(found)


def without(x, w, what):
    """The arrays less one of what takes part in a result."""
    x, w = x.copy(), w.copy()
    if what == "tap":
        w[0, 1, 2] = 0
    elif what == "channel":
        x[..., -1] = 0
    elif what == "row":
        x[:, 3] = 0
    elif what == "corner":
        x[0, 0, 0, 0] = 0
    elif what == "element":
        x[-1, -1, -1, -1] = 0
    return x, w


@pytest.mark.parametrize("kind", ["exact", "rounded"])
@pytest.mark.parametrize("what", ["tap", "channel", "row", "corner", "element"])
def test_one_that_is_lost_is_noticed(what, kind):
    case = next(each for each in cases.CASES if each.c == 12 and each.n == 2)
    options = {**case.options, "padding": 1}
    x, w = cases.arrays("float32", case, "NHWC", kind)
    whole = cases.convolve(x.astype(float), w.astype(float), **options).astype(np.float32)
    assert cases.mismatch(x, w, whole, kind, **options) is None
    less = cases.convolve(*(each.astype(float) for each in without(x, w, what)), **options)
    assert cases.mismatch(x, w, less.astype(np.float32), kind, **options) is not None


def test_halos_that_are_wrong_are_noticed():
    x, w = cases.arrays("float32", cases.Case(1, 6, 7, 3, 4, 3, 3), "NHWC", "exact")
    good = cases.convolve(x.astype(float), w.astype(float), padding=1)
    assert cases.mismatch(x, w, good.astype(np.float32), "exact", padding=1) is None
    for mode in ("edge", "wrap", "reflect"):
        around = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode=mode)
        other = cases.convolve(around.astype(float), w.astype(float)).astype(np.float32)
        assert cases.mismatch(x, w, other, "exact", padding=1) is not None
    turned = cases.convolve(x.astype(float), w[:, ::-1, ::-1].astype(float), padding=1).astype(np.float32)
    assert cases.mismatch(x, w, turned, "exact", padding=1) is not None


LIES = ("plain", "moved", "turned", "backwards", "apart", "cropped", "record")


@pytest.mark.parametrize("of_w", LIES)
@pytest.mark.parametrize("of_x", LIES)
def test_strides(of_x, of_w, device, thin):
    """Whatever strides; what lies between the elements is never used."""
    if thin and "plain" not in (of_x, of_w):
        pytest.skip("each is copied by itself")
    case = cases.Case(2, 7, 6, 4, 6, 3, 2, (1, 2), 1, 1, 2)
    for layout in cases.LAYOUTS:
        options = {**case.options, "layout": layout}
        for variant in ("auto", "c0", "c1", "c3", "c7"):  # for the others the same copies are made
            x, w = cases.arrays(NAMES[variant], case, layout, "exact")
            there = cases.strided(x, of_x), cases.strided(w, of_w)
            got = gpureduce.conv2d(*there, **options, variant=variant, device=device)
            assert got.flags.c_contiguous
            assert cases.mismatch(x, w, got, "exact", **options) is None, (variant, layout)


def test_pictures_that_are_taken_again(device):
    case = cases.Case(3, 5, 6, 4, 3, 3, 3)
    for variant, dtype in NAMES.items():
        x, w = cases.arrays(dtype, case, "NHWC", "exact")
        again = np.broadcast_to(x[:1], x.shape)
        got = gpureduce.conv2d(again, w, layout="NHWC", variant=variant, device=device)
        assert cases.mismatch(again, w, got, "exact") is None, variant


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_one_picture(layout, device):
    case = cases.Case(1, 6, 5, 3, 4, 3, 3, 2, 1)
    x, w = cases.arrays("float64", case, layout, "rounded")
    options = {**case.options, "layout": layout, "device": device}
    got = gpureduce.conv2d(x[0], w, **options)
    assert got.shape == gpureduce.conv2d(x, w, **options).shape[1:]
    np.testing.assert_array_equal(got, gpureduce.conv2d(x, w, **options)[0])


@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_what_is_not_finite_stays_where_it_is(variant, layout, device):
    """A NaN reaches the results that see it, and zeros around the picture are no products with infinity."""
    if variant.precision not in (None, "ieee"):
        pytest.skip("what becomes of it on tensor cores its head says")
    if variant.name == "c2_winograd":
        pytest.skip("it spreads over its tile")
    x, w = cases.arrays(variant.dtypes[0], cases.Case(2, 6, 7, 3, 4, 3, 3), layout, "rounded")
    down, along, channel = (1, 2, 3) if layout == "NHWC" else (2, 3, 1)
    place = [0] * 4
    place[down], place[along], place[channel] = 2, 3, 1
    x[tuple(place)] = np.nan
    got = gpureduce.conv2d(x, w, padding=1, layout=layout, variant=variant.name, device=device)
    wrong = np.zeros(got.shape, bool)
    window = [0, slice(None), slice(None), slice(None)]
    window[down], window[along] = slice(1, 4), slice(2, 5)
    wrong[tuple(window)] = True
    np.testing.assert_array_equal(np.isnan(got), wrong)


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_filters_of_the_next_group_are_not_read(layout, device):
    """c2_ring has many filters as rows of taps, where those of the next group stand behind the last tap."""
    x, w = cases.arrays("float32", cases.Case(1, 96, 175, 6, 126, 1, 1, 1, 0, 1, 2), layout, "rounded")
    w[63:] = np.nan
    got = gpureduce.conv2d(x, w, groups=2, layout=layout, variant="c2_ring", device=device)
    first, second = np.split(got, 2, axis=3 if layout == "NHWC" else 1)
    assert np.isfinite(first).all() and np.isnan(second).all()


@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize(
    "tile, sizes",
    [
        ("128x128", (192, 175, 3, 127)),
        ("128x64", (352, 191, 3, 63)),
        ("64x64", (192, 175, 3, 63)),
        ("128x32", (9, 8, 17, 65)),
    ],
)
def test_tiles_of_the_ring(tile, sizes, layout, device, thin):
    """Each of them: large ones are for many pixels."""
    h, w, c, f = sizes
    if thin and h > 100:
        pytest.skip("the C code takes the same way for small tiles")
    x, filters = cases.arrays("float32", cases.Case(1, h, w, c, f, 1, 1), layout, "exact")
    options = {"layout": layout}
    if not device.startswith("cuda"):
        found = gpureduce.profile((x, filters, options), "c2_ring", races=False)
        *turned, ring = (kernel.name for kernel in found.kernels)
        assert turned == ([] if tile == "128x32" else ["matmul_pack_4"])
        assert ring == f"c2_ring_f32_{tile}_{layout.lower()}"
        got = found.result
    else:
        got = gpureduce.conv2d(x, filters, **options, variant="c2_ring", device=device)
    assert cases.mismatch(x, filters, got, "exact", **options) is None


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_same_bits_every_time(variant, device):
    x, w = cases.arrays(variant.dtypes[0], cases.Case(2, 12, 13, 12, 24, 3, 3, 1, 1), "NHWC", "rounded")
    options = {"padding": 1, "layout": "NHWC", "variant": variant.name, "device": device}
    first = gpureduce.conv2d(x, w, **options)
    again = [gpureduce.conv2d(x, w, **options) for _ in range(3)]
    assert all(each.tobytes() == first.tobytes() for each in again)
