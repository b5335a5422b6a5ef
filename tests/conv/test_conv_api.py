"""`conv2d` takes PyTorch's arguments, works where the arrays lie, and refuses the rest by name."""

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support import conv_cases as cases
from tests.support.selection import runs_on

X, W = cases.arrays("float32", cases.Case(2, 6, 7, 4, 4, 3, 3), "NHWC", "exact")
WANTED = cases.convolve(X.astype(float), W.astype(float), padding=1).astype(np.float32)


NHWC = {"layout": "NHWC"}


def conv2d(*arrays, **options):
    """Convolve in NHWC, the layout of these arrays, unless another one is passed."""
    return gpureduce.conv2d(*arrays, **NHWC | options)


def test_out(device):
    out = np.full(WANTED.shape, 7, np.float64)
    assert conv2d(X, W, padding=1, out=out, device=device) is out
    np.testing.assert_array_equal(out, WANTED)
    turned = np.full(WANTED.shape[::-1], 7, np.float32).T
    conv2d(X, W, stride=1, padding=1, out=turned, device=device)
    np.testing.assert_array_equal(turned, WANTED)
    with pytest.raises(TypeError, match="out: cannot cast from float32 to int64"):
        conv2d(X, W, padding=1, out=np.zeros(WANTED.shape, int), device=device)
    with pytest.raises(ValueError, match="out: expected shape"):
        conv2d(X, W, out=out, device=device)


OWN = [each for each in gpureduce.variants("conv") if each.block_sizes]  # not a library's
NAMES = {"auto": "float32", **{each.name: each.dtypes[0] for each in OWN}}


@pytest.mark.parametrize("variant, dtype", NAMES.items())
def test_out_may_be_what_is_read(variant, dtype, device):
    host, weights = cases.arrays(dtype, cases.Case(2, 6, 7, 4, 4, 3, 3), "NHWC", "exact")
    wanted = cases.convolve(host.astype(float), weights.astype(float), padding=1).astype(dtype)
    x, w = gpureduce.to_device(host, device), gpureduce.to_device(weights, device)
    assert conv2d(x, w, padding=1, out=x, variant=variant) is x
    np.testing.assert_array_equal(x.numpy(), wanted)
    assert conv2d(host, weights, padding=1, out=host, variant=variant, device=device) is host
    np.testing.assert_array_equal(host, wanted)


def test_arrays_on_a_device(device):
    x, w = gpureduce.to_device(X, device), gpureduce.to_device(W, device)
    got = conv2d(x, w, padding=1)
    assert isinstance(got, gpureduce.DeviceArray) and got.shape == WANTED.shape
    np.testing.assert_array_equal(got.numpy(), WANTED)
    np.testing.assert_array_equal(conv2d(x, w, padding=1, as_device=False), WANTED)
    sent = conv2d(X, W, padding=1, as_device=True, device=device)
    np.testing.assert_array_equal(sent.numpy(), WANTED)
    out = gpureduce.to_device(np.zeros_like(WANTED), device)
    assert conv2d(x, w, padding=1, out=out) is out
    np.testing.assert_array_equal(out.numpy(), WANTED)
    with pytest.raises(TypeError, match="w: must be on the device of x, or in host memory if x is"):
        conv2d(x, W)
    with pytest.raises(TypeError, match="w: must be on the device of x, or in host memory if x is"):
        conv2d(X, w, device=device)
    with pytest.raises(TypeError, match=r"not cast|own dtype"):
        conv2d(x, w, dtype="float64")
    with pytest.raises(TypeError, match="out: an array on a device must have"):
        conv2d(x, w, padding=1, out=gpureduce.to_device(WANTED.astype(float), device))


def unaligned(array, device):
    """A copy on the device, from an allocation's second element on, as the core takes it; and its home."""
    home = gpureduce.to_device(np.zeros(array.size + 1, array.dtype), device)
    view = (home._pointer + array.itemsize, array.shape, array.strides, array.dtype.name)
    _core.device_write(home._kind, home._index, view[0], array)
    return view, home


