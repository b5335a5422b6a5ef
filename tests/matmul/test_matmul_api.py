"""`matmul` takes what NumPy's takes, gives what NumPy's gives, and refuses the rest by name."""

import time

import numpy as np
import pytest

import gpureduce
from gpureduce._profiles.from_core import kernel_profiles, observe
from tests.support.selection import runs_on

A = np.arange(6.0).reshape(2, 3)
B = np.arange(12.0).reshape(3, 4) - 5


def test_dtypes_of_results(device):
    """Every pair of dtypes, against NumPy's choice."""
    names = "?bhilqBHILQefdFD"
    for left in names:
        for right in names:
            a, b = np.ones((2, 3), left), np.ones((3, 2), right)
            got, wanted = gpureduce.matmul(a, b, device=device), np.matmul(a, b)
            assert got.dtype.num == wanted.dtype.num, (left, right)
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32", "bool"])
@pytest.mark.parametrize("given", ["float32", "float64", "int8", "bool"])
def test_dtype(given, dtype, device):
    a, b = A.astype(given), B.astype(given)
    try:
        wanted = np.matmul(a, b, dtype=dtype)
    except TypeError:
        with pytest.raises(TypeError):
            gpureduce.matmul(a, b, dtype=dtype, device=device)
        return
    got = gpureduce.matmul(a, b, dtype=dtype, device=device)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
def test_out(dtype, device):
    for order in "CF":
        out = np.full((2, 4), 7, dtype, order)
        wanted = np.full((2, 4), 7, dtype, order)
        try:
            np.matmul(A, B, out=wanted)
        except TypeError:
            with pytest.raises(TypeError):
                gpureduce.matmul(A, B, out=out, device=device)
            assert (out == 7).all()
            continue
        assert gpureduce.matmul(A, B, out=out, device=device) is out
        np.testing.assert_array_equal(out, wanted)
    wide = np.zeros((5, 2, 4))
    assert gpureduce.matmul(A, B, out=wide, device=device) is wide
    np.testing.assert_array_equal(wide, np.matmul(A, B, out=np.zeros((5, 2, 4))))
    strided = np.zeros((4, 8))[::2, ::2]
    np.testing.assert_array_equal(gpureduce.matmul(A, B, strided, device=device), A @ B)


def test_out_may_be_an_operand(device):
    square = np.random.default_rng(1).standard_normal((70, 70))
    wanted = gpureduce.matmul(square, square, device=device)
    host = square.copy()
    np.testing.assert_array_equal(gpureduce.matmul(host, host, host, device=device), wanted)
    for variant in ("auto", "m2", "m6"):
        there = gpureduce.to_device(square, device)
        assert gpureduce.matmul(there, there, there, variant=variant) is there
        np.testing.assert_allclose(there.numpy(), wanted, rtol=1e-12)


def test_arrays_on_a_device(device):
    a, b = gpureduce.to_device(A, device), gpureduce.to_device(B, device)
    got = gpureduce.matmul(a, b)
    assert isinstance(got, gpureduce.DeviceArray) and got.shape == (2, 4)
    np.testing.assert_array_equal(got.numpy(), A @ B)
    np.testing.assert_array_equal(gpureduce.matmul(a, b, as_device=False), A @ B)
    vector = gpureduce.to_device(A[0], device)
    inner = gpureduce.matmul(vector, vector)
    assert inner.shape == () and inner.numpy() == A[0] @ A[0]
    assert gpureduce.matmul(vector, vector, as_device=False) == A[0] @ A[0]
    out = gpureduce.to_device(np.zeros((2, 4)), device)
    assert gpureduce.matmul(a, b, out, variant="m3") is out
    np.testing.assert_array_equal(out.numpy(), A @ B)
    sent = gpureduce.matmul(A, B, as_device=True, device=device)
    np.testing.assert_array_equal(sent.numpy(), A @ B)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda **k: gpureduce.matmul(1.0, A, **k), ValueError, "a: matmul needs at least one dimension"),
        (lambda **k: gpureduce.matmul(A, 1.0, **k), ValueError, "b: matmul needs at least one dimension"),
        (lambda **k: gpureduce.matmul(A, A, **k), ValueError, "b: expected 3 rows"),
        (lambda **k: gpureduce.matmul(A, A[0, :2], **k), ValueError, "b: expected 3 rows"),
        (lambda **k: gpureduce.matmul(np.ones((2, 1, 3)), np.ones((3, 3, 1)), **k), ValueError, "broadcast"),
        (lambda **k: gpureduce.matmul(A, B, np.zeros(3), **k), ValueError, "out: expected shape"),
        (lambda **k: gpureduce.matmul(A, B, [0], **k), TypeError, "out: expected an array"),
        (lambda **k: gpureduce.matmul(A.astype("U"), B, **k), TypeError, "a: dtype"),
        (
            lambda **k: gpureduce.matmul(A, B, variant="m99", **k),
            ValueError,
            "variant: unknown variant 'm99'",
        ),
        (
            lambda **k: gpureduce.matmul(A, B, variant="v7", **k),
            ValueError,
            "v7 belongs to the ladder 'reduction'",
        ),
        (lambda **k: gpureduce.sum(A, variant="m3", **k), ValueError, "m3 belongs to the ladder 'matmul'"),
        (lambda **k: gpureduce.matmul(A, B, variant=3, **k), TypeError, "variant: expected str"),
        (lambda **k: gpureduce.matmul(A, B, precision="half", **k), ValueError, "precision: expected one of"),
        (
            lambda **k: gpureduce.matmul(A.astype(complex), B, variant="m3", **k),
            TypeError,
            "variant: m3 takes",
        ),
        (lambda **k: gpureduce.matmul(A, B, dtype="U3", **k), TypeError, "dtype"),
        (lambda **k: gpureduce.matmul(np.ma.masked_array(A), B, **k), TypeError, "a: masked"),
        (
            lambda **k: gpureduce.matmul(A, B, as_device=True, out=np.zeros((2, 4)), **k),
            ValueError,
            "as_device",
        ),
    ],
)
def test_refusals(call, error, text, device):
    with pytest.raises(error, match=text):
        call(device=device)


