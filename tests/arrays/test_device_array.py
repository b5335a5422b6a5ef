"""Device arrays and what they export; nothing here needs a GPU."""

import copy
import ctypes
import gc
import os
import pickle
import threading
import weakref

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._arrays import device_array
from gpureduce._arrays.device_array import DeviceArray, empty, to_device
from gpureduce._arrays.foreign import as_view
from tests.support.producers import (
    CPU,
    CUDA,
    DELETER,
    DTYPES,
    EXTENSION,
    Carrier,
    Managed,
    Versioned,
    api,
    numbers,
)

pytestmark = pytest.mark.core


@pytest.fixture
def in_use(device):
    """How many bytes of the device's memory somebody has."""
    if device != "sim":
        pytest.skip("the simulator counts them")
    gpureduce.free_memory()  # as a test does: tables of labels that other tests passed are kept until then
    first = bytes_left()
    return lambda: first - bytes_left()


def bytes_left():
    with pytest.raises(MemoryError) as refused:
        _core.device_alloc(_core.SIM, 0, 2**62)
    return int(str(refused.value).split("asked for, ")[1].split(" of ")[0])


class Elsewhere(device_array.Elements):
    """What a DeviceArray says that lies on cuda:1; its address leads nowhere."""

    def __init__(self):
        self.shape, self.strides, self._pointer, self.dtype = (2, 3), (12, 4), 0x7000, np.dtype("f4")
        self._kind, self._index, self.stream, self.shared = _core.CUDA, 1, 1, False

    def _share(self):
        self.shared = True

    __cuda_array_interface__ = DeviceArray.__cuda_array_interface__
    __dlpack__ = DeviceArray.__dlpack__
    __dlpack_device__ = DeviceArray.__dlpack_device__
    _finish_for = DeviceArray._finish_for


@pytest.fixture
def cuda_array():
    return Elsewhere()


# DeviceArray


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3, 4), (0,), (3, 0, 2)])
def test_round_trip(dtype, shape, device):
    host = numbers(shape, dtype)
    array = to_device(host, device)
    assert (array.shape, array.dtype, array.ndim) == (host.shape, host.dtype, host.ndim)
    assert (array.size, array.nbytes) == (host.size, host.nbytes)
    assert array.strides == np.empty([max(n, 1) for n in shape], dtype).strides
    assert (array._pointer != 0) == (host.size != 0)
    back = array.numpy()
    assert back.dtype == host.dtype and back.shape == host.shape
    assert back.tobytes() == host.tobytes()
    assert back.flags.owndata and back.flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        np.transpose,
        lambda a: a[::-1, ::2],
        lambda a: a.byteswap().view(a.dtype.newbyteorder()),
        np.asfortranarray,
        lambda a: np.broadcast_to(a[0], (3, *a.shape[1:])),
        lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
        lambda a: a.tolist(),
    ],
    ids=["transposed", "strided", "swapped", "fortran", "broadcast", "misaligned", "list"],
)
def test_layouts(change, device):
    given = change(numbers((4, 6), "float64"))
    got = to_device(given, device).numpy()
    assert got.dtype == np.float64 and got.dtype.isnative
    np.testing.assert_array_equal(got, np.asarray(given))


