"""softmax, log_softmax, rms_norm, layer_norm: values, bits of a row, special numbers, arguments."""

import functools

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe
from gpureduce.testing import assert_same_bits
from tests.support.children import python

FUNCTIONS = ("softmax", "log_softmax", "rms_norm", "layer_norm")
DTYPES = ("float32", "float64", "float16", "bfloat16")
TILE = 16384  # elements of a long row that a block holds, of float32
# One thread, a warp with 1, 2 and 4 vectors, blocks of 128 to 512 threads, several tiles, many.
LENGTHS = [
    1,
    3,
    4,
    127,
    129,
    257,
    511,
    513,
    1025,
    2047,
    4096,
    8191,
    TILE,
    TILE + 1,
    3 * TILE - 5,
    8 * TILE + 3,
    17 * TILE + 11,
]
# More rows of one tile and of several than a device has blocks for at once; a block has up to four tiles.
STAGED = [
    *((name, "float32", 1500, 1600) for name in FUNCTIONS),
    *((name, "bfloat16", 2504, 2300) for name in FUNCTIONS),
    *((name, "float32", TILE + 8, 270) for name in FUNCTIONS),
    ("layer_norm", "float64", 1026, 800),
    ("softmax", "float64", TILE, 270),
    ("log_softmax", "float32", 4 * TILE + 4, 107),
    ("rms_norm", "float16", 2 * TILE + 8, 90),
    ("layer_norm", "bfloat16", 4 * TILE + 8, 60),
    ("softmax", "float16", 2 * TILE + 8, 400),
]
EPS = {"rms_norm": 1e-6, "layer_norm": 1e-5}

every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def dtype_of(name):
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def epsilon(dtype):
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}[dtype.name]


def to_host(a):
    return a.numpy()


