"""Arrays of other libraries, through DLPack and ``__cuda_array_interface__``; nothing here needs a GPU."""

import ctypes
import gc
import weakref

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._arrays.device_array import to_device
from gpureduce._arrays.foreign import as_view
from tests.support.producers import (
    CPU,
    CUDA,
    CUDA_HOST,
    DELETER,
    DTYPES,
    MANAGED,
    ROCM,
    Exchange,
    Exporter,
    Interface,
    Producer,
    api,
    numbers,
)

pytestmark = pytest.mark.core


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


def test_view_of_a_device_array(device, device_record):
    array = to_device([1.0, 2.0], device)
    assert as_view(array) is array
    assert as_view(array, device) is array
    with pytest.raises(gpureduce.DeviceError, match=f"device: the array is on {device_record}, not on"):
        as_view(array, "cuda:63")


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("device_text", [None, "cuda:1"])
def test_view_through_dlpack(versioned, device_text):
    exporter = Exporter(
        (CUDA, 1), versioned=versioned, knows_versions=versioned, strides=(-3, 1), byte_offset=12
    )
    view = as_view(exporter, device_text)
    assert view._view_tuple() == (0x700C, (2, 3), (-12, 4), "float32")
    assert (view._kind, view._index, view.device, view._read_only) == (_core.CUDA, 1, "cuda:1", False)
    assert (view.ndim, view.size, view.nbytes, view.dtype) == (2, 6, 24, np.float32)
    assert all(asked["stream"] == 1 for asked in exporter.asked)
    assert exporter.asked[0]["max_version"] == (1, 0)
    assert len(exporter.asked) == (1 if versioned else 2)
    del view
    assert exporter.producer.deleted == 1


def test_read_only_view():
    assert as_view(Exporter(versioned=True, flags=1))._read_only is True
    assert as_view(Exporter(versioned=True, flags=2))._read_only is False


def test_bfloat16_view():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert as_view(Exporter(code=4, bits=16)).dtype == ml_dtypes.bfloat16


@pytest.fixture
def asked(monkeypatch):
    """What producers were asked while a CUDA device was the current one, as (index, function)."""
    calls, call_on = [], _core.call_on

    def noting(index, function):
        calls.append((index, function.func.__name__))
        return call_on(index, function)

    monkeypatch.setattr(_core, "call_on", noting)
    return calls


def test_producers_are_asked_while_their_device_is_current(asked):
    """CuPy names a stream of the current device in its interface, and orders itself there in DLPack."""
    view = as_view(Exporter((CUDA, 1)))
    assert asked == [(1, "getattr"), (1, "__dlpack__")]
    assert view._next_stream() is None
    assert asked == [(1, "getattr"), (1, "__dlpack__"), (1, "getattr")]


@pytest.mark.parametrize("device_text", ["cuda:0", "sim"])
def test_array_elsewhere(device_text):
    exporter = Exporter((CUDA, 1))
    with pytest.raises(gpureduce.DeviceError, match=f"is on cuda:1, not on '{device_text}'"):
        as_view(exporter, device_text)
    assert exporter.asked == []


def test_devices_of_other_makers():
    with pytest.raises(BufferError, match="type 10"):
        as_view(Exporter((ROCM, 0)))


def test_managed_memory_is_on_every_device(waits, asked):
    """Whoever wrote it worked on the producer's device, whose streams those of another do not follow."""
    producer = Exporter((MANAGED, 0))
    producer.__cuda_array_interface__ = {"stream": 1}
    there = as_view(producer, "cuda:1")
    assert (there._index, there.stream, there._next_stream()) == (1, None, None)
    assert (asked, waits) == ([(0, "__dlpack__")], [(_core.CUDA, 0, 1)])
    here = as_view(producer)
    assert (here._index, here.stream, here._next_stream(), len(waits)) == (0, 1, 1, 1)
    with pytest.raises(gpureduce.DeviceError):
        as_view(Exporter((MANAGED, 0)), "sim")


def test_capsule_from_another_device_than_announced():
    exporter = Exporter()
    exporter.producer.tensor.device_id = 1
    with pytest.raises(BufferError, match="the capsule"):
        as_view(exporter)
    assert exporter.producer.deleted == 1


# as_view, of types with DLPack's functions for C