def test_bfloat16(device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = numbers((5, 3), "float32").astype(ml_dtypes.bfloat16)
    array = to_device(host, device)
    assert array.dtype == ml_dtypes.bfloat16
    assert array._view_tuple()[3] == "bfloat16"
    assert array.numpy().tobytes() == host.tobytes()


@pytest.mark.parametrize(
    "host",
    [
        np.array(["a"]),
        np.array([None]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "f4,i4"),
        np.ones(2, np.longdouble),
    ],
)
def test_dtypes_without_device_form(host, device):
    with pytest.raises(TypeError, match="not supported"):
        to_device(host, device)


def test_masked_arrays_are_refused(device):
    with pytest.raises(TypeError, match="masked"):
        to_device(np.ma.array([1.0, 2.0], mask=[0, 1]), device)


def test_text_and_length(device):
    array = to_device([[1, 2], [3, 4]], device)
    assert repr(array) == (
        f"DeviceArray([[1, 2],\n             [3, 4]], dtype=int64, device={array.device!r})"
    )
    assert str(array) == "[[1 2]\n [3 4]]"
    assert array.device == ("cuda:0" if device == "cuda" else device)
    assert len(array) == 2
    with pytest.raises(TypeError, match="0-d array"):
        len(to_device(1.5, device))


def test_no_silent_copy_to_numpy(device):
    with pytest.raises(TypeError, match=r"\.numpy\(\)"):
        np.asarray(to_device([1.0], device))
    for function in (np.add, np.concatenate, np.linalg.norm, np.array_equal, np.array_equiv):
        with pytest.raises(TypeError):
            function(to_device([1.0], device), to_device([1.0], device))
    for create in (np.zeros, np.ones, np.eye, np.arange, np.array):
        with pytest.raises(TypeError):
            create(2, like=to_device([1.0], device))


def test_functions_of_numpy(device):
    host = np.array([[3.0, np.nan, 1.0], [-3.0, 4.0, 2.0]])
    array = to_device(host, device)
    for name in ("sum", "nansum", "nanmedian", "sort", "argsort", "cumprod", "count_nonzero", "any", "amax"):
        result, expected = getattr(np, name)(array, axis=1), getattr(np, name)(host, axis=1)
        assert type(result) is gpureduce.DeviceArray, name
        np.testing.assert_array_equal(result.numpy(), expected)
    assert np.dot(array[1], array[1]) == 29
    assert np.nanquantile(array, 0.5, method="lower") == 2
    assert np.bincount(to_device([0, 2, 2], device)).tolist() == [1, 0, 2]
    # What NumPy computes from views and attributes.
    assert np.shape(array) == (2, 3) and np.result_type(array, np.int8) == np.float64
    assert [each.tolist() for each in np.split(array[1], 3)] == [[-3], [4], [2]]


@pytest.mark.parametrize("shape", [(-1,), (2, -3)])
def test_negative_shape(shape, device):
    with pytest.raises(ValueError, match="negative"):
        empty(shape, "f4", *device_array.resolve(device))


def test_huge_shape(device):
    with pytest.raises(ValueError, match="too large"):
        empty((2**40, 2**40), "f4", *device_array.resolve(device))


def test_to_device_of_device_array(device, monkeypatch):
    array = to_device(numbers(5, "float32"), device)
    assert to_device(array, device) is array
    with pytest.raises(gpureduce.DeviceError):
        to_device(array, "cuda:63")
    with monkeypatch.context() as patch:
        patch.setattr(
            device_array, "resolve", lambda device: pytest.fail("the default device does not matter")
        )
        assert to_device(array) is array


def test_memory_goes_with_the_last_owner(in_use, device):
    array = to_device(numbers(5, "float32"), device)
    address, view = array._pointer, as_view(array, device)
    assert view._pointer == address and view._view_tuple() == (address, (5,), (4,), "float32")
    taken = in_use()
    assert taken >= 20
    del array
    assert in_use() == taken
    del view
    assert in_use() == 0


def test_no_memory_no_free(in_use, device):
    array = to_device(np.empty((0, 4)), device)
    assert in_use() == 0
    del array
    assert in_use() == 0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_copies_have_memory_of_their_own(duplicate, in_use, device):
    host = numbers((3, 2), "complex64")
    array = to_device(host, device)
    taken = in_use()
    twin = duplicate([array])[0] if duplicate is copy.deepcopy else duplicate(array)
    assert twin._pointer != array._pointer and in_use() == 2 * taken
    np.testing.assert_array_equal(twin.numpy(), host)
    del array
    assert in_use() == taken
    del twin
    assert in_use() == 0


def test_a_forked_child_frees_nothing(in_use):
    array = to_device([1.0, 2.0], "sim")
    taken = in_use()
    child = os.fork()
    if child == 0:
        del array
        os._exit(in_use() != taken)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_only_the_core_makes_arrays(device):
    """Who could make one without memory, or change its address, would bring the process down."""
    for nothing in (DeviceArray, _core.Array, type("Another", (DeviceArray,), {})):
        with pytest.raises(TypeError, match="cannot create"):
            nothing()
        with pytest.raises(TypeError):
            object.__new__(nothing)
    array = to_device([1.0, 2.0], device)
    for name in ("_pointer", "shape", "strides", "dtype", "_kind", "_index", "stream", "other"):
        with pytest.raises(AttributeError):
            setattr(array, name, 1)
    with pytest.raises(TypeError, match="nonempty __slots__"):
        type("Wider", (_core.Array,), {"__slots__": ("more",)})
    for refused in (int, DeviceArray, type("D", (_core.Array,), {})):
        with pytest.raises(TypeError, match="expected, once, a class"):
            _core.array_class(refused)


def test_no_kind_passes_for_another(on_gpu):
    """The core takes any other number than that of CUDA for the simulator."""
    array = _core.array_empty((3,), "float32", 7, 0)
    _core.device_write(7, 0, array._pointer, np.ones(3, np.float32))
    assert _core.general(array, "sum", (0,), None, None, None, _core.SIM, 0, None) == 3
    if not on_gpu:
        with pytest.raises(gpureduce.DeviceError, match="no CUDA driver"):
            gpureduce.sum([1.0], device="cuda")


def test_weak_references(device):
    array = to_device([1.0, 2.0], device)
    gone = weakref.ref(array)
    assert gone() is array
    del array
    assert gone() is None


@pytest.mark.parametrize(
    ("shape", "error"),
    [((-1,), ValueError), ((2**40, 2**40), ValueError), ((1,) * 65, ValueError), (("2",), TypeError)],
)
def test_the_core_refuses_shapes(shape, error, device):
    with pytest.raises(error):
        _core.array_empty(shape, "int8", *device_array.resolve(device))


# Export


def test_simulator_exports_no_addresses(device):
    if device != "sim":
        pytest.skip("about the simulator")
    array = to_device([1.0, 2.0], device)
    assert not hasattr(array, "__cuda_array_interface__")
    assert array.__dlpack_device__() == (EXTENSION, 0)
    with pytest.raises(BufferError, match="simulator"):
        array.__dlpack__()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), (), (2, 0)])
