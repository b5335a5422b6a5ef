"""Arrays of PyTorch, CuPy and JAX on the GPU: reduced where they lie, and ours in their hands."""

import gc
import statistics
import weakref

import numpy as np
import pytest

import gpureduce
from gpureduce._arrays.device_array import DeviceArray, to_device
from gpureduce._arrays.foreign import as_view
from tests.support.libraries import JAX, CuPy, Torch, numbers
from tests.support.producers import Versioned, api
from tests.support.waiting import soon

pytestmark = pytest.mark.gpu

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64")
LARGE = 1 << 26  # elements of 4 bytes: a copy could not hide among small change


@pytest.fixture(scope="session")
def index(device):
    """The number of the CUDA device of the run."""
    return int(device.partition(":")[2] or 0)


@pytest.fixture(params=[Torch, CuPy, JAX])
def peer(request, index):
    return request.param(index)


@pytest.fixture(params=[Torch, CuPy])
def peer_with_streams(request, index):
    return request.param(index)


@pytest.fixture(params=[Torch, CuPy])
def peer_with_views(request, index):
    return request.param(index)


@pytest.fixture
def cupy(index):
    return CuPy(index).cupy


@pytest.fixture
def torch(index):
    return Torch(index).torch


class OnlyInterface:
    """A CuPy array without its DLPack half."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


def driver_bytes(cupy):
    """Memory of the device in use, whoever allocated it."""
    free, total = cupy.cuda.runtime.memGetInfo()
    return total - free


# Their arrays as ours


@pytest.mark.parametrize("dtype", DTYPES)
def test_view_has_their_address(peer, dtype, index):
    array = peer.array(numbers((6, 10), dtype))
    view = as_view(array)
    assert view._view_tuple() == (peer.pointer(array), (6, 10), np.empty((6, 10), dtype).strides, dtype)
    assert view._index == index


def test_view_keeps_their_memory(peer):
    array = peer.array(numbers(LARGE, "float32"))
    view, before = as_view(array), peer.used_bytes()
    del array
    gc.collect()
    assert peer.used_bytes() > before - 4 * LARGE
    del view
    gc.collect()
    # JAX lets go of memory from a thread of its own.
    assert soon(lambda: peer.used_bytes() <= before - 4 * LARGE, seconds=10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sum_like_numpy(peer, dtype, device):
    host = numbers((60, 1001), dtype)
    expected = host.sum(dtype=np.float32).astype(dtype) if dtype == "float16" else host.sum()
    array = peer.array(host)
    for where in (None, device):
        got = gpureduce.sum(array, device=where)
        assert got == expected and got.dtype == expected.dtype
    along = gpureduce.sum(array, axis=0, device=device)
    assert isinstance(along, DeviceArray)
    np.testing.assert_array_equal(along.numpy(), host.sum(axis=0))
    np.testing.assert_array_equal(peer.host(array), host)


def test_sum_bfloat16(peer, device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if isinstance(peer, CuPy):
        pytest.skip("CuPy has no bfloat16 of its own")
    values = numbers((50, 4), "float32")
    array = peer.array(values)
    array = array.bfloat16() if isinstance(peer, Torch) else array.astype(ml_dtypes.bfloat16)
    view = as_view(array)
    assert (view._pointer, view.dtype) == (peer.pointer(array), ml_dtypes.bfloat16)
    got = gpureduce.sum(array, device=device)
    assert got.dtype == ml_dtypes.bfloat16
    assert got == ml_dtypes.bfloat16(values.sum())


def test_sum_copies_nothing(peer, cupy, device):
    host = numbers(LARGE, "int32")
    array = peer.array(host)
    gpureduce.sum(peer.array(host[:10]), device=device)  # what is loaded once is loaded now
    gc.collect()
    theirs, grown = peer.used_bytes(), []
    for _ in range(9):
        gpureduce.free_memory()
        everybodys = driver_bytes(cupy)
        assert gpureduce.sum(array, device=device) == host.sum()
        grown.append(driver_bytes(cupy) - everybodys)
    assert peer.used_bytes() <= theirs
    # Partial results stay, perhaps; a copy would be 256 MiB. Other processes come and go in some rounds.
    assert statistics.median(grown) < LARGE


LAYOUTS = {
    "transposed": lambda a: a.T,
    "columns": lambda a: a[:, ::3],
    "rows": lambda a: a[5:50:7],
    "column": lambda a: a[:, 2],
    "offset": lambda a: a[3, 1:],
    "one row": lambda a: a[:1].T,
    "nothing": lambda a: a[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64"])
def test_views_are_not_copied(peer_with_views, layout, dtype, device):
    host = numbers((60, 45), dtype)
    change = LAYOUTS[layout]
    array, expected = change(peer_with_views.array(host)), change(host)
    if expected.size:
        assert as_view(array)._pointer == peer_with_views.pointer(array)
    assert as_view(array).shape == expected.shape
    assert gpureduce.sum(array, device=device) == expected.sum()
    for axis in range(expected.ndim):
        got = gpureduce.sum(array, axis=axis, device=device)
        got = got.numpy() if isinstance(got, DeviceArray) else got
        np.testing.assert_array_equal(got, expected.sum(axis=axis))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
def test_few_elements_anywhere(peer_with_views, dtype, device):
    """A block has a thread for each chunk, and for each element before the first line of 128 bytes."""
    host = numbers((2048,), dtype)
    array, item = peer_with_views.array(host), host.itemsize
    for n in (1, 2, 16, 127 // item, 512 // item, 1024 // item + 1):
        for offset in (0, 1, 64 // item, 127 // item, 128 // item + 1):
            found = gpureduce.sum(array[offset : offset + n], device=device)
            assert found == host[offset : offset + n].sum(), (n, offset)


@pytest.mark.parametrize("layout", [np.s_[::-1], np.s_[:, ::-2], np.s_[::-3, ::-1]])
@pytest.mark.parametrize("wrap", [lambda a: a, OnlyInterface], ids=["dlpack", "interface"])
def test_negative_strides(cupy, layout, wrap, device):
    host = numbers((60, 45), "int32")
    array = cupy.asarray(host)[layout]
    assert as_view(wrap(array))._pointer == array.data.ptr
    assert as_view(wrap(array)).strides == host[layout].strides
    for axis in (0, 1):
        got = gpureduce.sum(wrap(array), axis=axis, device=device)
        np.testing.assert_array_equal(got.numpy(), host[layout].sum(axis=axis))
    assert gpureduce.argmax(wrap(array), device=device) == np.argmax(host[layout])


def test_expanded_tensors(torch, device, index):
    tensor = torch.arange(5, device=f"cuda:{index}", dtype=torch.int32).expand(300, 5)
    assert as_view(tensor).strides == (0, 4)
    assert gpureduce.sum(tensor, device=device) == 3000


def test_array_interface_alone(cupy, device, index):
    host = numbers((30, 7), "float64")
    array = cupy.asarray(host)
    view = as_view(OnlyInterface(array))
    assert (view._pointer, view._index) == (array.data.ptr, index)
    assert gpureduce.sum(OnlyInterface(array), device=device) == host.sum()


def test_managed_memory(cupy, device):
    if not cupy.cuda.runtime.deviceGetAttribute(cupy.cuda.runtime.cudaDevAttrManagedMemory, 0):
        pytest.skip("no managed memory")
    host = numbers(1000, "float32")
    with cupy.cuda.using_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc):
        array = cupy.asarray(host)
        assert as_view(array, device)._pointer == array.data.ptr
        assert gpureduce.sum(array, device=device) == host.sum()


def test_memory_of_the_host_is_numpys(torch, device):
    tensor = torch.arange(10, dtype=torch.float32)
    for given in (tensor, tensor.pin_memory()):
        assert as_view(given, device) is None
        assert gpureduce.sum(given, device=device) == 45
        rows = gpureduce.sum(given.reshape(2, 5), axis=1, device=device)
        assert isinstance(rows, np.ndarray) and rows.tolist() == [10, 35]
    large = torch.arange(1 << 24, dtype=torch.int32).pin_memory()
    assert gpureduce.sum(large, device=device) == (1 << 23) * ((1 << 24) - 1)


# Streams


@pytest.mark.parametrize("wrap", [lambda a: a, OnlyInterface], ids=["dlpack", "interface"])
def test_what_a_busy_stream_will_write_is_waited_for(peer_with_streams, wrap, device):
    if wrap is OnlyInterface and isinstance(peer_with_streams, Torch):
        pytest.skip("PyTorch's interface names no stream")
    array = peer_with_streams.array(numbers(100_003, "int32"))
    gpureduce.sum(wrap(array), device=device)
    for value in (3, 5):
        with peer_with_streams.busy_stream():
            array[:] = value
            assert gpureduce.sum(wrap(array), device=device) == 100_003 * value


@pytest.mark.parametrize("wrap", [lambda a: a, OnlyInterface], ids=["dlpack", "interface"])
def test_inputs_may_change_after_the_call(peer_with_streams, wrap, device):
    """The result stays on the device, so our kernel may be yet to run."""
    if wrap is OnlyInterface and isinstance(peer_with_streams, Torch):
        pytest.skip("PyTorch's interface names no stream")
    host = numbers((300, 200), "int32")
    array = peer_with_streams.array(host)
    gpureduce.sum(wrap(array), axis=0, device=device).numpy()  # by now the array is written
    with peer_with_streams.busy_stream():
        peer_with_streams.delay_default_stream()
        got = gpureduce.sum(wrap(array), axis=0, device=device)
        array[:] = 0
    np.testing.assert_array_equal(got.numpy(), host.sum(axis=0))


def test_libraries_see_what_was_written_for_them(peer_with_streams, device):
    out = peer_with_streams.array(np.zeros(200, np.int64))
    ours = to_device(numbers((300, 200), "int32"), device)
    with peer_with_streams.busy_stream():
        peer_with_streams.delay_default_stream()
        gpureduce.sum(ours, axis=0, out=out)
        seen = peer_with_streams.host(out + 0)
    np.testing.assert_array_equal(seen, numbers((300, 200), "int32").sum(axis=0))


def test_what_jax_will_write_is_waited_for(index, device):
    peer = JAX(index)
    step = peer.jax.jit(lambda m: peer.jax.lax.fori_loop(0, 200, lambda _, x: (x @ x) % 7, m))
    start = peer.array(np.eye(1024, dtype=np.float32)[::-1] * 3 + numbers((1024, 1024), "float32") % 2)
    expected = np.asarray(step(start)).sum(dtype=np.float64)
    assert gpureduce.sum(step(start + 0), device=device) == np.float32(expected)


def test_a_busy_consumer_sees_what_was_written(peer_with_streams, device):
    for seed in range(5):
        host = numbers(1_000_003, "int32") + seed
        with peer_with_streams.busy_stream():
            theirs = peer_with_streams.from_dlpack(to_device(host, device))
            np.testing.assert_array_equal(peer_with_streams.host(theirs), host)


# Our arrays as theirs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 6), (), (7,)])
def test_libraries_take_our_memory(peer, dtype, shape, device):
    host = numbers(shape, dtype)
    ours = to_device(host, device)
    theirs = peer.from_dlpack(ours)
    assert peer.pointer(theirs) == ours._pointer
    np.testing.assert_array_equal(peer.host(theirs), host)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64"])
def test_libraries_take_our_views(peer_with_views, layout, dtype, device):
    host = numbers((60, 101), dtype)
    ours = to_device(host, device)
    view, wanted = LAYOUTS[layout](ours), LAYOUTS[layout](host)
    theirs = peer_with_views.from_dlpack(view)
    assert peer_with_views.pointer(theirs) == view._pointer and tuple(theirs.shape) == wanted.shape
    np.testing.assert_array_equal(peer_with_views.host(theirs), wanted)
    address = ours._pointer
    del ours, view
    gc.collect()  # what they have keeps the memory
    assert to_device(host, device)._pointer != address
    np.testing.assert_array_equal(peer_with_views.host(theirs), wanted)


def test_cupy_takes_views_by_their_interface(cupy, device):
    host = numbers((60, 101), "float32")
    ours = to_device(host, device)
    for change in (*LAYOUTS.values(), lambda a: a[::-1, ::-3]):
        np.testing.assert_array_equal(cupy.asarray(change(ours)).get(), change(host))


def test_views_are_made_in_order(peer_with_streams, device):
    """A copy of a view comes after what its array waits for."""
    with peer_with_streams.busy_stream():
        peer_with_streams.delay_default_stream()
        source = to_device(numbers((300, 200), "int32") + 1, device)
        made = gpureduce.sum(source, axis=0)
        copied = made[::3].copy()
    np.testing.assert_array_equal(copied.numpy(), (numbers((300, 200), "int32") + 1).sum(axis=0)[::3])


def test_libraries_take_our_bfloat16(peer, device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if isinstance(peer, CuPy):
        pytest.skip("CuPy has no bfloat16 of its own")
    host = numbers((3, 5), "float32").astype(ml_dtypes.bfloat16)
    ours = to_device(host, device)
    theirs = peer.from_dlpack(ours)
    assert peer.pointer(theirs) == ours._pointer
    got = peer.host(theirs.float() if isinstance(peer, Torch) else theirs)
    np.testing.assert_array_equal(got.astype(np.float32), host.astype(np.float32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_takes_our_interface(cupy, dtype, device):
    host = numbers((4, 6), dtype)
    ours = to_device(host, device)
    theirs = cupy.asarray(ours)
    assert theirs.data.ptr == ours._pointer
    np.testing.assert_array_equal(theirs.get(), host)


def test_torch_takes_our_interface(torch, device, index):
    host = numbers((4, 6), "float32")
    ours = to_device(host, device)
    theirs = torch.as_tensor(ours, device=f"cuda:{index}")
    assert theirs.data_ptr() == ours._pointer
    np.testing.assert_array_equal(theirs.cpu().numpy(), host)


def test_libraries_hold_our_memory(peer, device):
    host = numbers(1000, "int32")
    ours = to_device(host, device)
    alive, theirs = weakref.ref(ours), peer.from_dlpack(ours)
    del ours
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(peer.host(theirs), host)
    del theirs
    gc.collect()
    assert soon(lambda: alive() is None, seconds=10)


def test_libraries_may_write(peer_with_views, device):
    ours = to_device(numbers(1000, "int32"), device)
    theirs = peer_with_views.from_dlpack(ours)
    theirs[:] = 2
    assert gpureduce.sum(ours, device=device) == 2000


@pytest.mark.parametrize("elements", [0, 5])
def test_copy_on_request(torch, elements, device):
    ours = to_device(numbers((elements, 3), "float32"), device)
    capsule = ours.__dlpack__(copy=True, max_version=(1, 0))
    address = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
    assert Versioned.from_address(address).flags == 2
    theirs = torch.from_dlpack(capsule)
    np.testing.assert_array_equal(theirs.cpu().numpy(), ours.numpy())
    assert theirs.data_ptr() != ours._pointer or elements == 0


# Everything else


@pytest.mark.parametrize("elsewhere", ["sim", "cuda:63"])
def test_array_on_another_device(peer, elsewhere, index):
    array = peer.array(numbers(10, "float32"))
    with pytest.raises(gpureduce.DeviceError, match=f"is on cuda:{index}, not on '{elsewhere}'"):
        as_view(array, elsewhere)
    with pytest.raises(gpureduce.DeviceError, match=f"is on cuda:{index}"):
        gpureduce.sum(array, device=elsewhere)


@pytest.mark.parametrize("wrap", [lambda a: a, OnlyInterface], ids=["dlpack", "interface"])
def test_the_second_device(cupy, wrap):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two CUDA devices")
    host = numbers(1000, "int32")
    with cupy.cuda.Device(1):
        array = cupy.asarray(host)
    assert as_view(wrap(array))._index == 1
    with pytest.raises(gpureduce.DeviceError, match="is on cuda:1"):
        gpureduce.sum(wrap(array), device="cuda:0")
    assert gpureduce.sum(wrap(array)) == host.sum()


def test_an_address_of_the_host_is_no_array(cupy):
    host = numbers(10, "float32")

    class Lying:
        __cuda_array_interface__ = dict(  # noqa: RUF012
            host.__array_interface__, version=3, shape=host.shape, typestr="<f4", strides=None
        )

    with pytest.raises((ValueError, gpureduce.DeviceError)):
        as_view(Lying())


def test_gradients_are_refused(torch, device, index):
    for place in (f"cuda:{index}", "cpu"):
        tensor = torch.ones(4, device=place, requires_grad=True)
        for options in ({}, {"axis": 0}, {"dtype": np.float32}):
            with pytest.raises(BufferError, match=r"pass tensor\.detach\(\)"):
                gpureduce.sum(tensor, device=device, **options)
        assert gpureduce.sum(tensor.detach(), device=device) == 4


def test_lazy_conjugates_and_negatives_are_computed(torch, device, index):
    z = torch.tensor([1 + 2j, 3 - 5j, 7 + 11j], device=f"cuda:{index}")
    assert gpureduce.sum(z.conj(), device=device) == 11 - 8j
    assert gpureduce.sum(z.conj().imag, device=device) == -8
    assert gpureduce.sum(z.conj().resolve_conj(), device=device) == 11 - 8j
    assert gpureduce.sum(z.conj().imag.resolve_neg(), device=device) == -8


def test_no_python_of_pytorchs_is_asked(torch, device, index, monkeypatch):
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("needs PyTorch 2.10 or newer")
    asked, export = [], torch.Tensor.__dlpack__

    def noting(tensor, **options):
        asked.append(options)
        return export(tensor, **options)

    monkeypatch.setattr(torch.Tensor, "__dlpack__", noting)
    host = numbers((40, 50), "float32")
    tensor = torch.from_numpy(host).to(f"cuda:{index}")
    assert gpureduce.sum(tensor, device=device) == gpureduce.sum(tensor) == host.sum()
    assert gpureduce.sum(tensor.T[3:, ::2], device=device) == host.T[3:, ::2].sum()
    with torch.cuda.stream(torch.cuda.Stream(index)):
        for value in (3, 5):
            torch.cuda._sleep(100_000_000)
            tensor.fill_(value)
            assert gpureduce.sum(tensor, device=device) == 2000 * value
            tensor.fill_(value + 1)
            assert (gpureduce.sum(tensor.T[3:], axis=1).numpy() == 40 * (value + 1)).all()
    assert asked == []


def test_libraries_work_afterwards(peer, device):
    host = numbers((100, 30), "float32")
    array = peer.array(host)
    for _ in range(3):
        assert gpureduce.sum(array, device=device) == host.sum()
        with pytest.raises(gpureduce.DeviceError):
            gpureduce.sum(array, device="sim")
        product = array @ array.T
        np.testing.assert_array_equal(peer.host(product), host @ host.T)


@pytest.mark.gpu
def test_pytorch_takes_views_with_negative_strides(device):
    """As copies: a capsule with such strides ends the process in PyTorch."""
    torch = pytest.importorskip("torch")
    host = np.arange(24.0).reshape(4, 6)
    array = gpureduce.to_device(host, device)
    for view in (lambda a: a[1:, ::-2], lambda a: a[::-1], lambda a: a.T[::-1, 1:]):
        taken = torch.from_dlpack(view(array))
        np.testing.assert_array_equal(taken.cpu().numpy(), view(host))
