"""Device arrays and what crosses the exchange protocols; nothing here needs a GPU."""

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
from gpureduce import _core, _device_array
from gpureduce._device_array import DeviceArray, as_view, empty, to_device

pytestmark = pytest.mark.core

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
CPU, CUDA, CUDA_HOST, ROCM, EXTENSION, MANAGED = 1, 2, 3, 10, 12, 13


def numbers(shape, dtype):
    """Different numbers, both signs where there are."""
    n = int(np.prod(shape))
    values = (np.arange(1, n + 1) * 37 % 101 - 50).reshape(shape)
    return (values % 3 == 0) if dtype == "bool" else values.astype(dtype)


# DLPack's structures as Python sees them, to make capsules of every kind by hand


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = (ctypes.py_object,)
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


class Producer:
    """A tensor made by hand, and how often its deleter was called."""

    def __init__(self, versioned=False, shape=(2, 3), strides=(3, 1), flags=0, major=1, **fields):
        self.deleted = 0
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.managed = Versioned(major=major, flags=flags) if versioned else Managed()
        self.shape, self.strides = (
            (ctypes.c_int64 * len(v))(*v) if v is not None else None for v in (shape, strides)
        )
        self.tensor = self.managed.tensor
        defaults = {
            "data": 0x7000,
            "device_type": CUDA,
            "ndim": len(shape or ()),
            "code": 2,
            "bits": 32,
            "lanes": 1,
        }
        for field, value in {**defaults, **fields}.items():
            setattr(self.tensor, field, value)
        for field in ("shape", "strides"):
            if getattr(self, field) is not None:
                setattr(self.tensor, field, ctypes.cast(getattr(self, field), ctypes.POINTER(ctypes.c_int64)))
        self.deleter = DELETER(self._delete)
        self.managed.deleter = self.deleter

    def _delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def capsule(self):
        return api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)


class Exporter:
    """An array object over a `Producer`, noting what it was asked."""

    def __init__(self, device=(CUDA, 0), knows_versions=True, **fields):
        self.device, self.knows_versions, self.asked = device, knows_versions, []
        self.producer = Producer(device_type=device[0], device_id=device[1], **fields)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        if not self.knows_versions and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.producer.capsule()


class Interface:
    """An array object with the given entries in its `__cuda_array_interface__`."""

    def __init__(self, **entries):
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (0x7000, False),
            "version": 3,
            **entries,
        }


