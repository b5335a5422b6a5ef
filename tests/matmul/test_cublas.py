"""The variant `cublas`: absent, refused by the simulator, and complete where the library is.

Without a GPU it runs on the fake driver, with a library that multiplies on the host and says what it was told
(tests/fake_cuda/fake_cublas.c).
"""

import ctypes
import os

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support.children import python
from tests.support.fake_driver import run

CUBLAS = next(variant for variant in gpureduce.variants("matmul") if variant.name == "cublas")


class Record(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_long) for name in ("handles", "calls", "mode", "compute", "type", "turned")),
        *((name, ctypes.c_long) for name in ("count", "fail")),
        ("stream", ctypes.c_void_p),
    ]


def record():
    """What the fake library remembers of its last call."""
    fake = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUBLAS"]).fake_cublas
    fake.restype = ctypes.POINTER(Record)
    return fake().contents


def whole(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(dtype)


def multiply(a, b, **options):
    return gpureduce.matmul(a, b, variant="cublas", device="cuda", **options)


def check_layouts():
    """Either side along rows or down columns, or cropped, and vectors, all without a copy."""
    told = set()
    ways = (lambda x: x, np.asfortranarray, lambda x: np.pad(x, ((0, 0), (2, 3)))[:, 2:-3])
    for m, n, k in ((5, 7, 3), (1, 7, 3), (5, 1, 3), (5, 7, 1), (1, 1, 3), (1, 1, 1)):
        for dtype in (np.float32, np.float64):
            a, b = whole(m, k, dtype=dtype), whole(k, n, dtype=dtype)
            for of_a in ways:
                for of_b in ways:
                    np.testing.assert_array_equal(multiply(of_a(a), of_b(b)), a @ b)
                    told.add((record().type, record().turned))
    assert told == {(kind, turned) for kind in (0, 1) for turned in range(4)}
    np.testing.assert_array_equal(multiply(whole(3), whole(3, 4)), whole(3) @ whole(3, 4))
    np.testing.assert_array_equal(multiply(whole(2, 3), whole(3)), whole(2, 3) @ whole(3))


def check_stacks():
    """One call for evenly spaced matrices, one for each matrix of the other dimensions of a stack."""
    for left, right, calls in (
        ((4, 2, 3), (4, 3, 5), 1),
        ((4, 2, 3), (3, 5), 1),
        ((2, 3), (4, 3, 5), 1),
        ((6, 4, 2, 3), (6, 4, 3, 5), 1),
        ((6, 1, 2, 3), (4, 3, 5), 6),
    ):
        a, b = whole(*left), whole(*right)
        before = record().calls
        np.testing.assert_array_equal(multiply(a, b), a @ b)
        assert record().calls - before == calls and record().handles == 1


def check_precision():
    a, b = whole(3, 4), whole(4, 5)
    for precision, compute in ((None, 68), ("ieee", 68), ("tf32", 77)):
        multiply(a, b, precision=precision)
        assert (record().compute, record().mode) == (compute, 16)
    multiply(a.astype(float), b.astype(float))
    assert record().compute == 70
    with pytest.raises(ValueError, match="precision: cublas multiplies in 'ieee'"):
        multiply(a, b, precision="tf32x3")
    with pytest.raises(TypeError, match="precision: tf32 requires float32 arrays, got float64"):
        multiply(a.astype(float), b.astype(float), precision="tf32")
    with pytest.raises(TypeError, match=r"cublas takes float32, .*, not int32"):
        multiply(a.astype(np.int32), b.astype(np.int32))


def check_devices_and_streams():
    for index in (0, 1):
        a, b = (gpureduce.to_device(whole(*shape), f"cuda:{index}") for shape in ((3, 4), (4, 5)))
        got = gpureduce.matmul(a, b, variant="cublas")
        assert got.device == f"cuda:{index}" and record().handles == index + 1
        np.testing.assert_array_equal(got.numpy(), whole(3, 4) @ whole(4, 5))
    driver, stream = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"]), ctypes.c_void_p()
    assert _core.call_on(1, lambda: driver.cuStreamCreate(ctypes.byref(stream), 1)) == 0
    gpureduce.matmul(a, b, variant="cublas", stream=stream.value)
    assert record().stream == stream.value


def check_errors():
    a, b = whole(3, 4), whole(4, 5)
    multiply(a, b)
    record().fail = 1
    with pytest.raises(gpureduce.DeviceError, match=r"^cublas: multiplying: CUBLAS_STATUS_EX\w+$"):
        multiply(a, b)
    record().fail = 0
    np.testing.assert_array_equal(multiply(a, b), a @ b)


def test_calls(fake_libraries):
    run(fake_libraries, check_layouts, check_stacks, check_precision, check_devices_and_streams, check_errors)


def test_a_library_that_is_not_there(fake_libraries, tmp_path):
    code = """
import numpy as np, gpureduce
record = next(each for each in gpureduce.variants("matmul") if each.name == "cublas")
print(record.installed, record.runs_on("cuda"), record.runs_on("sim"))
try:
    gpureduce.matmul(np.ones((2, 2)), np.ones((2, 2)), variant="cublas", device="cuda")
except ValueError as error:
    print(error)
"""
    (tmp_path / "broken.so").write_text("no library")
    for name in ("missing.so", "broken.so"):
        done = python(code, "-W", "error", **{**fake_libraries, "GPUREDUCE_LIBCUBLAS": str(tmp_path / name)})
        first, second = done.stdout.splitlines()
        assert first == "False False False", done.stderr
        assert second.startswith("variant: cublas is NVIDIA's library, which was not found: looked for ")
        assert name in second
    driver = {**fake_libraries, "GPUREDUCE_LIBCUBLAS": fake_libraries["GPUREDUCE_LIBCUDA"]}
    done = python(code, "-W", "error", **driver)
    assert "cublas needs cuBLAS 12 or later" in done.stdout and "cublasGetStatusString" in done.stdout


@pytest.mark.core
def test_the_simulator_refuses_it():
    with pytest.raises(ValueError, match="cublas runs on CUDA devices only, not on the simulator"):
        gpureduce.matmul(np.ones((2, 2)), np.ones((2, 2)), variant="cublas", device="sim")


@pytest.mark.core
def test_cublas_record():
    assert (CUBLAS.role, CUBLAS.backends, CUBLAS.block_sizes) == ("side", ("cuda",), ())
    assert (CUBLAS.default_block_size, CUBLAS.file, CUBLAS.precision) == (0, "", "ieee")
    for ask in (gpureduce.source, gpureduce.kernels.ptx):
        with pytest.raises(ValueError, match="variant: cublas "):
            ask("cublas")
    with pytest.raises(ValueError, match="cublas"):
        gpureduce.profile(16, "cublas")


@pytest.fixture
def on_device(device):
    if not CUBLAS.runs_on(device):
        pytest.skip("no cuBLAS here")
    return {"variant": "cublas", "device": device}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype, on_device):
    """Their signs, above all, in every layout: a turned matrix is not conjugated."""
    a = (whole(3, 65, 33) + 1j * whole(3, 65, 33)[::-1]).astype(dtype)
    b = (whole(33, 70) - 2j * whole(33, 70)[:, ::-1]).astype(dtype)
    for left in (a, np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2), a[:, ::-1]):
        for right in (b, np.asfortranarray(b), b[:, ::2]):
            np.testing.assert_array_equal(gpureduce.matmul(left, right, **on_device), np.matmul(left, right))


@pytest.mark.gpu
def test_precisions_of_float32(on_device):
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((300, 300)).astype(np.float32) for _ in range(2))
    wide = a.astype(float) @ b.astype(float)
    for precision, least, most in (("ieee", 1e-8, 1e-6), ("tf32", 1e-4, 4e-4)):
        got = gpureduce.matmul(a, b, precision=precision, **on_device)
        assert least < np.linalg.norm(got - wide) / np.linalg.norm(wide) < most
