"""The variant `cudnn`: absent, refused by the simulator, and complete where the library is.

Without a GPU it runs on the fake driver, with a library that convolves on the host and says what it was told
(tests/fake_cuda/fake_cudnn.c).
"""

import ctypes
import os

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from tests.support import conv_cases as cases
from tests.support.children import python
from tests.support.fake_driver import run

CUDNN = gpureduce.variants("conv")["cudnn"]
CASES = tuple(
    case
    for case in cases.CASES[::3]
    if case.n * case.f * case.h * case.w * case.c > 0 and case.padding not in ("same", "valid")
)


class Record(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_long) for name in ("handles", "calls", "alive", "type", "math", "groups")),
        *((name, ctypes.c_long) for name in ("algorithm", "bytes", "channels_last", "fail")),
        ("stream", ctypes.c_void_p),
    ]


def record():
    """What the fake library remembers of its last call."""
    fake = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDNN"]).fake_cudnn
    fake.restype = ctypes.POINTER(Record)
    return fake().contents


def convolve(x, w, **options):
    return gpureduce.conv2d(x, w, variant="cudnn", device="cuda", **{"layout": "NHWC", **options})


def pair(dtype="float32"):
    return cases.arrays(dtype, cases.Case(2, 5, 6, 4, 6, 3, 3), "NHWC", "exact")


def check_arguments():
    """Every argument in both layouts."""
    for case in CASES:
        for layout in cases.LAYOUTS:
            x, w = cases.arrays("float32", case, layout, "exact")
            options = {**case.options, "layout": layout}
            got = convolve(x, w, **options)
            assert cases.mismatch(x, w, got, "exact", **options) is None, (case, layout)
            told = record()
            assert (told.channels_last, told.groups) == (layout == "NHWC", case.groups)
            assert (told.algorithm, told.bytes, told.alive) == (1, 4096, 0)
    assert record().handles == 1
    x, w = pair()
    calls = record().calls
    assert convolve(x[:0], w).shape == (0, 3, 4, 6) and record().calls == calls


def check_precisions():
    x, w = pair()
    for precision, math in ((None, 3), ("ieee", 3), ("tf32", 1)):  # float32 stays so; the fake says 1
        convolve(x, w, precision=precision)
        assert (record().type, record().math) == (0, math)
    convolve(x.astype(np.float16), w.astype(np.float16))
    assert (record().type, record().math) == (2, 1)
    with pytest.raises(ValueError, match="precision: cudnn multiplies in 'ieee', not in 'tf32x3'"):
        convolve(x, w, precision="tf32x3")
    with pytest.raises(TypeError, match=r"cudnn takes float32, .*, not float64"):
        convolve(x.astype(float), w.astype(float))


def check_devices_and_streams():
    x, w = pair()
    for index in (0, 1):
        there = [gpureduce.to_device(each, f"cuda:{index}") for each in (x, w)]
        got = gpureduce.conv2d(*there, layout="NHWC", variant="cudnn")
        assert got.device == f"cuda:{index}" and record().handles == index + 1
        assert cases.mismatch(x, w, got.numpy(), "exact") is None
    driver, stream = ctypes.CDLL(os.environ["GPUREDUCE_LIBCUDA"]), ctypes.c_void_p()
    assert _core.call_on(1, lambda: driver.cuStreamCreate(ctypes.byref(stream), 1)) == 0
    gpureduce.conv2d(*there, layout="NHWC", variant="cudnn", stream=stream.value)
    assert record().stream == stream.value


def check_errors():
    x, w = pair()
    convolve(x, w)
    for fail, message in (
        (1, r"^cudnn: convolving: CUDNN_STATUS_EX\w+$"),
        (2, "^variant: cudnn has no algorithm for this convolution; auto supports it$"),
        (3, r"^cudnn: making descriptors: CUDNN_STATUS_EX\w+$"),
    ):
        record().fail = fail
        with pytest.raises(gpureduce.DeviceError, match=message):
            convolve(x, w)
        assert record().alive == 0
    record().fail = 0
    assert cases.mismatch(x, w, convolve(x, w), "exact") is None
    for left, right, options in (
        (x, w[:, :2, :2], {"padding": "same"}),  # one more zero behind than before
        (x[..., :0], w[..., :0], {}),
    ):
        with pytest.raises(ValueError, match="variant: cudnn does not support this convolution; auto does"):
            convolve(left, right, **options)