@pytest.mark.parametrize("variant", NAMES)
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_elements_that_begin_anywhere(layout, variant, device):
    able = {each.name: runs_on(each, device) for each in OWN}
    if not able.get(variant, True):
        pytest.skip("the variant is not for this device")
    for groups in (1, 8):
        x, w = cases.arrays(NAMES[variant], cases.Case(2, 5, 6, 8, 8, 3, 3, 1, 0, 1, groups), layout, "exact")
        exact = cases.convolve(x.astype(float), w.astype(float), groups=groups, layout=layout)
        wanted = np.ascontiguousarray(exact, x.dtype)
        (of_x, home), (of_w, _), (of_out, out) = (
            unaligned(each, device) for each in (x, w, np.zeros_like(wanted))
        )
        _core.conv2d(
            x=of_x,
            w=of_w,
            stride=(1, 1),
            padding=(0, 0, 0, 0),
            dilation=(1, 1),
            groups=groups,
            layout=layout,
            variant=None if variant == "auto" else variant,
            precision=None,
            destination=(of_out, home._kind, home._index, 0),
        )
        got = out.numpy()
        assert got[0] == 0
        np.testing.assert_array_equal(got[1:].reshape(wanted.shape), wanted)


def bias_of(dtype, count=4):
    return np.random.default_rng(5).standard_normal(count).astype(dtype)


@pytest.mark.parametrize("variant, dtype", NAMES.items())
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_bias_is_added_to_the_results_of_its_filter(layout, variant, dtype, device):
    """In the dtype of the sums, to what the convolution without it rounds to."""
    able = {each.name: runs_on(each, device) for each in OWN}
    if not able.get(variant, True):
        pytest.skip("the variant is not for this device")
    options = {"padding": 1, "layout": layout, "variant": variant}
    wide = np.float64 if dtype == "float64" else np.float32
    for filters, width in ((4, 7), (3, 5)):  # whole vectors of 16 bytes, and a rest
        x, w = cases.arrays(dtype, cases.Case(2, 6, width, 4, filters, 3, 3), layout, "rounded")
        bias = bias_of(dtype, filters)
        plain = gpureduce.conv2d(x, w, **options, device=device)
        shape = (-1, 1, 1) if layout == "NCHW" else (-1,)
        wanted = (plain.astype(wide) + bias.reshape(shape).astype(wide)).astype(dtype)
        assert (wanted != plain).any()
        got = gpureduce.conv2d(x, w, bias=bias, **options, device=device)
        np.testing.assert_array_equal(got, wanted)
        there = [gpureduce.to_device(each, device) for each in (x, w, np.repeat(bias, 2))]
        got = gpureduce.conv2d(there[0], there[1], bias=there[2][::2], **options)
        np.testing.assert_array_equal(got.numpy(), wanted)


def test_bias_of_one_image_of_groups_and_of_other_dtypes(device):
    x, w = np.moveaxis(X, -1, 1), np.moveaxis(W, -1, 1)[:, :2]
    plain = gpureduce.conv2d(x, w, groups=2, device=device)
    for bias in ([1, -2, 3, 4], np.array([1, -2, 3, 4.0]), np.array([1, -2, 3, 4], np.float16)):
        got = gpureduce.conv2d(x, w, bias=bias, groups=2, device=device)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, plain + np.float32([1, -2, 3, 4]).reshape(-1, 1, 1))
        one = gpureduce.conv2d(x[1], w, bias=bias, groups=2, device=device)
        np.testing.assert_array_equal(one, got[1])
    nothing = gpureduce.conv2d(x[:0], w, bias=bias, groups=2, device=device)
    assert nothing.shape == (0, *plain.shape[1:])
    without = gpureduce.conv2d(x[:, :0], w[:, :0], bias=bias, device=device)  # sums of no products
    np.testing.assert_array_equal(without, np.broadcast_to(np.reshape(bias, (-1, 1, 1)), without.shape))