def draw(shape, dtype, seed=0):
    """Numbers of all signs whose exponents spread, but whose exponentials do not overflow."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 3, shape)).astype(dtype)


def reference(name, a, weight=1, bias=0, eps=None, axis=-1):
    """The definition, in extended precision."""
    a = np.asarray(a).astype(np.float64).astype(np.longdouble)
    weight, bias = (np.asarray(each, np.float64).astype(np.longdouble) for each in (weight, bias))
    eps = EPS.get(name) if eps is None else eps
    if name in ("softmax", "log_softmax"):
        largest = a.max(axis, keepdims=True)
        total = np.exp(a - largest).sum(axis, keepdims=True)
        return np.exp(a - largest) / total if name == "softmax" else a - largest - np.log(total)
    if name == "layer_norm":
        a = a - a.mean(axis, keepdims=True)
    return a / np.sqrt((a * a).mean(axis, keepdims=True) + eps) * weight + bias


def assert_close(got, wanted, dtype, of=None):
    """Errors of a few units of the result, or of what cancels: statistics are float32 or float64."""
    unit, inner = (
        epsilon(dtype),
        max(epsilon(dtype) / 64, 2.0**-23) if dtype.itemsize == 2 else epsilon(dtype),
    )
    got = np.asarray(got).astype(np.float64)
    tiny = 2.0**-24 if dtype == np.float16 else 0
    scale = np.abs(wanted) if of is None else np.maximum(np.abs(wanted), of)
    bound = unit * np.abs(wanted) + 16 * min(unit, inner) * (scale + 0.1 * np.abs(wanted)) + tiny
    assert np.all(np.abs(got - wanted) <= bound.astype(np.float64)), np.max(np.abs(got - wanted) / bound)


@every_function
@every_dtype
def test_lengths(name, dtype, device, some):
    dtype = dtype_of(dtype)
    for length in some(LENGTHS, 2):
        a = draw((3, length), dtype, length)
        got = getattr(gpureduce, name)(a, device=device)
        assert (got.dtype, got.shape) == (dtype, a.shape)
        # The maximum, or the mean, is subtracted from an element.
        of = {"log_softmax": 64.0, "layer_norm": 64.0}.get(name)
        assert_close(got, reference(name, a), dtype, of)


@every_function
def test_each_element_counts(name, device):
    """An element that is lost, at any place, changes the results by more than the bound."""
    for length in (5, 200, 3000, 2 * TILE + 7):
        rng = np.random.default_rng(length)
        for at in {0, length - 1, *rng.integers(0, length, 6).tolist()}:
            a = np.zeros((2, length), np.float32)
            a[1, at] = 20
            got = getattr(gpureduce, name)(a, device=device)
            assert_close(got, reference(name, a), a.dtype, 1.0 if name != "softmax" else None)


@every_function
def test_cancelling_rows(name, device):
    """Numbers far from zero: variances and exponentials need differences from the mean and the maximum."""
    for length in (33, 1000, 5000, TILE + 9):
        a = (1000 + np.random.default_rng(length).integers(-3, 4, (2, length))).astype(np.float32)
        got = getattr(gpureduce, name)(a, device=device)
        of = 4 * 1000 if name == "layer_norm" else 16
        assert_close(got, reference(name, a), a.dtype, of)


# Bits of a row depend on the row alone


@every_function
@every_dtype
def test_batch(name, dtype, device):
    """The same row alone, in batches of other rows, and at other places."""
    function = functools.partial(getattr(gpureduce, name), device=device)
    dtype = dtype_of(dtype)
    for length in (7, 130, 1000, 4100, TILE + 3):
        rows = draw((9, length), dtype, length)
        rows[4, 0] = 8  # other rows have other maxima
        whole = function(rows)
        for first, end in ((0, 1), (8, 9), (3, 6), (1, 9)):
            assert_same_bits(function(rows[first:end]), whole[first:end])
        assert_same_bits(function(rows[::-1].copy())[::-1], whole)


@every_function
def test_more_rows_than_blocks(name, device):
    """A block has rows in turn, aligned and not."""
    for length, count in ((4, 40_000), (3, 40_000), (300, 2500)):
        rows = draw((count, length), np.float32, length)
        whole = getattr(gpureduce, name)(rows, device=device)
        for first in (0, count // 2, count - 9):
            part = getattr(gpureduce, name)(rows[first : first + 9], device=device)
            assert_same_bits(whole[first : first + 9], part)
        assert_close(whole, reference(name, rows), rows.dtype, 64.0 if name[0] == "l" else None)


@pytest.mark.parametrize(("name", "dtype", "length", "count"), STAGED)
def test_rows_in_shared_memory(name, dtype, length, count, device):
    """Many rows, which bulk copies bring, have the bits of a few, also where a row cannot be copied so."""
    dtype = dtype_of(dtype)
    rows = np.resize(draw((7, length), dtype, length), (count, length))
    weight, bias = draw(length, dtype, 1), draw(length, dtype, 2)
    parameters = {"rms_norm": {"weight": weight}, "layer_norm": {"weight": weight, "bias": bias}}.get(
        name, {}
    )
    if dtype == np.float64:
        parameters.pop("weight", None)  # a bias alone
    function = functools.partial(getattr(gpureduce, name), device=device, **parameters)
    whole = staged_on_simulator(name, rows, parameters) if device == "sim" else function(rows)
    assert_same_bits(whole[:2], function(rows[:2]))
    assert_same_bits(whole, np.resize(whole[:7], whole.shape))
    flat = np.zeros(rows.size + 1, dtype)
    flat[1:] = rows.ravel()
    on_device = gpureduce.to_device(flat, device)[1:].reshape(rows.shape)
    moved = {key: gpureduce.to_device(value, device) for key, value in parameters.items()}
    assert_same_bits(to_host(getattr(gpureduce, name)(on_device, **moved)), whole)


def staged_on_simulator(name, rows, parameters):
    """Return the results of a kernel that stages rows, and check that it has no races."""
    arguments = {"weight": None, "bias": None, "residual": None, "eps": EPS.get(name, 0.0), **parameters}
    whole, launches, problem = observe(
        lambda device: _core.normalize(
            a=rows, op=name, axis=1, destination=(None, device, 0, 0), **arguments
        ),
        True,
    )
    assert problem is None
    (kernel,) = kernel_profiles(launches, "", 0)
    assert kernel.name.startswith(("pipelined_", "resident_"))
    assert kernel.races == ()
    return whole


@every_function
@every_dtype
def test_address(name, dtype, device):
    """Rows that begin at any address, and end at any."""
    function = getattr(gpureduce, name)
    dtype = dtype_of(dtype)
    for length in (31, 1000, TILE + 4):
        row = draw(length, dtype, length)
        wanted = function(row, device=device)
        flat = np.zeros(length + 9, dtype)
        for shift in range(9):
            flat[shift : shift + length] = row
            on_device = gpureduce.to_device(flat, device)
            assert_same_bits(to_host(function(on_device[shift : shift + length])), wanted)


@every_function
def test_kernels_of_long_rows_agree(name):
    """Devices with clusters and without have the same bits, also if a row has more tiles than lanes."""
    program = f"""