def test_refusals_on_a_device(device):
    a, b = gpureduce.to_device(A, device), gpureduce.to_device(B, device)
    with pytest.raises(TypeError, match="b: must be on the device of a, or in host memory if a is"):
        gpureduce.matmul(a, B)
    with pytest.raises(TypeError, match="b: must be on the device of a, or in host memory if a is"):
        gpureduce.matmul(A, b, device=device)
    with pytest.raises(TypeError, match=r"not cast|own dtype"):
        gpureduce.matmul(a, b, dtype="float32")
    with pytest.raises(TypeError, match="out: an array on a device must have"):
        gpureduce.matmul(a, b, gpureduce.to_device(np.zeros((2, 4), "f4"), device))
    with pytest.raises(ValueError, match="out: expected shape"):
        gpureduce.matmul(a, b, gpureduce.to_device(np.zeros((4, 2)), device))


def test_the_floating_point_state(device):
    large = np.full((2, 2), 3e38, np.float32)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in matmul"):
        gpureduce.matmul(large, large, device=device)
    infinite = np.array([[np.inf, 1.0], [1.0, 2.0]])
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid value encountered"):
        gpureduce.matmul(infinite, np.array([[0.0, 1.0], [1.0, 1.0]]), device=device)
    with np.errstate(all="raise"):
        assert np.isnan(gpureduce.matmul(np.array([np.nan, 1.0]), np.ones(2), device=device))
        assert np.isinf(gpureduce.matmul(infinite, np.ones((2, 2)), device=device)).any()


@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "f16x3"])
def test_precision(precision, device):
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((70, 200), (200, 90)))
    able = [v for v in gpureduce.variants("matmul") if v.precision == precision and runs_on(v, device)]
    if not able:
        with pytest.raises(ValueError, match=rf"precision: {precision} of float32 is not for"):
            gpureduce.matmul(a, b, precision=precision, device=device)
        return
    wide = a.astype(np.float64) @ b.astype(np.float64)
    for c in (
        gpureduce.matmul(a, b, precision=precision, device=device),
        gpureduce.matmul(a, b, precision=precision, variant=able[0].name, device=device),
    ):
        error = np.linalg.norm(c - wide) / np.linalg.norm(wide)
        assert (1e-4 < error < 4e-4) if precision == "tf32" else (1e-8 < error < 6e-7)
    with pytest.raises(TypeError, match=r"precision: .* requires float32"):
        gpureduce.matmul(a.astype(float), b.astype(float), precision=precision, device=device)
    with pytest.raises(ValueError, match="multiplies in"):
        gpureduce.matmul(a, b, precision="ieee", variant=able[0].name, device=device)


def test_records(device):
    records = gpureduce.variants("matmul")
    assert [record.name for record in records][:8] == [f"m{i}" for i in range(8)]
    for before, record in zip((None, *records), records, strict=False):
        if record.role == "rung" and before is not None:
            assert record.after is not None
        assert record.ops == ("matmul",)
        if not record.block_sizes:
            continue  # of a library
        assert f"// {record.name}: " in gpureduce.source(record.name)
        short = {"float32": "f32", "float16": "f16", "float64": "f64"}[record.dtypes[0]]
        assert f"{record.name}_{short}" in gpureduce.kernels.ptx(record.name)