class Carrier:
    """Hands NumPy a capsule for the CPU."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, **options):
        return self.array.__dlpack__(max_version=max_version, dl_device=(CPU, 0))


@pytest.fixture
def waits(monkeypatch):
    """The streams waited for, as (kind, index, stream)."""
    calls = []
    monkeypatch.setattr(_core, "stream_wait", lambda *args: calls.append(args))
    return calls


@pytest.fixture
def addresses(monkeypatch):
    """Which CUDA device an address is on, as the driver would say."""
    known = {0x7000: 0, 0x8000: 1}
    monkeypatch.setattr(_core, "pointer_device", known.__getitem__)
    return known


@pytest.fixture
def frees(monkeypatch):
    """The addresses freed so far."""
    freed = []

    def free(kind, index, pointer):
        freed.append(pointer)
        _core.device_free(kind, index, pointer)

    monkeypatch.setattr(DeviceArray, "_free", staticmethod(free))
    return freed


@pytest.fixture
def cuda_array():
    """A DeviceArray that says it lies on cuda:1; its address leads nowhere."""
    array = empty((0, 3), np.float32, _core.CUDA, 1)
    array.shape, array.strides, array.pointer = (2, 3), (12, 4), 0x7000
    yield array
    array.pointer = 0


# DeviceArray


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3, 4), (0,), (3, 0, 2)])
def test_round_trip(dtype, shape, device):
    host = numbers(shape, dtype)
    array = to_device(host, device)
    assert (array.shape, array.dtype, array.ndim) == (host.shape, host.dtype, host.ndim)
    assert (array.size, array.nbytes) == (host.size, host.nbytes)
    assert array.strides == np.empty([max(n, 1) for n in shape], dtype).strides
    assert (array.pointer != 0) == (host.size != 0)
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
    assert array.view_tuple()[3] == "bfloat16"
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
    array = to_device(numbers((4, 2), "int16"), device)
    assert repr(array) == f"DeviceArray(shape=(4, 2), dtype=int16, device={array.device!r})"
    assert array.device == ("cuda:0" if device == "cuda" else device)
    assert len(array) == 4
    with pytest.raises(TypeError, match="no dimensions"):
        len(to_device(1.5, device))


def test_no_silent_copy_to_numpy(device):
    with pytest.raises(TypeError, match=r"\.numpy\(\)"):
        np.asarray(to_device([1.0], device))


@pytest.mark.parametrize("shape", [(-1,), (2, -3)])
def test_negative_shape(shape, device):
    with pytest.raises(ValueError, match="negative"):
        empty(shape, "f4", *_device_array.resolve(device))


def test_huge_shape(device):
    with pytest.raises(ValueError, match="too large"):
        empty((2**40, 2**40), "f4", *_device_array.resolve(device))


def test_to_device_of_device_array(device, monkeypatch):
    array = to_device(numbers(5, "float32"), device)
    assert to_device(array, device) is array
    with pytest.raises(gpureduce.DeviceError):
        to_device(array, "cuda:63")
    with monkeypatch.context() as patch:
        patch.setattr(
            _device_array, "resolve", lambda device: pytest.fail("the default device does not matter")
        )
        assert to_device(array) is array


def test_memory_goes_with_the_last_owner(frees, device):
    array = to_device(numbers(5, "float32"), device)
    address, view = array.pointer, as_view(array, device)
    assert view.pointer == address and view.view_tuple() == (address, (5,), (4,), "float32")
    del array
    assert frees == []
    del view
    assert frees == [address]


def test_no_memory_no_free(frees, device):
    array = to_device(np.empty((0, 4)), device)
    del array
    assert frees == []


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_copies_have_memory_of_their_own(duplicate, frees, device):
    host = numbers((3, 2), "complex64")
    array = to_device(host, device)
    twin = duplicate([array])[0] if duplicate is copy.deepcopy else duplicate(array)
    assert twin.pointer != array.pointer
    expected = [array.pointer, twin.pointer]
    np.testing.assert_array_equal(twin.numpy(), host)
    del array, twin
    assert frees == expected


def test_a_forked_child_frees_nothing(frees, device):
    if device != "sim":
        pytest.skip("a forked child has no use for a CUDA context")
    array = to_device([1.0, 2.0], device)
    child = os.fork()
    if child == 0:
        del array
        os._exit(len(frees))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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


@pytest.mark.parametrize(
    ("stream", "waited"), [(None, False), (-1, False), (1, False), (2, True), (0x1234560, True)]
)
def test_stream_of_the_consumer(cuda_array, waits, stream, waited):
    cuda_array.__dlpack__(stream=stream)
    assert waits == ([(_core.CUDA, 1, 1)] if waited else [])


@pytest.mark.parametrize("stream", [0, -2])
def test_invalid_stream_of_the_consumer(cuda_array, stream):
    with pytest.raises(ValueError, match="stream"):
        cuda_array.__dlpack__(stream=stream)


def test_export_to_another_device(cuda_array):
    assert cuda_array.__dlpack__(dl_device=(CUDA, 1)) is not None
    with pytest.raises(BufferError, match="cuda:1"):
        cuda_array.__dlpack__(dl_device=(CUDA, 0))


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


# Import, against NumPy's capsules


@pytest.mark.parametrize("dtype", DTYPES)
def test_import_of_numpy_capsules(dtype):
    host = numbers((4, 6), dtype)[::-1, ::2].T
    capsule = host.__dlpack__()
    pointer, shape, strides, name, kind, number, read_only, _owner = _core.dlpack_import(capsule)
    assert (pointer, shape, strides, name) == (host.ctypes.data, host.shape, host.strides, dtype)
    assert (kind, number, read_only) == (CPU, 0, False)
    assert api.PyCapsule_GetName(capsule) == b"used_dltensor"


def test_import_keeps_numpy_memory():
    host = numbers(3, "int32").copy()
    gone = weakref.ref(host)
    imported = _core.dlpack_import(host.__dlpack__())
    del host
    assert list((ctypes.c_int32 * 3).from_address(imported[0])) == numbers(3, "int32").tolist()
    del imported
    assert gone() is None


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy has no versioned capsules")
@pytest.mark.parametrize("writeable", [False, True])
def test_import_of_versioned_numpy_capsules(writeable):
    host = numbers(3, "float32").copy()
    host.flags.writeable = writeable
    capsule = host.__dlpack__(max_version=(1, 0))
    imported = _core.dlpack_import(capsule)
    assert (imported[0], imported[6]) == (host.ctypes.data, not writeable)
    assert api.PyCapsule_GetName(capsule) == b"used_dltensor_versioned"


# Import, against capsules made by hand


@pytest.mark.parametrize("versioned", [False, True])
def test_deleter_is_called_once(versioned):
    producer = Producer(versioned)
    capsule = producer.capsule()
    imported = _core.dlpack_import(capsule)
    with pytest.raises(BufferError, match="consumed"):
        _core.dlpack_import(capsule)
    del capsule
    gc.collect()
    assert producer.deleted == 0
    del imported
    assert producer.deleted == 1


@pytest.mark.parametrize("versioned", [False, True])
def test_no_deleter(versioned):
    producer = Producer(versioned)
    producer.managed.deleter = DELETER()
    assert _core.dlpack_import(producer.capsule())[0] == 0x7000
    assert producer.deleted == 0


def test_a_deleter_leaves_the_exception_on_its_way():
    def failing(imported):
        del imported
        raise KeyError("mine")

    producer = Producer()
    with pytest.raises(KeyError, match="mine"):
        failing(_core.dlpack_import(producer.capsule()))
    assert producer.deleted == 1


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"ndim": -1}, BufferError, "-1 dimensions"),
        ({"ndim": 65}, BufferError, "65 dimensions"),
        ({"ndim": 2**31 - 1}, BufferError, "dimensions"),
        ({"shape": None, "ndim": 2}, BufferError, "no shape"),
        ({"byte_offset": 2**64 - 1}, BufferError, "byte offset"),
        ({"strides": (2**62, 1)}, BufferError, "stride"),
        ({"strides": (-(2**63), 1)}, BufferError, "stride"),
        ({"shape": (2, 2**62, 4), "strides": None}, BufferError, "stride"),
        ({"code": 2, "bits": 8}, TypeError, "8 bits"),
        ({"code": 3, "bits": 64}, TypeError, "code 3"),
        ({"code": 2, "bits": 32, "lanes": 4}, TypeError, "4 lanes"),
        ({"code": 2, "bits": 32, "lanes": 0}, TypeError, "0 lanes"),
        ({"versioned": True, "major": 2}, BufferError, r"version 2\.0"),
        ({"versioned": True, "major": 0}, BufferError, r"version 0\.0"),
    ],
)
def test_broken_tensors_stay_with_their_producer(fields, error, text):
    producer = Producer(**fields)
    capsule = producer.capsule()
    with pytest.raises(error, match=text):
        _core.dlpack_import(capsule)
    assert api.PyCapsule_GetName(capsule) == producer.name
    assert producer.deleted == 0


@pytest.mark.parametrize(
    ("fields", "shape", "strides"),
    [
        ({"shape": (2, 3), "strides": None}, (2, 3), (12, 4)),
        ({"shape": (4, 3, 2), "strides": None}, (4, 3, 2), (24, 8, 4)),
        ({"shape": (2, 3), "strides": (-3, 2)}, (2, 3), (-12, 8)),
        ({"shape": (1, 3), "strides": (2**62, 1)}, (1, 3), (0, 4)),
        ({"shape": (2, 3), "strides": ((2**64 - 180) // 4, 1)}, (2, 3), (-180, 4)),
        ({"shape": (3,), "strides": (0,)}, (3,), (0,)),
        ({"shape": (), "strides": None}, (), ()),
    ],
)
def test_strides_in_bytes(fields, shape, strides):
    assert _core.dlpack_import(Producer(**fields).capsule())[1:3] == (shape, strides)


def test_byte_offset_counts():
    assert _core.dlpack_import(Producer(byte_offset=24).capsule())[0] == 0x7018


@pytest.mark.parametrize("name", [b"tensor", b"used_dltensor_versioned2", None])
def test_other_capsules(name):
    producer = Producer()
    producer.name = name
    with pytest.raises(TypeError, match="capsule named"):
        _core.dlpack_import(producer.capsule())


@pytest.mark.parametrize("thing", [None, 3, b"dltensor"])
def test_no_capsule(thing):
    with pytest.raises(TypeError, match="expected a capsule"):
        _core.dlpack_import(thing)


# as_view


@pytest.mark.parametrize(
    "thing", [None, 1, 2.5, [1, 2], (), "text", range(3), {}, np.ones(3), np.float32(1), object()]
)
def test_host_things_are_no_views(thing):
    assert as_view(thing) is None


@pytest.mark.parametrize("kind", [CPU, CUDA_HOST])
def test_host_memory_is_numpys_to_read(kind):
    exporter = Exporter((kind, 0))
    assert as_view(exporter, "cuda") is None
    assert exporter.asked == []


def test_view_of_a_device_array(device):
    array = to_device([1.0, 2.0], device)
    assert as_view(array) is array
    assert as_view(array, device) is array
    with pytest.raises(gpureduce.DeviceError, match="was asked for"):
        as_view(array, "cuda:63")


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("device_text", [None, "cuda:1"])
def test_view_through_dlpack(versioned, device_text):
    exporter = Exporter(
        (CUDA, 1), versioned=versioned, knows_versions=versioned, strides=(-3, 1), byte_offset=12
    )
    view = as_view(exporter, device_text)
    assert view.view_tuple() == (0x700C, (2, 3), (-12, 4), "float32")
    assert (view.kind, view.index, view.device, view.read_only) == (_core.CUDA, 1, "cuda:1", False)
    assert (view.ndim, view.size, view.nbytes, view.dtype) == (2, 6, 24, np.float32)
    assert all(asked["stream"] == 1 for asked in exporter.asked)
    assert exporter.asked[0]["max_version"] == (1, 0)
    assert len(exporter.asked) == (1 if versioned else 2)
    del view
    assert exporter.producer.deleted == 1


def test_read_only_view():
    assert as_view(Exporter(versioned=True, flags=1)).read_only is True
    assert as_view(Exporter(versioned=True, flags=2)).read_only is False


def test_bfloat16_view():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert as_view(Exporter(code=4, bits=16)).dtype == ml_dtypes.bfloat16


def test_producers_are_asked_while_their_device_is_current(monkeypatch):
    asked, call_on = [], _core.call_on

    def noting(index, function):
        asked.append((index, function.func.__name__))
        return call_on(index, function)

    monkeypatch.setattr(_core, "call_on", noting)
    as_view(Exporter((CUDA, 1)))
    assert asked == [(1, "__dlpack__")]


@pytest.mark.parametrize("device_text", ["cuda:0", "sim"])
def test_array_elsewhere(device_text):
    exporter = Exporter((CUDA, 1))
    with pytest.raises(gpureduce.DeviceError, match=f"lies on cuda:1 but device='{device_text}'"):
        as_view(exporter, device_text)
    assert exporter.asked == []


def test_devices_of_other_makers():
    with pytest.raises(BufferError, match="type 10"):
        as_view(Exporter((ROCM, 0)))


def test_managed_memory_is_on_every_device():
    assert as_view(Exporter((MANAGED, 0)), "cuda:1").index == 1
    assert as_view(Exporter((MANAGED, 0))).index == 0
    with pytest.raises(gpureduce.DeviceError):
        as_view(Exporter((MANAGED, 0)), "sim")


def test_capsule_from_another_device_than_announced():
    exporter = Exporter()
    exporter.producer.tensor.device_id = 1
    with pytest.raises(BufferError, match="the capsule"):
        as_view(exporter)
    assert exporter.producer.deleted == 1


def test_dlpack_before_the_interface(waits):
    class Both(Exporter):
        @property
        def __cuda_array_interface__(self):
            raise AssertionError("not asked for")

    assert as_view(Both()).pointer == 0x7000
    assert waits == []


LAYOUTS = [
    ({"shape": (-1, 3)}, "no array"),
    ({"shape": (2**33, 2**33), "strides": (0, 0)}, "too large"),
    ({"shape": (2**62, 4, 0), "strides": (0, 0, 0)}, "too large"),
    ({"shape": (2, 3), "strides": (-(2**20), 4)}, "leave memory"),
    ({"shape": (2, 3), "strides": (2**60, 2**60)}, None),
    ({"shape": (17, 3), "strides": (2**60, 4)}, "leave memory"),
    ({"shape": (2, 3), "strides": (0, 0)}, None),
]


@pytest.mark.parametrize(("layout", "text"), LAYOUTS)
def test_layouts_through_dlpack(layout, text):
    elements = tuple(stride // 4 for stride in layout.get("strides", (12, 4)))
    exporter = Exporter(shape=layout["shape"], strides=elements)
    if text is None:
        assert as_view(exporter).strides == layout["strides"]
    else:
        with pytest.raises(ValueError, match=text):
            as_view(exporter)
        assert exporter.producer.deleted == 1


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        *LAYOUTS,
        ({"strides": (12,)}, "no array"),
        ({"strides": (12, 5)}, "not aligned"),
        ({"strides": (10, 4)}, "not aligned"),
    ],
)
def test_layouts_through_the_interface(layout, text, addresses):
    if text is None:
        assert as_view(Interface(**layout)).strides == layout["strides"]
    else:
        with pytest.raises(ValueError, match=text):
            as_view(Interface(**layout))


@pytest.mark.parametrize(
    ("pointer", "typestr"),
    [(0x7002, "<f4"), (0x7004, "<f8"), (0x7004, "<c8"), (0x7008, "<c16"), (0x7001, "<i2")],
)
def test_misaligned_elements(pointer, typestr, addresses):
    addresses[pointer] = 0
    with pytest.raises(ValueError, match="not aligned"):
        as_view(Interface(data=(pointer, False), typestr=typestr))


def test_view_through_the_interface(addresses):
    source = Interface(data=(0x8000, True))
    view = as_view(source)
    assert view.view_tuple() == (0x8000, (2, 3), (12, 4), "float32")
    assert (view.kind, view.index, view.read_only, view.owner) == (_core.CUDA, 1, True, source)
    assert as_view(source, "cuda:1").index == 1
    with pytest.raises(gpureduce.DeviceError, match="lies on cuda:1"):
        as_view(source, "cuda:0")
    with pytest.raises(gpureduce.DeviceError, match="lies on cuda:1"):
        as_view(source, "sim")


@pytest.mark.parametrize("dtype", DTYPES)
def test_typestr(dtype, addresses):
    assert as_view(Interface(typestr=np.dtype(dtype).str)).dtype == np.dtype(dtype)


@pytest.mark.parametrize("typestr", [">f4", ">i8", "<V2", "|O8", "<U4", "<M8[s]", "<f16", "|S3"])
def test_typestr_of_no_device_dtype(typestr, addresses):
    with pytest.raises(TypeError, match="not supported"):
        as_view(Interface(typestr=typestr))


@pytest.mark.parametrize(
    ("entries", "waited"),
    [
        ({}, []),
        ({"stream": None}, []),
        ({"stream": 1}, []),
        ({"stream": 2}, [2]),
        ({"stream": 0x5550}, [0x5550]),
        ({"stream": 0, "version": 2}, []),
    ],
)
def test_stream_of_the_producer(entries, waited, waits, addresses):
    as_view(Interface(data=(0x8000, False), **entries))
    assert waits == [(_core.CUDA, 1, stream) for stream in waited]


@pytest.mark.parametrize(
    "entries",
    [
        {"stream": 0},
        {"stream": -1},
        {"stream": "1"},
        {"version": 4},
        {"version": None},
        {"shape": None},
        {"shape": ("2",)},
        {"shape": (2.0,)},
        {"strides": "ab"},
        {"data": 0x7000},
        {"data": (None, False)},
        {"data": (-8, False)},
        {"data": (2**64, False)},
        {"data": (0, False)},
        {"typestr": "no such"},
        {"typestr": None},
    ],
)
def test_malformed_interfaces(entries, addresses, waits):
    with pytest.raises(ValueError, match="__cuda_array_interface__"):
        as_view(Interface(**entries))
    assert waits == []


@pytest.mark.parametrize("interface", [7, "text", (), np.int8(3), np.zeros(2), {}])
def test_interfaces_that_are_no_dictionary(interface):
    source = Interface()
    source.__cuda_array_interface__ = interface
    with pytest.raises(ValueError, match="malformed"):
        as_view(source)


@pytest.mark.parametrize("entry", ["shape", "typestr", "data", "version"])
def test_missing_entries(entry):
    source = Interface()
    del source.__cuda_array_interface__[entry]
    with pytest.raises(ValueError, match=entry):
        as_view(source)


def test_masked_interface(addresses):
    with pytest.raises(TypeError, match="masked"):
        as_view(Interface(mask=Interface(typestr="|b1")))


@pytest.mark.parametrize("pointer", [0, 0x1234])
def test_interface_without_elements(pointer, addresses):
    view = as_view(Interface(shape=(3, 0), data=(pointer, False)), "cuda:1")
    assert (view.pointer, view.shape, view.index) == (0, (3, 0), 1)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1)])
def test_stride_of_an_axis_of_one_is_not_looked_at(shape, addresses):
    strides = tuple(4 if length > 1 else 12345678901234567 for length in shape)
    packed = np.empty(shape, np.float32).strides
    assert as_view(Interface(shape=shape, strides=strides)).strides == packed


def test_attributes_that_raise_pass_through():
    class Broken:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("needs detach")

    with pytest.raises(RuntimeError, match="detach"):
        as_view(Broken())