def test_bias_may_overlap_with_out(device):
    x, w = cases.arrays("float32", cases.Case(1, 4, 4, 2, 8, 1, 1), "NCHW", "exact")
    room = gpureduce.to_device(np.arange(8 * 16, dtype=np.float32).reshape(1, 8, 4, 4), device)
    bias = room.reshape(-1)[::16]
    wanted = gpureduce.conv2d(x, w, bias=bias.numpy(), device=device)
    there = [gpureduce.to_device(each, device) for each in (x, w)]
    assert gpureduce.conv2d(*there, bias=bias, out=room) is room
    np.testing.assert_array_equal(room.numpy(), wanted)
    same = np.arange(2 * 16, dtype=np.float32)[:8]
    wanted = gpureduce.conv2d(x, w, bias=same.copy(), device=device)
    out = np.zeros(wanted.shape, np.float32)
    assert gpureduce.conv2d(x, w, bias=same, out=out, device=device) is out
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    "bias, error, text",
    [
        (np.zeros(3, "f4"), ValueError, r"bias: expected shape \(4,\), one element per filter, got \(3,\)"),
        (np.zeros((4, 1), "f4"), ValueError, r"bias: expected shape \(4,\)"),
        (1.0, ValueError, r"bias: expected shape \(4,\)"),
        (np.zeros(4, "c8"), TypeError, "bias: cannot cast from complex64 to float32"),
        (["a"] * 4, TypeError, "bias: "),
        (np.ma.masked_array(np.zeros(4)), TypeError, "bias: masked"),
    ],
)
def test_bias_that_does_not_fit(bias, error, text, device):
    with pytest.raises(error, match=text):
        conv2d(X, W, bias=bias, device=device)


def test_bias_lies_where_the_arrays_lie(device):
    there = [gpureduce.to_device(each, device) for each in (X, W)]
    with pytest.raises(TypeError, match="bias: must be on the device of x, or in host memory if x is"):
        conv2d(*there, bias=bias_of("f4"))
    with pytest.raises(TypeError, match="bias: must be on the device of x, or in host memory if x is"):
        conv2d(X, W, bias=gpureduce.to_device(bias_of("f4"), device), device=device)


def test_the_third_argument_is_no_stride(device):
    """PyTorch's third argument is the bias: one of either is passed by name only."""
    with pytest.raises(TypeError, match="positional"):
        gpureduce.conv2d(X, W, 1, device=device)


def test_the_layout_is_nchw_unless_another_one_is_passed(device):
    """These arrays, with sizes that fit in both layouts, have other results in each."""
    x, w = cases.arrays("float64", cases.Case(2, 4, 4, 4, 3, 4, 4), "NCHW", "rounded")
    by_default = gpureduce.conv2d(x, w, device=device)
    assert cases.mismatch(x, w, by_default, "rounded", layout="NCHW") is None
    other = gpureduce.conv2d(x, w, layout="NHWC", device=device)
    assert by_default.shape == (2, 3, 1, 1) and other.shape == (2, 1, 1, 3)
    assert (by_default.ravel() != other.ravel()).any()
    kernels = gpureduce.profile((x.astype("f4"), w.astype("f4")), "c0")
    assert "NCHW" in str(kernels)


def test_dtypes(device):
    for left in ("float16", "float32", "float64"):
        for right in ("float16", "float32", "float64"):
            got = conv2d(X.astype(left), W.astype(right), device=device)
            assert got.dtype == np.promote_types(left, right)
    got = conv2d(X.astype(int).tolist(), W.astype(np.int16), dtype="float32", padding=1, device=device)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, WANTED)
    swapped = X.astype(X.dtype.newbyteorder())
    np.testing.assert_array_equal(conv2d(swapped, W, padding=1, device=device), WANTED)