@pytest.mark.parametrize("stream", [None, 1])
@pytest.mark.parametrize("device_text", [None, "cuda:1"])
def test_no_python_is_asked_in_the_legacy_stream(stream, device_text, waits):
    exchange = Exchange(stream)
    exporter = exchange.exporter((CUDA, 1), strides=(-3, 1), byte_offset=12, flags=1)
    view = as_view(exporter, device_text)
    assert view._view_tuple() == (0x700C, (2, 3), (-12, 4), "float32")
    assert (view._kind, view._index, view._read_only) == (_core.CUDA, 1, True)
    assert (exchange.asked, exporter.asked, waits) == ([(CUDA, 1)], [], [])
    assert exporter.producer.deleted == 0
    del view
    assert exporter.producer.deleted == 1


@pytest.mark.parametrize("stream", [2, 0x7F00])
def test_the_stream_of_their_work_is_known(stream, waits):
    exporter = Exchange(stream).exporter((CUDA, 1))
    view = as_view(exporter)
    assert (view._index, view.stream, view._next_stream()) == (1, stream, stream)
    assert (exporter.asked, waits) == ([], [])


@pytest.mark.parametrize(
    "exchange",
    [
        Exchange(major=2),
        Exchange(major=2, previous=Exchange(major=3)),
        Exchange(refuses="take"),
        Exchange(refuses="current_stream"),
        Exchange(name=b"another name"),
        Exchange(lacks="take"),
        Exchange(lacks="current_stream"),
    ],
    ids=["newer", "both newer", "take fails", "stream fails", "named otherwise", "no take", "no stream"],
)
def test_otherwise_python_is_asked(exchange):
    exporter = exchange.exporter()
    view = as_view(exporter)
    assert (view._pointer, view.shape) == (0x7000, (2, 3))
    assert [asked["stream"] for asked in exporter.asked] == [1]


def test_functions_of_an_older_version():
    exporter = Exchange(major=2, previous=Exchange()).exporter()
    assert as_view(exporter)._pointer == 0x7000
    assert exporter.asked == []


def test_tensors_of_another_version_are_given_back():
    exporter = Exchange().exporter(major=2)
    with pytest.raises(BufferError, match=r"version 2\.0"):
        as_view(exporter)
    assert exporter.producer.deleted == 1 and len(exporter.asked) == 1


def test_other_memory_is_given_back(waits):
    exchange = Exchange()
    exporter = exchange.exporter((CUDA_HOST, 0))
    assert as_view(exporter) is None
    assert (exporter.producer.deleted, exchange.asked, exporter.asked) == (1, [], [])
    assert as_view(exchange.exporter((MANAGED, 0)), "cuda:1")._index == 1
    assert waits == [(_core.CUDA, 0, 1)]


@pytest.mark.parametrize("device_text", ["cuda:0", "sim"])
def test_a_tensor_elsewhere_is_given_back(device_text):
    exporter = Exchange().exporter((CUDA, 1))
    with pytest.raises(gpureduce.DeviceError, match=f"is on cuda:1, not on '{device_text}'"):
        as_view(exporter, device_text)
    assert exporter.producer.deleted == 1


@pytest.mark.parametrize(
    ("fields", "error"), [({"bits": 8}, TypeError), ({"ndim": 65}, BufferError), ({"data": 1}, ValueError)]
)
def test_broken_tensors_are_given_back(fields, error):
    exporter = Exchange().exporter(**fields)
    with pytest.raises(error):
        as_view(exporter)
    assert exporter.producer.deleted == 1


@pytest.mark.parametrize("says", [False, True])
def test_tensors_that_are_more_than_their_memory_are_asked(says):
    exporter = Exchange().exporter()
    exporter.is_conj = lambda: says
    as_view(exporter)
    assert len(exporter.asked) == says


@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("device", [(CUDA, 0), (CPU, 0)])
def test_tensors_with_a_gradient_are_refused(table, device):
    """Who reduces one would lose the gradient without a word."""
    exporter = Exchange().exporter(device) if table else Exporter(device)
    exporter.requires_grad = True
    with pytest.raises(BufferError, match=r"requires grad.*; pass tensor\.detach\(\)"):
        gpureduce.sum(exporter, axis=0)
    assert exporter.asked == [] and exporter.producer.deleted == 0


def test_subclasses_are_asked():
    exporter = Exchange().exporter()
    exporter.__class__ = type("Another", (type(exporter),), {})
    as_view(exporter)
    assert len(exporter.asked) == 1