def test_export_to_the_cpu(dtype, shape, device):
    host = numbers(shape, dtype)
    got = np.from_dlpack(Carrier(to_device(host, device)))
    assert got.dtype == host.dtype and got.shape == host.shape
    assert got.tobytes() == host.tobytes()


@pytest.mark.parametrize("versioned", [False, True])
def test_export_to_the_cpu_is_a_copy(versioned, device):
    array = to_device(numbers(4, "int32"), device)
    version = (1, 0) if versioned else None
    with pytest.raises(BufferError, match="copy"):
        array.__dlpack__(dl_device=(CPU, 0), copy=False, max_version=version)
    capsule = array.__dlpack__(dl_device=(CPU, 0), max_version=version)
    if versioned:
        address = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        assert Versioned.from_address(address).flags == 2
    pointer, *_ = imported = _core.dlpack_import(capsule)
    assert imported[4:7] == (CPU, 0, False)
    assert list((ctypes.c_int32 * 4).from_address(pointer)) == array.numpy().tolist()


def test_interface_of_a_cuda_array(cuda_array):
    assert cuda_array.__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (0x7000, False),
        "strides": None,
        "version": 3,
        "stream": 1,
    }


def test_the_stream_of_an_array_is_told(cuda_array):
    cuda_array.stream = 0x5550
    assert not cuda_array.shared
    assert cuda_array.__cuda_array_interface__["stream"] == 0x5550 and cuda_array.shared


@pytest.mark.parametrize("stream", [1, 0x5550])
def test_arrays_belong_to_a_stream(stream, device):
    if device != "sim":
        pytest.skip("there is no such stream on a GPU")
    assert to_device([1.0], device).stream == 1
    array = empty((3,), "f4", *device_array.resolve(device), stream)
    assert array.stream == stream


def test_interface_has_no_bfloat16(cuda_array):
    cuda_array.dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    assert not hasattr(cuda_array, "__cuda_array_interface__")


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        (None, b"dltensor"),
        ((0, 8), b"dltensor"),
        ((1, 0), b"dltensor_versioned"),
        ((1, 9), b"dltensor_versioned"),
        ((2, 0), b"dltensor_versioned"),
    ],
)
def test_capsule_of_a_cuda_array(cuda_array, max_version, name):
    assert cuda_array.__dlpack_device__() == (CUDA, 1)
    capsule = cuda_array.__dlpack__(max_version=max_version)
    assert api.PyCapsule_GetName(capsule) == name
    address = api.PyCapsule_GetPointer(capsule, name)
    managed = (Versioned if b"_" in name else Managed).from_address(address)
    if b"_" in name:
        assert (managed.major, managed.minor, managed.flags) == (1, 0, 0)
    tensor = managed.tensor
    assert (tensor.data, tensor.device_type, tensor.device_id) == (0x7000, CUDA, 1)
    assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes, tensor.byte_offset) == (2, 2, 32, 1, 0)
    assert (tensor.shape[:2], tensor.strides[:2]) == ([2, 3], [3, 1])


@pytest.mark.parametrize("own", [1, 0x5550])
@pytest.mark.parametrize("stream", [None, -1, 1, 2, 0x5550])
def test_stream_of_the_consumer(cuda_array, waits, orders, own, stream):
    cuda_array.stream = own
    cuda_array.__dlpack__(stream=stream)
    consumer = 1 if stream is None else stream
    assert orders == ([] if consumer in (own, -1) else [(_core.CUDA, 1, own, consumer)])
    assert cuda_array.shared and waits == []


@pytest.mark.parametrize("stream", [0, -2])
def test_invalid_stream_of_the_consumer(cuda_array, stream):
    with pytest.raises(ValueError, match="stream"):
        cuda_array.__dlpack__(stream=stream)