@pytest.mark.parametrize(
    "name", [v.name for v in gpureduce.variants("matmul") if "sim" in v.backends and v.role != "study"]
)
def test_no_races(name, thin):
    dtypes = {v.name: v.dtypes for v in gpureduce.variants()}[name]
    chosen = {"float32", "int64", "float16"}.intersection(dtypes) or {"float64"}.intersection(dtypes)
    for i, dtype in enumerate(sorted(chosen)):
        # The last shape fills every ring more than once. Other dtypes synchronize in the same places.
        for shape in ((65, 130, 35),) if thin or i else ((65, 130, 35), (65, 136, 64), (30, 35, 460)):
            assert gpureduce.profile(shape, name, dtype=dtype).races == ()


@pytest.mark.parametrize(("k", "right"), [(0, True), (20, False), (32, True), (33, False), (96, True)])
def test_the_study_that_truncates(k, right):
    """Right for whole tiles along k, and wrong else, which no race check sees."""
    rng = np.random.default_rng(7)
    a, b = rng.integers(1, 9, (40, k)).astype(np.float32), rng.integers(1, 9, (k, 50)).astype(np.float32)
    found = gpureduce.profile((a, b), "m2_published")
    assert (found.result == a @ b).all() == (found.result == a @ b).any() == right
    assert found.races == ()


def test_the_study_that_races():
    """A race from the second step on, in the two statements that the head of its file speaks of."""
    assert gpureduce.profile((40, 50, 32), "m7_published").races == ()
    races = gpureduce.profile((40, 50, 33), "m7_published").races
    source = gpureduce.source("m7_published").splitlines()
    lines = {source[side.line - 1].strip() for race in races for side in (race.first, race.second)}
    assert {race.kind for race in races} == {"read-write", "write-read"}
    assert any(line.startswith("tile_a[place][y][x] =") for line in lines)
    assert any(line.startswith("sum = multiply_add(") for line in lines)
    assert all(race.missing in ("__syncthreads", "__syncwarp") for race in races)


@pytest.mark.many
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float16", "float32", "float64", "complex64"])
def test_no_races_by_default(dtype, some):
    """Of the kernels that are no rungs, too: other dtypes, vectors, copies of what lies apart."""
    rng = np.random.default_rng(3)
    shapes = (((65, 35), (35, 70)), ((1, 3000), (3000, 5)), ((7, 3000), (3000, 1)), ((9, 70), (70, 1)))
    for shape in some(shapes, 2):
        a, b = (rng.integers(0, 2, each).astype(dtype) for each in shape)
        wide = np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3]
        for left, right in ((a, b), (wide, b), (np.asfortranarray(a), np.asfortranarray(b))):
            given = left, right, None, None, True
            result, launches, problem = observe(
                lambda device, given=given: gpureduce._core.matmul(*given, (None, device, 0, 0)), True
            )
            assert problem is None
            assert [found for kernel in kernel_profiles(launches, "", 0) for found in kernel.races] == []
            np.testing.assert_array_equal(result, np.matmul(a, b))


@pytest.mark.parametrize(("variant", "seconds"), [("m1", 5), ("m7", 1)])
def test_the_simulator_is_quick(variant, seconds, full):
    """512 x 512 x 512 on two cores, by their own time, which others on the machine do not take."""
    a = np.random.default_rng(4).random((512, 512), dtype=np.float32)
    start = time.process_time()
    gpureduce.matmul(a, a, variant=variant, device="sim")
    assert time.process_time() - start < 2 * seconds


def test_profiles():
    counts = [gpureduce.profile((64, 64, 32), f"m{i}").totals for i in range(8)]
    sectors = [count.global_sectors for count in counts]
    assert sectors[0] > 3 * sectors[1] > 9 * sectors[2]
    assert counts[2].barriers > 0 == counts[1].barriers
    a, b = np.random.default_rng(2).standard_normal((2, 40, 40)).astype(np.float32)
    found = gpureduce.profile((a, b), "m7")
    np.testing.assert_array_equal(found.result, gpureduce.matmul(a, b, variant="m7", device="sim"))
    assert found.n == 40**3 and not found.races
    assert gpureduce.profile(16, "m2", dtype="int32").result.dtype == np.int32
    with pytest.raises(ValueError, match="block_size"):
        gpureduce.profile(16, "m2", block_size=128)
    with pytest.raises(TypeError, match="a: a product takes"):
        gpureduce.profile([1.0], "m2")


@pytest.mark.parametrize("shape", [(70, 70), (9, 31), (3, 513)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex128"])
def test_a_result_in_the_place_of_an_operand(shape, dtype, device):
    a = (np.arange(np.prod(shape)).reshape(shape) % 7 - 3).astype(dtype)
    b = np.roll(np.eye(shape[1], dtype=dtype), 1, axis=0)
    there = gpureduce.to_device(a, device)
    gpureduce.matmul(there, gpureduce.to_device(b, device), out=there)
    assert np.array_equal(there.numpy(), a @ b)