import hashlib, numpy as np, gpureduce
digest = hashlib.sha256()
for dtype in ("float32", "float64", "float16"):
    for length in ({TILE + 1}, {5 * TILE}, {8 * TILE}, {17 * TILE + 11}):
        rng = np.random.default_rng(length)
        a = (rng.standard_normal((2, length)) * 2.0 ** rng.integers(-8, 3, (2, length))).astype(dtype)
        digest.update(gpureduce.{name}(a, device="sim").tobytes())
print(digest.hexdigest())
"""
    found = [python(program, GPUREDUCE_SIM_CAPABILITY=capability) for capability in ("8.0", "9.0")]
    assert [child.returncode for child in found] == [0, 0], [child.stderr for child in found]
    assert found[0].stdout == found[1].stdout


@pytest.mark.gpu
@every_function
@every_dtype
def test_gpu_and_simulator(name, dtype, device):
    """A GPU and the simulator return the same bits."""
    for length in (1, 5, 100, 1000, 5001, TILE, 2 * TILE + 7, 9 * TILE + 3):
        a = draw((2, length), dtype_of(dtype), length)
        function = getattr(gpureduce, name)
        assert_same_bits(function(a, device=device), function(a, device="sim"))


@pytest.mark.parametrize("name", FUNCTIONS[:2])
@every_dtype
def test_axes(name, dtype, device):
    """Any axis has the bits of the last one."""
    function = functools.partial(getattr(gpureduce, name), device=device)
    dtype = dtype_of(dtype)
    for shape in ((3, 70, 5), (4, 6, 300), (600, 3), (2, 5000, 2)):
        a = draw(shape, dtype, sum(shape))
        for axis in range(-1, a.ndim):
            moved = np.ascontiguousarray(np.moveaxis(a, axis, -1))
            got = function(a, axis=axis)
            assert got.flags.c_contiguous
            assert_same_bits(got, np.moveaxis(function(moved), -1, axis))


def test_strides(device):
    a = draw((6, 40, 10), np.float32)
    for view in (a[::2], a[:, ::-1], a[:, :, 3:4], a.transpose(2, 0, 1), np.broadcast_to(a[0, 0], (4, 10))):
        for axis in range(view.ndim):
            wanted = gpureduce.softmax(view.copy(), axis=axis, device=device)
            assert_same_bits(gpureduce.softmax(view, axis=axis, device=device), wanted)
    on_device = gpureduce.to_device(a, device)
    wanted = gpureduce.layer_norm(np.ascontiguousarray(a[:, ::2]), device=device)
    assert_same_bits(to_host(gpureduce.layer_norm(on_device[:, ::2])), wanted)
    with pytest.raises(ValueError, match="copy it to C order"):
        gpureduce.softmax(on_device.transpose(1, 0, 2)[:, :, ::2][::3], axis=-1)


# Special numbers


@every_function
@every_dtype
def test_infinities_and_nans(name, dtype, device):
    """As PyTorch: a NaN or an infinity makes its own row NaN, and no other; -inf has the probability 0."""
    dtype = dtype_of(dtype)
    for length in (6, 700, 3000, TILE + 50):
        a = np.zeros((6, length), dtype)
        a[:, ::2] = 1
        a[1, 2], a[2, length - 1], a[3, 1], a[4] = np.nan, np.inf, -np.inf, -np.inf
        got = getattr(gpureduce, name)(a, device=device).astype(np.float64)
        with np.errstate(all="ignore"):
            wanted = reference(name, a)
        exact = [0, 1, 3, 4, 5] if name == "rms_norm" else range(6)  # a finite element by infinity is 0
        assert np.array_equal(np.isnan(got[exact]), np.isnan(wanted[exact].astype(np.float64)))
        assert_same_bits(got[5], got[0])
        if name == "softmax":
            assert got[3, 1] == 0
        if name == "log_softmax":
            assert got[3, 1] == -np.inf


def test_large_and_small(device):
    a = np.array([[1e38, -1e38, 1e38], [-1e38, -1e38, -1e38], [0, -87.5, -103]], np.float32)
    got = gpureduce.softmax(a, device=device)
    np.testing.assert_array_equal(got[:2], np.array([[0.5, 0, 0.5], [1 / 3] * 3], np.float32))
    assert got[2, 1] == pytest.approx(np.exp(-87.5), rel=1e-6)
    assert got[2, 2] == pytest.approx(np.exp(-103.0), abs=2e-45)  # subnormal
    np.testing.assert_array_equal(
        gpureduce.log_softmax(a[:1], device=device), np.array([[-np.log(2), -2e38, -np.log(2)]], np.float32)
    )


def test_exponentials(device):
    """Over the range of float32, by rows of two: the smaller probability is exp(x) / (1 + exp(x))."""
    x = -np.linspace(0, 86, 4001).astype(np.float32)
    got = gpureduce.softmax(np.stack([np.zeros_like(x), x], 1), device=device)[:, 1]
    e = np.exp(x.astype(np.float64))
    assert np.max(np.abs(got / (e / (1 + e)) - 1)) < 3 * 2.0**-24 + 2.0**-24


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_exponentials_of_16_bits(dtype, device):
    """The same for results of 16 bits; exponentials below 2^-125 are 0."""
    dtype = dtype_of(dtype)
    x = -np.linspace(0, 130, 2001).astype(dtype)
    x[-1] = -np.inf
    got = gpureduce.softmax(np.stack([np.zeros_like(x), x], 1), device=device)[:, 1].astype(np.float64)
    e = np.exp(x.astype(np.float64))
    spacing = 2.0**-24 if dtype == np.float16 else 2.0**-133  # of subnormal results
    bound = (epsilon(dtype) / 2 + 2.0**-16) * e + spacing / 2
    bound[e < 2.0**-124.9] = 2.0**-124.9
    assert np.all(np.abs(got - e / (1 + e)) <= bound)
    assert got[-1] == 0


@every_function
def test_no_elements(name, device):
    function = functools.partial(getattr(gpureduce, name), device=device)
    for shape in ((0,), (3, 0), (0, 3)):
        got = function(np.empty(shape, np.float32))
        assert (got.shape, got.dtype) == (shape, np.float32)
    assert function(np.empty((0, 3)), as_device=True).shape == (0, 3)
    with pytest.raises(ValueError, match="axis"):
        function(np.float32(3))


# Weights, bias, residual


@every_dtype
def test_weight_and_bias(dtype, device):
    dtype = dtype_of(dtype)
    for length in (5, 300, 4097, 4104, TILE + 8):
        a, weight, bias = draw((2, length), dtype, 1), draw(length, dtype, 2), draw(length, dtype, 3)
        got = gpureduce.layer_norm(a, weight, bias, 0.5, device=device)
        assert_close(got, reference("layer_norm", a, weight, bias, 0.5), dtype, 64)
        only = gpureduce.layer_norm(a, bias=bias, device=device)
        assert_close(only, reference("layer_norm", a, 1, bias), dtype, 64)
        got = gpureduce.rms_norm(a, weight, 0.5, device=device)
        assert_close(got, reference("rms_norm", a, weight, eps=0.5), dtype)


@every_dtype
def test_residual(dtype, device):
    """The rounded sum is written back, and normalized."""
    dtype = dtype_of(dtype)
    for length in (5, 300, 4097, TILE + 8, 9 * TILE):
        a, residual, weight = draw((2, length), dtype, 1), draw((2, length), dtype, 2), draw(length, dtype, 3)
        sums = a + residual
        wanted = gpureduce.rms_norm(sums, weight, device=device)
        there = gpureduce.to_device(residual, device)
        got = gpureduce.rms_norm(
            gpureduce.to_device(a, device), gpureduce.to_device(weight, device), residual=there
        )
        assert_same_bits(to_host(got), wanted)
        assert_same_bits(to_host(there), sums)
        assert_same_bits(gpureduce.rms_norm(a, weight, residual=residual, device=device), wanted)
        assert_same_bits(residual, sums)


# Arguments


@every_function
def test_out(name, device):
    function = getattr(gpureduce, name)
    a = draw((4, 2, 300), np.float32)
    wanted = function(a, device=device)
    out = np.empty(a.shape, np.float64)
    assert function(a, out=out, device=device) is out
    np.testing.assert_array_equal(out, wanted)
    on_device = gpureduce.to_device(a, device)
    result = function(on_device)
    assert isinstance(result, gpureduce.DeviceArray)
    assert_same_bits(to_host(result), wanted)
    assert_same_bits(function(on_device, as_device=False), wanted)
    assert function(on_device, out=on_device) is on_device
    assert_same_bits(to_host(on_device), wanted)
    longer = gpureduce.to_device(np.zeros(2401, np.float32), device)
    with pytest.raises(ValueError, match="out: overlaps"):
        function(longer[:2400], out=longer[1:])
    with pytest.raises(ValueError, match="out: expected shape"):
        function(a, out=np.empty((2, 4, 300), np.float32), device=device)


def test_in_place_of_long_rows(device):
    a = gpureduce.to_device(draw((2, 9 * TILE), np.float32), device)
    wanted = to_host(gpureduce.log_softmax(a))
    assert_same_bits(to_host(gpureduce.log_softmax(a, out=a)), wanted)


def test_method(device):
    a = gpureduce.to_device(draw((3, 5), np.float32), device)
    assert_same_bits(to_host(a.softmax(0)), to_host(gpureduce.softmax(a, axis=0)))


@every_function
def test_refused(name, device):
    function = functools.partial(getattr(gpureduce, name), device=device)
    with pytest.raises(TypeError, match=f"a: {name} takes real floating-point numbers, not complex64"):
        function(np.ones(3, np.complex64))
    with pytest.raises(TypeError, match="convert it before"):
        getattr(gpureduce, name)(gpureduce.to_device(np.ones(3, np.int32), device))
    assert function([1, 2, 3]).dtype == np.float64
    if name in ("softmax", "log_softmax"):
        with pytest.raises(ValueError, match="axis 2 is out of bounds"):
            function(np.ones((2, 2)), axis=2)
        with pytest.raises(TypeError, match="axis: expected one integer"):
            function(np.ones((2, 2)), axis=(0, 1))


def test_refused_parameters(device):
    a = np.ones((2, 3), np.float32)
    there = gpureduce.to_device(a, device)
    norm = functools.partial(gpureduce.rms_norm, device=device)
    for arguments, error, message in (
        ({"weight": np.ones(2)}, ValueError, r"weight: expected shape \(3,\)"),
        ({"weight": np.ones(3, complex)}, TypeError, "weight: expected the dtype of a, float32"),
        ({"weight": there[0]}, TypeError, "weight: must be on the device of a"),
        ({"eps": -1.0}, ValueError, "eps: expected a number of at least 0"),
        ({"eps": "x"}, TypeError, "eps: expected a number"),
        ({"eps": float("nan")}, ValueError, "eps: expected a number of at least 0"),
        ({"residual": np.ones(3, np.float32)}, ValueError, "residual: expected the shape of a"),
        ({"residual": np.ones((2, 3))}, TypeError, "residual: expected the dtype of a"),
        ({"residual": [[1.0] * 3] * 2}, TypeError, "residual: expected"),
        ({"residual": there}, TypeError, "residual: must be on the device of a"),
        ({"residual": a}, ValueError, "residual: overlaps with a"),
    ):
        with pytest.raises(error, match=message):
            norm(a, **arguments)
    with pytest.raises(ValueError, match="residual: overlaps"):
        gpureduce.rms_norm(there, residual=there)
    fixed = np.ones((2, 3), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match="residual: expected an array, to which the sums are written"):
        norm(a, residual=fixed)
    with pytest.raises(TypeError, match="weight: expected the dtype of a"):
        gpureduce.rms_norm(there, gpureduce.to_device(np.ones(3), device))
    wide = gpureduce.to_device(np.ones((3, 2), np.float32), device)
    with pytest.raises(ValueError, match="weight: an array on a device must be contiguous"):
        gpureduce.rms_norm(there, wide[:, 0])


@every_function
@pytest.mark.parametrize("length", [10, 300, 5000, 40000, 150000])
def test_one_launch_without_races(name, length):
    """One kernel makes the results, and has no races."""
    a = draw((2, length), np.float32)
    parameters = {"weight": None, "bias": None, "residual": None, "eps": 0.0}
    result, launches, problem = observe(
        lambda device: _core.normalize(a=a, op=name, axis=1, destination=(None, device, 0, 0), **parameters),
        True,
    )
    assert problem is None
    assert result.shape == a.shape
    assert [kernel.races for kernel in kernel_profiles(launches, "", 0)] == [()]