def test_calls(fake_libraries):
    run(fake_libraries, check_arguments, check_precisions, check_devices_and_streams, check_errors)


def test_a_library_that_is_not_there(fake_libraries, tmp_path):
    code = """
import numpy as np, gpureduce
record = gpureduce.variants("conv")["cudnn"]
print(record.installed, record.runs_on("cuda"), record.runs_on("sim"))
try:
    gpureduce.conv2d(np.ones((1, 1, 2, 2), "f"), np.ones((1, 1, 2, 2), "f"), variant="cudnn", device="cuda")
except ValueError as error:
    print(error)
"""
    for name, expected in (
        (str(tmp_path / "missing.so"), "was not found: looked for "),
        (fake_libraries["GPUREDUCE_LIBCUDA"], "variant: cudnn needs cuDNN 9: "),
    ):
        done = python(code, "-W", "error", **{**fake_libraries, "GPUREDUCE_LIBCUDNN": name})
        first, second = done.stdout.splitlines()
        assert first == "False False False", done.stderr
        assert expected in second and (name in second or "cudnnGetErrorString" in second)


@pytest.mark.core
def test_the_simulator_refuses_it():
    x, w = pair()
    with pytest.raises(ValueError, match="cudnn runs on CUDA devices only, not on the simulator"):
        gpureduce.conv2d(x, w, layout="NHWC", variant="cudnn", device="sim")


@pytest.mark.core
def test_cudnn_record():
    assert (CUDNN.role, CUDNN.backends, CUDNN.block_sizes) == ("side", ("cuda",), ())
    assert (CUDNN.default_block_size, CUDNN.file, CUDNN.precision) == (0, "", "ieee")
    for ask in (gpureduce.source, gpureduce.kernels.ptx):
        with pytest.raises(ValueError, match="variant: cudnn "):
            ask("cudnn")
    with pytest.raises(ValueError, match="cudnn"):
        gpureduce.profile((*pair(), {"layout": "NHWC"}), "cudnn")


@pytest.fixture
def on_device(device):
    if not CUDNN.runs_on(device):
        pytest.skip("no cuDNN here")
    return {"variant": "cudnn", "device": device}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_arguments(dtype, layout, on_device):
    """By the norm of the result: its algorithms may be those that add up more than a result's products."""
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    most = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    for case in CASES:
        x, w = cases.arrays(dtype, case, layout, "rounded")
        options = {**case.options, "layout": layout}
        wide = cases.convolve(x.astype(float), w.astype(float), **options)
        for left, right in ((x, w), (cases.strided(x, "cropped"), cases.strided(w, "backwards"))):
            got = gpureduce.conv2d(left, right, **options, **on_device).astype(float)
            assert np.linalg.norm(got - wide) <= most * np.linalg.norm(wide), case


@pytest.mark.gpu
def test_a_result_that_begins_anywhere(on_device):
    x, w = pair()
    there = [gpureduce.to_device(each, on_device["device"]) for each in (x, w)]
    room = gpureduce.to_device(np.full(2 * 3 * 4 * 6 + 1, np.nan, np.float32), on_device["device"])
    gpureduce.conv2d(*there, layout="NHWC", variant="cudnn", out=room[1:].reshape(2, 3, 4, 6))
    np.testing.assert_allclose(room.numpy()[1:].reshape(2, 3, 4, 6), cases.convolve(x, w), rtol=1e-5)


@pytest.mark.gpu
def test_precisions_of_float32(on_device):
    x, w = cases.arrays("float32", cases.Case(2, 20, 20, 64, 64, 3, 3), "NHWC", "rounded")
    wide = cases.convolve(x.astype(float), w.astype(float))
    for precision, least, most in (("ieee", 1e-8, 2e-6), ("tf32", 1e-4, 4e-4)):
        got = gpureduce.conv2d(x, w, layout="NHWC", precision=precision, **on_device)
        assert least < np.linalg.norm(got - wide) / np.linalg.norm(wide) < most