def test_ways_to_say_the_same(device):
    def same(one, other, x=X, w=W):
        first, second = (conv2d(x, w, **given, device=device) for given in (one, other))
        np.testing.assert_array_equal(first, second)

    same({"stride": 2}, {"stride": (2, 2)})
    same({"stride": [2]}, {"stride": np.int8(2)})
    same({"padding": "same"}, {"padding": 1})
    same({"padding": "valid"}, {})
    same({"padding": "same", "dilation": (1, 2)}, {"padding": (1, 2), "dilation": (1, 2)})
    # Of an odd number of zeros one more comes behind, as PyTorch has it.
    even = W[:, :2, :2]
    behind = np.pad(X, ((0, 0), (0, 1), (0, 1), (0, 0)))
    np.testing.assert_array_equal(
        conv2d(X, even, padding="same", device=device),
        conv2d(behind, even, device=device),
    )
    moved = np.moveaxis(X, -1, 1), np.moveaxis(W, -1, 1)
    got = conv2d(*moved, padding=1, layout="NCHW", device=device)
    np.testing.assert_array_equal(gpureduce.conv2d(*moved, padding=1, device=device), got)
    np.testing.assert_array_equal(np.moveaxis(got, 1, -1), WANTED)


def test_what_needs_no_python(device):
    """The core takes the usual calls by itself, and leaves the others, before anything is done."""
    core = _core.fast_path(
        "conv2d", ("x", "w", "stride", "padding"), ("bias", "layout", "groups", "variant", "device", "out")
    )
    named = {"device": device, "layout": "NHWC"}
    np.testing.assert_array_equal(core(X, W, 1, (1, 1), **named), WANTED)
    np.testing.assert_array_equal(core(X, W, padding=1, variant="c0", **named), WANTED)
    moved = np.moveaxis(X, -1, 1), np.moveaxis(W, -1, 1)
    np.testing.assert_array_equal(core(*moved, 1, 1, device=device), np.moveaxis(WANTED, -1, 1))
    np.testing.assert_array_equal(core(X, W, 1, 1, bias=np.ones(4, "f4"), **named), WANTED + 1)
    there = gpureduce.to_device(X, device), gpureduce.to_device(W, device)
    np.testing.assert_array_equal(core(*there, 1, 1, layout="NHWC").numpy(), WANTED)
    left = [
        {"padding": "same"}, {"stride": [1, 1]}, {"stride": 0}, {"padding": -1}, {"stride": 2**40},
        {"groups": (1, 1)}, {"layout": "HWC"}, {"layout": 3}, {"variant": "m1"}, {"variant": None},
        {"groups": 3}, {"w": W[0]}, {"x": X.tolist()}, {"x": X.astype(int), "w": W.astype(int)},
        {"w": W.astype(float)}, {"w": there[1]}, {"out": np.zeros(3)}, {"bias": np.zeros(3, "f4")},
        {"bias": np.zeros(4)}, {"bias": [0, 0, 0, 0]}, {"bias": np.zeros((4, 1), "f4")},
    ]  # fmt: skip
    for given in left:
        assert core(**{"x": X, "w": W, **named, **given}) is NotImplemented, given
    assert core(X, **named) is core(w=W, **named) is NotImplemented