@pytest.mark.parametrize("table", [True, False])
def test_elements_of_the_other_sign_are_refused(table):
    """PyTorch's `z.conj().imag` has the memory of `z.imag`; neither way says so."""
    exporter = Exchange().exporter() if table else Exporter()
    exporter.is_neg = lambda: True
    with pytest.raises(BufferError, match="resolve_neg"):
        as_view(exporter)
    assert exporter.asked == []


def test_in_which_stream_others_work_next(waits, addresses, device):
    """As far as they say it; the elements of a capsule come in the default stream, wherever they work."""
    ours = gpureduce.to_device(np.ones(3), device)
    both = Exporter()
    both.__cuda_array_interface__ = {"stream": 1}
    default = [ours, *(Exchange(stream).exporter() for stream in (None, 1)), both, Interface(stream=1)]
    assert [(as_view(each).stream, as_view(each)._next_stream()) for each in default] == [(1, 1)] * 5
    both = Exporter()
    both.__cuda_array_interface__ = {"stream": 0x7F00}
    others = [both, Exchange(0x7F00).exporter(), Interface(stream=0x7F00)]
    assert [as_view(each).stream for each in others] == [1, 0x7F00, 0x7F00]
    assert [as_view(each)._next_stream() for each in others] == [0x7F00] * 3
    unknown = [Exporter(), Interface()]
    assert [as_view(each).stream for each in unknown] == [1, None]
    assert [as_view(each)._next_stream() for each in unknown] == [None, None]
    assert waits == []


def test_whose_interface_raises_is_waited_for():
    """As that of CuPy's and PyTorch's arrays of some dtypes; by then the kernel is under way."""

    class Raises(Exporter):
        @property
        def __cuda_array_interface__(self):
            raise KeyError("bfloat16")

    assert as_view(Raises())._next_stream() is None


def test_dlpack_before_the_interface(waits):
    class Both(Exporter):
        @property
        def __cuda_array_interface__(self):
            raise AssertionError("not asked for")

    assert as_view(Both())._pointer == 0x7000
    assert waits == []


LAYOUTS = [
    ({"shape": (-1, 3)}, "not those of an array"),
    ({"shape": (2**33, 2**33), "strides": (0, 0)}, "too large"),
    ({"shape": (2**62, 4, 0), "strides": (0, 0, 0)}, "too large"),
    ({"shape": (2, 3), "strides": (-(2**20), 4)}, "exceed the address space"),
    ({"shape": (2, 3), "strides": (2**60, 2**60)}, None),
    ({"shape": (17, 3), "strides": (2**60, 4)}, "exceed the address space"),
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
        ({"strides": (12,)}, "not those of an array"),
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
    assert view._view_tuple() == (0x8000, (2, 3), (12, 4), "float32")
    assert (view._kind, view._index, view._read_only, view._owner) == (_core.CUDA, 1, True, source)
    assert as_view(source, "cuda:1")._index == 1
    with pytest.raises(gpureduce.DeviceError, match="is on cuda:1"):
        as_view(source, "cuda:0")
    with pytest.raises(gpureduce.DeviceError, match="is on cuda:1"):
        as_view(source, "sim")


@pytest.mark.parametrize("dtype", DTYPES)
def test_typestr(dtype, addresses):
    assert as_view(Interface(typestr=np.dtype(dtype).str)).dtype == np.dtype(dtype)


@pytest.mark.parametrize("typestr", [">f4", ">i8", "<V2", "|O8", "<U4", "<M8[s]", "<f16", "|S3"])
def test_typestr_of_no_device_dtype(typestr, addresses):
    with pytest.raises(TypeError, match="not supported"):
        as_view(Interface(typestr=typestr))


@pytest.mark.parametrize(
    ("entries", "stream", "after"),
    [
        ({}, None, None),
        ({"stream": None}, None, None),
        ({"stream": 1}, 1, 1),
        ({"stream": 2}, 2, 2),
        ({"stream": 0x5550}, 0x5550, 0x5550),
        ({"stream": 0, "version": 2}, None, 0),
    ],
)
def test_stream_of_the_producer(entries, stream, after, waits, addresses):
    view = as_view(Interface(data=(0x8000, False), **entries))
    assert (view.stream, view._next_stream(), waits) == (stream, after, [])


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
        {"typestr": ","},  # a SyntaxError of NumPy's
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
    assert (view._pointer, view.shape, view._index) == (0, (3, 0), 1)


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