def test_export_to_another_device(cuda_array):
    assert cuda_array.__dlpack__(dl_device=(CUDA, 1)) is not None
    with pytest.raises(BufferError, match="cuda:1"):
        cuda_array.__dlpack__(dl_device=(CUDA, 0))
    with pytest.raises(TypeError, match="copy: expected a bool, got ndarray"):
        cuda_array.__dlpack__(copy=np.array([1, None]))


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("consumer", ["none", "this thread", "another thread"])
def test_export_holds_the_owner_until_its_end(versioned, consumer):
    class Owner:
        pass

    owner = Owner()
    gone = weakref.ref(owner)
    capsule = _core.dlpack_export(owner, 0x7000, (2, 3), "int8", CUDA, 0, versioned, False)
    del owner
    assert gone() is not None
    if consumer == "this thread":
        held = _core.dlpack_import(capsule)
        del capsule
        gc.collect()
        assert gone() is not None
        del held
    elif consumer == "another thread":
        name = api.PyCapsule_GetName(capsule)
        address = api.PyCapsule_GetPointer(capsule, name)
        managed = (Versioned if versioned else Managed).from_address(address)
        used = ctypes.c_char_p(b"used_" + name)
        api.PyCapsule_SetName(ctypes.py_object(capsule), used)
        deleter = DELETER(ctypes.cast(managed.deleter, ctypes.c_void_p).value)
        thread = threading.Thread(target=deleter, args=(address,))
        thread.start()
        thread.join()
        assert gone() is None
        del capsule  # does nothing: the consumer took it
    else:
        del capsule
    assert gone() is None


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"shape": (2, -1)}, BufferError),
        ({"shape": (2**40, 2**40)}, BufferError),
        ({"shape": (1,) * 65}, BufferError),
        ({"shape": ("2",)}, TypeError),
        ({"shape": [2]}, TypeError),
        ({"dtype": "float128"}, TypeError),
    ],
)
def test_export_of_nonsense(change, error):
    given = {"shape": (2,), "dtype": "int8", **change}
    with pytest.raises(error):
        _core.dlpack_export(None, 0x7000, given["shape"], given["dtype"], CUDA, 0, True, False)


# What NumPy's arrays, the array API's or CuPy's have under the same name, and what is our own.
PROPERTIES = {"T", "base", "device", "dtype", "itemsize", "mT", "nbytes", "ndim", "shape", "size", "strides"}
METHODS = {
    *(
        "astype",
        "copy",
        "item",
        "ravel",
        "reshape",
        "squeeze",
        "swapaxes",
        "to_device",
        "tolist",
        "transpose",
    ),
}
OWN = {"numpy", "stream"}


def test_public_attributes_are_numpys_and_the_array_apis_but_for_two():
    reductions = {name for name in gpureduce._functions.__all__ if hasattr(DeviceArray, name)}
    public = {name for name in dir(DeviceArray) if not name.startswith("_")}
    assert public == PROPERTIES | METHODS | OWN | reductions
    known = {*dir(np.ndarray), "to_device"}
    assert known >= METHODS | PROPERTIES - {"mT", "device"}


def test_to_device_returns_the_array_itself_on_its_device(device):
    array = to_device([1.0, 2.0], device)
    assert array.to_device(device) is array and array.to_device(array.device, stream=None) is array
    with gpureduce.device("sim:3"):
        assert array.to_device(device) is array


def test_to_device_copies_to_another_device():
    host = np.random.default_rng(5).standard_normal((4, 6))
    array = to_device(host, "sim")
    copy = array[:, ::2].T.to_device("sim:1")
    assert copy.device == "sim:1" and copy.dtype == host.dtype and copy.base is None
    assert (copy.numpy() == host[:, ::2].T).all()
    assert array.to_device(gpureduce.devices()[-1]) is array


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((), {}, TypeError, "to_device"),
        ((None,), {}, TypeError, "device: expected str or Device, got None"),
        (("cpu",), {}, ValueError, "device: unknown device 'cpu'"),
        (("sim", 1), {}, TypeError, "positional"),
        ((), {"device": "sim"}, TypeError, "positional"),
        (("sim:1",), {"stream": "x"}, TypeError, "stream: expected"),
    ],
)
def test_to_device_refuses_what_is_no_device(arguments, options, error, message):
    with pytest.raises(error, match=message):
        to_device([1.0], "sim").to_device(*arguments, **options)


@pytest.mark.parametrize(
    "symbol", ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "&"]
)
@pytest.mark.parametrize("left", ["a", "2", "np.ones(2)"])
def test_arithmetic_and_comparisons_are_refused_with_the_way_to_do_it(symbol, left, device):
    names = {"np": np, "a": to_device([1.0, 2.0], device)}
    code = f"{left} {symbol} a"
    with pytest.raises(TypeError, match=r"torch\.from_dlpack\(a\) or cupy\.from_dlpack\(a\).*a\.numpy\(\)"):
        eval(code, names)