REFUSALS = [
    ({"x": X[0, 0]}, ValueError, "x: expected four dimensions"),
    ({"w": W[0]}, ValueError, "w: expected four dimensions"),
    ({"w": W[..., :3]}, ValueError, "w: expected 4 channels .x has 4 in 1 groups., got 3"),
    ({"layout": "NCHW"}, ValueError, "w: expected 6 channels"),
    ({"layout": "nhwc"}, ValueError, "layout: expected one of NHWC, NCHW"),
    ({"layout": 3}, TypeError, "layout: expected str"),
    ({"groups": 3}, ValueError, "groups: 3 does not divide the 4 channels of x"),
    ({"groups": 2, "w": W[:3, ..., :2]}, ValueError, "groups: 2 does not divide the 3 filters of w"),
    ({"groups": 0}, ValueError, "groups: expected 1 to"),
    ({"groups": (1, 1)}, TypeError, "groups: expected an int"),
    ({"stride": 0}, ValueError, "stride: expected 1 to"),
    ({"stride": 1.0}, TypeError, "stride: expected an int or a pair"),
    ({"stride": True}, TypeError, "stride: expected an int or a pair"),
    ({"stride": (1, 2, 3)}, ValueError, "stride: expected an int or a pair of them, got 3 numbers"),
    ({"stride": 2**70}, ValueError, "stride: expected 1 to"),
    ({"padding": -1}, ValueError, "padding: expected 0 to"),
    ({"padding": "full"}, ValueError, "padding: expected 'same', 'valid' or numbers"),
    ({"padding": "same", "stride": 2}, ValueError, "padding: 'same' is for stride 1"),
    ({"dilation": 0}, ValueError, "dilation: expected 1 to"),
    ({"dilation": 3}, ValueError, "w: the dilated kernel spans 7 rows, but the padded x has 6"),
    ({"dilation": (1, 4)}, ValueError, "w: the dilated kernel spans 9 columns, but the padded x has 7"),
    ({"w": W[:, :0]}, ValueError, "w: expected a nonempty kernel, got 0 x 3"),
    ({"x": X.astype("i4"), "w": W.astype("i4")}, TypeError, "x, w: conv2d takes float32"),
    ({"x": X.astype(complex)}, TypeError, "x, w: conv2d takes float32"),
    ({"dtype": "int32"}, TypeError, "dtype: conv2d takes float32"),
    ({"x": X.astype(complex), "dtype": "float32"}, TypeError, "x: cannot cast from complex128 to float32"),
    ({"x": X.astype("U")}, TypeError, "x: dtype"),
    ({"x": np.ma.masked_array(X)}, TypeError, "x: masked"),
    ({"variant": "c99"}, ValueError, "variant: unknown variant 'c99'"),
    ({"variant": "m3"}, ValueError, "m3 belongs to the ladder 'matmul'"),
    ({"precision": "half"}, ValueError, "precision: expected one of"),
    ({"precision": 3}, TypeError, "precision: expected str"),
    ({"precision": "tf32", "variant": "c0"}, ValueError, "precision: c0 multiplies in 'ieee'"),
    ({"precision": "tf32", "dtype": "float64"}, TypeError, "precision: tf32 requires float32"),
    ({"as_device": True, "out": np.zeros(3)}, ValueError, "as_device"),
    ({"out": [0]}, TypeError, "out: expected an array"),
]


@pytest.mark.parametrize("given, error, text", REFUSALS)
def test_refusals(given, error, text, device):
    with pytest.raises(error, match=text):
        conv2d(**{"x": X, "w": W, **given}, device=device)


def test_results_that_fit_into_no_memory(device):
    """They are refused before anything is done."""
    with pytest.raises((MemoryError, ValueError)):
        conv2d(X[:1, :3, :3], W, padding=2**31 - 1, stride=1, device=device)


@pytest.mark.parametrize("batch", [1, 8, 16, 32])
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_columns_that_fit_into_no_memory(layout, batch, device):
    """2^60 taps, all of them one element, of which no count may overflow."""
    shape = (1, 2**30, 2**30, 1) if layout == "NHWC" else (1, 1, 2**30, 2**30)
    w, x = np.broadcast_to(np.float32(1), shape), np.ones((batch, 1, 1, 1), np.float32)
    options = {"padding": 2**29, "layout": layout, "variant": "c1", "device": device}
    with pytest.raises(MemoryError, match="the im2col matrix exceeds any memory"):
        conv2d(x, w, **options)


@pytest.mark.parametrize("layout", cases.LAYOUTS)
@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "f16x3"])
def test_precision(precision, layout, device):
    case = cases.Case(1, 12, 13, 16, 144, 3, 3, 1, 1)
    x, w = cases.arrays("float32", case, layout, "rounded")
    options = {**case.options, "layout": layout}
    able = [v for v in gpureduce.variants("matmul") if v.precision == precision and runs_on(v, device)]
    if not able:
        with pytest.raises(ValueError, match=rf"precision: {precision} of float32 is not for"):
            conv2d(x, w, **options, precision=precision, device=device)
        return
    for variant in ("auto", "c1"):
        got = conv2d(x, w, **options, precision=precision, variant=variant, device=device)
        assert cases.mismatch(x, w, got, "rounded", precision, **options) is None
        exact = cases.convolve(x.astype(float), w.astype(float), **options)
        error = np.linalg.norm(got - exact) / np.linalg.norm(exact)
        least = 1e-4 if (precision, variant) == ("tf32", "c1") else 1e-8  # float32 is permitted, too
        assert least < error < (4e-4 if precision == "tf32" else 6e-7)


def test_float32_where_tf32_would_take_longer(device):
    """A few products per result, for which kernels on tensor cores take longer to start than others take."""
    if not any(each.precision == "tf32" and runs_on(each, device) for each in OWN):
        pytest.skip("the device has no such cores")
    case = cases.Case(2, 60, 66, 5, 41, 1, 1, 2, 0)
    x, w = cases.arrays("float32", case, "NHWC", "rounded")
    plain = conv2d(x, w, **case.options, variant="c0", device=device)
    for precision in ("ieee", "tf32"):
        got = conv2d(x, w, **case.options, precision=precision, device=device)
        np.testing.assert_array_equal(got, plain)


def test_records():
    assert [record.name for record in OWN][:2] == ["c0", "c1"]
    for before, record in zip((None, *OWN), OWN, strict=False):
        assert record.ladder == "conv" and record.ops == ("conv2d",)
        assert (record.after is None) == (before is None)
        assert f"// {record.name}: " in gpureduce.source(record.name)
        assert f".entry {record.name}_" in gpureduce.kernels.ptx(record.name)


SIMULATED = [each.name for each in OWN if "sim" in each.backends and each.role != "study"]


@pytest.mark.many
@pytest.mark.parametrize("name", SIMULATED)
def test_no_races(name, some):
    case = cases.Case(2, 9, 35, 12, 24, 3, 3, 1, 1)
    for layout in some(cases.LAYOUTS, 2):
        x, w = cases.arrays(NAMES[name], case, layout, "exact")
        found = gpureduce.profile((x, w, {"padding": 1, "layout": layout}), name)
        assert found.races == () and found.n == 2 * 9 * 35 * 24 * 9 * 12
        assert cases.mismatch(x, w, found.result, "exact", padding=1, layout=layout) is None


def test_profiles():
    found = gpureduce.profile(((1, 10, 34, 12), (24, 3, 3, 12), NHWC), "c0")
    # Without padding every tap meets an element, and every multiply-add is one of c0's own.
    assert found.multiply_adds == found.totals.multiply_adds == 8 * 32 * 24 * 108
    assert "multiply_add" in found.annotate() and "NHWC" in str(found)
    columns = gpureduce.profile(((1, 10, 34, 12), (24, 3, 3, 12), NHWC), "c1")
    assert columns.kernels[0].name == "c1_nhwc_b16" and len(columns.kernels) > 1
    stored = columns.kernels[0].totals.global_store_ideal
    assert stored == 8 * 32 * 108 * 4 // 32
    product = gpureduce.profile(((1, 10, 34, 12), (24, 1, 1, 12), NHWC), "c1")
    assert not [kernel.name for kernel in product.kernels if kernel.name.startswith("c1_")]
    with pytest.raises(ValueError, match="block_size"):
        gpureduce.profile(((1, 4, 4, 1), (1, 3, 3, 1), NHWC), "c0", block_size=128)
    with pytest.raises(TypeError, match="a: a convolution takes"):
        gpureduce.profile(3, "c0")
    with pytest.raises(ValueError, match="w: expected 1 channels"):
        gpureduce.profile(((1, 4, 4, 1), (1, 3, 3, 2), NHWC), "c0")
