"""What `gpureduce.sum` takes, what it refuses, and what it says then."""

import collections
import contextlib
import gc
import re
import sys

import numpy as np
import pytest

import gpureduce
from tests.support import reference
from tests.support.sanitized import UNDER_ASAN

pytestmark = pytest.mark.core

DTYPES = tuple(reference.RESULT_DTYPE)
FIXED_GRID = [variant for variant in gpureduce.variants("reduction") if variant.fixed_grid]
OWN_GRID = [variant for variant in gpureduce.variants("reduction") if not variant.fixed_grid]


def numbers(shape, dtype):
    """Non-zero integers of all sizes whose sum is exact in every dtype."""
    n = int(np.prod(shape))
    return (np.arange(1, n + 1) * 37 % 101 + 1).astype(dtype).reshape(shape)


@pytest.fixture(params=["auto", "v8"])
def total(request, device):
    """Sums on the device of the run, by the general kernels and by a rung."""

    def total(a, **options):
        return gpureduce.sum(a, **{"variant": request.param, "device": device, **options})

    total.variant = request.param
    return total


def assert_sum_like_numpy(got, array):
    wanted = np.sum(array)
    assert type(got) is wanted.dtype.type
    assert got == wanted


# Accepted: things that are no arrays


@pytest.mark.parametrize("a", [[1.5, 2.5, -7.0], (1, 2, 3), [[1, 2], [3, 4]], [], 3, 2.5, -(2**40), range(7)])
def test_array_likes(a, total):
    assert_sum_like_numpy(total(a), a)


def test_mixed_list_becomes_float64(total):
    assert_sum_like_numpy(total([1, 2.5]), [1, 2.5])


def test_array_interfaces(total):
    array = numbers(100, np.float32)

    class Wrapped:
        __array_interface__ = array.__array_interface__

    class Converts:
        def __array__(self, dtype=None, copy=None):
            return array

    for a in (Wrapped(), Converts(), memoryview(array)):
        assert_sum_like_numpy(total(a), array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_and_zero_dimensions(dtype, total):
    scalar = np.dtype(dtype).type(7)
    assert_sum_like_numpy(total(scalar), scalar)
    assert_sum_like_numpy(total(np.array(7, dtype)), scalar)
    assert_sum_like_numpy(total(np.array([7], f">{scalar.dtype.str[1:]}")[0]), scalar)


# Accepted: arrays in every layout


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0, 3), (1,), (1, 1, 1), (3, 1, 4), (2, 3, 5, 7, 2)])
def test_shapes(shape, dtype, total):
    array = numbers(shape, dtype)
    assert_sum_like_numpy(total(array), array)


LAYOUTS = {
    "reversed": lambda a: a[::-1],
    "every third": lambda a: a[::3],
    "every third backwards": lambda a: a[::-3],
    "columns": lambda a: a[:, 3:17:2],
    "rows backwards": lambda a: a[::-2, ::-1],
    "transposed": lambda a: a.T,
    "Fortran order": np.asfortranarray,
    "transposed slice": lambda a: a[2:9, 1:5].T,
    "axes swapped": lambda a: a.reshape(5, 8, 30).transpose(2, 0, 1),
    "broadcast": lambda a: np.broadcast_to(a[0], (11, 30)),
    "broadcast scalar": lambda a: np.broadcast_to(a.dtype.type(3), (7, 9)),
    "overlapping windows": lambda a: np.lib.stride_tricks.sliding_window_view(a.reshape(-1), 5),
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "byte-swapped, strided": lambda a: a.astype(a.dtype.newbyteorder())[::2, ::-3],
    "misaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype),
    "misaligned, strided": lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype)[::4],
    "field of records": lambda a: np.rec.fromarrays([np.ones(a.size, "i1"), a.reshape(-1)])["f1"],
    "axis of one with a wild stride": lambda a: np.lib.stride_tricks.as_strided(
        a, shape=(1, 40, 1, 30), strides=(12345678, a.strides[0], -987654, a.strides[1])
    ),
    "matrix": lambda a: a.view(np.matrix),
    "subclass": lambda a: a.view(type("Sub", (np.ndarray,), {})),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, dtype, total):
    base = numbers((40, 30), dtype)
    array = LAYOUTS[layout](base)
    before = array.tobytes()
    assert_sum_like_numpy(total(array), np.array(array, dtype))
    assert array.tobytes() == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_offset_into_a_buffer(dtype, total):
    """Aligned to the element, but not to the 16 bytes of a vector load."""
    base = numbers(300, dtype)
    for start in range(5):
        for stop in range(290, 295):
            assert_sum_like_numpy(total(base[start:stop]), base[start:stop])


@pytest.mark.parametrize("dtype", DTYPES)
def test_read_only(dtype, total):
    array = numbers(100, dtype)
    array.setflags(write=False)
    assert_sum_like_numpy(total(array), array)
    assert_sum_like_numpy(total(np.frombuffer(array.tobytes(), dtype)), array)


def test_memory_map(tmp_path, total):
    path = tmp_path / "numbers"
    array = numbers(1000, np.float64)
    array.tofile(path)
    mapped = np.memmap(path, np.float64, mode="r")
    assert_sum_like_numpy(total(mapped), array)
    assert_sum_like_numpy(total(mapped[7::3]), array[7::3])


def test_platform_names_of_integers(total):
    """`long` and `long long` are both 64 bits on Linux, with different type numbers, which NumPy keeps."""
    for code in ("i", "l", "q", "int", "p"):
        array = numbers(100, code)
        got, wanted = total(array), np.sum(array)
        assert type(got) is type(wanted) and got == wanted


# Refused: dtypes and objects


UNSUPPORTED = [
    np.longdouble, np.clongdouble, "datetime64[s]", "timedelta64[ns]", "S3", "U3", "V4", object,
    [("x", np.float32), ("y", np.float32)],
]  # fmt: skip
NO_RUNG_TAKES = [
    np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64, np.float16,
    np.complex64, np.complex128,
]  # fmt: skip


def assert_names_dtypes(message, dtype):
    assert str(dtype) in message
    for supported in DTYPES:
        assert supported in message


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("dtype", UNSUPPORTED, ids=str)
def test_unsupported_dtypes(dtype, n, total):
    array = np.zeros(n, dtype)
    with pytest.raises(TypeError) as raised:
        total(array)
    assert_names_dtypes(str(raised.value), array.dtype)


@pytest.mark.parametrize("variant", gpureduce.variants("reduction"), ids=lambda variant: variant.name)
def test_dtypes_that_no_rung_takes_are_refused_by_name(variant, device):
    for dtype in NO_RUNG_TAKES:
        for n in (0, 3):
            array = np.zeros(n, dtype)
            with pytest.raises(TypeError) as raised:
                gpureduce.sum(array, variant=variant.name, device=device)
            assert_names_dtypes(str(raised.value), array.dtype)


@pytest.mark.parametrize("a", [None, "text", b"bytes", [None, 1.0], {}, {"a": 1}, object(), 2**70])
def test_unsupported_objects(a, total):
    with pytest.raises(TypeError) as raised:
        total(a)
    assert_names_dtypes(str(raised.value), np.asarray(a).dtype)


def test_ragged_lists(total):
    with pytest.raises(ValueError):
        total([[1, 2], [3]])


def test_tuples_are_no_views_of_device_memory(device):
    """The core describes device memory by such a tuple, and would follow the address."""
    there = gpureduce.to_device(np.arange(1, 4, dtype=np.int32), device)
    for a in (there._view_tuple(), collections.namedtuple("View", "a b c d")(*there._view_tuple())):
        with pytest.raises((TypeError, ValueError)):
            gpureduce.sum(a, device=device)


def test_exceptions_of_the_object_come_through(total):
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        total(Broken())


def test_masked_arrays_are_not_summed_as_if_unmasked(total):
    masked = np.ma.masked_array([1.0, 2.0, 4.0], mask=[False, True, False])
    with pytest.raises(TypeError, match="mask"):
        total(masked)


# Refused: options


def test_positional_options():
    with pytest.raises(TypeError):
        gpureduce.sum([1.0], "v0")


def test_unknown_option(total):
    with pytest.raises(TypeError):
        total([1.0], blocksize=64)


@pytest.mark.parametrize(
    "variant", ["", "v", "v99", "V7", " v7", "v7 ", "v7\0", "v7\0x", "sum", "é", "x" * 5000]
)
def test_unknown_variant(variant, total):
    with pytest.raises(ValueError) as raised:
        total([1.0], variant=variant)
    names = {"auto", *(record.name for record in gpureduce.variants("reduction"))}
    assert names <= set(re.findall(r"\w+", str(raised.value)))
    for function in (gpureduce.source, gpureduce.kernels.ptx):
        with pytest.raises(ValueError):
            function(variant)


@pytest.mark.parametrize("variant", [None, 7, b"v7", ["v7"], object()])
def test_variant_of_wrong_type(variant, total):
    with pytest.raises(TypeError, match="variant"):
        total([1.0], variant=variant)
    for function in (gpureduce.source, gpureduce.kernels.ptx):
        with pytest.raises(TypeError, match="variant"):
            function(variant)


def test_variant_with_a_lone_surrogate(total):
    with pytest.raises(ValueError):
        total([1.0], variant="v7\udc80")


@pytest.mark.parametrize(
    "device",
    ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda: 0", "CUDA", "cuda:0\n", "sim:", "sim\0", "cpu"],
)
def test_unknown_device(device):
    with pytest.raises(ValueError) as raised:
        gpureduce.sum([1.0], device=device)
    for valid in ("cuda", "sim"):
        assert valid in str(raised.value).replace(repr(device), "")


@pytest.mark.parametrize("device", [0, 1.5, b"sim", {"sim"}, True])
def test_device_of_wrong_type(device):
    with pytest.raises(TypeError, match="device"):
        gpureduce.sum([1.0], device=device)


@pytest.mark.parametrize("device", ["cuda:15", "cuda:99", "cuda:2147483648", "cuda:99999999999999999999"])
def test_absent_device(device):
    with pytest.raises((gpureduce.DeviceError, ValueError)) as raised:
        gpureduce.sum([1.0], device=device)
    assert device.split(":")[1] in str(raised.value) or "driver" in str(raised.value)


def test_cuda_without_a_gpu_is_a_device_error():
    if any(record.kind == "cuda" for record in gpureduce.devices()):
        pytest.skip("this machine has a GPU")
    for device in ("cuda", "cuda:0", "cuda:99"):
        with pytest.raises(gpureduce.DeviceError):
            gpureduce.sum([1.0], device=device)


@pytest.mark.parametrize("stream", [-1, 2**64])
def test_numbers_that_are_no_stream(stream, device):
    with pytest.raises(ValueError, match=f"stream: {stream} is no handle"):
        gpureduce.sum(np.ones(3), stream=stream, device=device)
    with pytest.raises(ValueError, match=f"stream: {stream} is no handle"):
        gpureduce.sum(gpureduce.to_device([1.0, 2.0], device), stream=stream)


def test_device_record_is_accepted(device, device_record):
    assert gpureduce.sum([1.5, 2.0], device=device_record) == 3.5


@pytest.mark.parametrize("variant", gpureduce.variants("reduction"), ids=lambda variant: variant.name)
def test_block_sizes_out_of_the_list(variant, total):
    refused = [
        -(2**70),
        -256,
        -1,
        0,
        1,
        31,
        32,
        33,
        63,
        65,
        100,
        1023,
        1025,
        1056,
        2048,
        2**31,
        2**32 + 256,
        2**70,
    ]
    refused += [size for size in range(64, 1025, 32) if size not in variant.block_sizes]
    for size in refused:
        with pytest.raises(ValueError) as raised:
            total([1.0], variant=variant.name, block_size=size)
        listed = {int(number) for number in re.findall(r"\d+", str(raised.value))}
        assert set(variant.block_sizes) <= listed, str(raised.value)


@pytest.mark.parametrize(
    "size", [True, False, 256.0, "256", [256], np.float64(256), np.array([256, 256]), 1j]
)
@pytest.mark.parametrize("option", ["block_size", "grid_size"])
def test_sizes_of_wrong_type(option, size, total):
    with pytest.raises(TypeError):
        total([1.0], variant=FIXED_GRID[0].name, **{option: size})


def test_integers_of_other_types(total):
    class Index:
        def __index__(self):
            return 128

    for size in (np.int64(128), np.uint8(128), Index()):
        assert total([1.5, 2.0], variant=FIXED_GRID[0].name, block_size=size, grid_size=size) == 3.5


@pytest.mark.parametrize("variant", OWN_GRID, ids=lambda variant: variant.name)
def test_grid_size_of_variants_that_take_none(variant, total):
    for size in (1, 5, 0):
        with pytest.raises(ValueError, match="grid_size"):
            total([1.0], variant=variant.name, grid_size=size)


@pytest.mark.parametrize("name", ["v7", "auto", "atomic"])
def test_a_variant_that_is_given_by_position(name, device):
    for function in (gpureduce.sum, gpureduce.mean, gpureduce.argmax, gpureduce.count_nonzero):
        with pytest.raises(TypeError, match=f"^axis: '{name}' is a variant; write variant='{name}'$"):
            function([1.0, 2.0], name, device=device)
    with pytest.raises(TypeError, match="write variant="):
        gpureduce.reduce([1.0, 2.0], "sum", name, device=device)
    with pytest.raises(TypeError, match="axis: expected an integer, got str"):
        gpureduce.sum([1.0, 2.0], "rows", device=device)


@pytest.mark.parametrize("option", ["block_size", "grid_size"])
@pytest.mark.parametrize("size", [0, -1, -7, 2**40])
def test_sizes_are_named_as_they_were_given(option, size, device):
    with pytest.raises(ValueError, match=rf"^{option}: ({size} is not one|.* got {size}$)"):
        gpureduce.sum([1.0], variant=FIXED_GRID[0].name, device=device, **{option: size})


@pytest.mark.parametrize("variant", FIXED_GRID, ids=lambda variant: variant.name)
@pytest.mark.parametrize("size", [0, -1, -(2**70), 2**31, 2**32 + 1, 2**70])
def test_grid_size_out_of_range(variant, size, total):
    with pytest.raises(ValueError, match="grid_size"):
        total([1.0], variant=variant.name, grid_size=size)


# Leaks


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def test_calls_keep_nothing(total):
    """Two thousand calls, most of which fail somewhere, keep no reference and no memory."""
    array = numbers((40, 30), np.float32)
    swapped = array.astype(array.dtype.newbyteorder())
    wrong = array.astype(np.complex64)
    watched = [array, swapped, wrong, array.dtype, swapped.dtype, wrong.dtype, np.float32, np.dtype(np.int64)]
    options = [
        (array, {}),
        (array.T[::2], {"variant": "v8", "block_size": 96}),
        (swapped, {"variant": "v0"}),
        (wrong, {}),
        (array, {"variant": "none"}),
        (array, {"variant": 7}),
        (array, {"block_size": 77}),
        (array, {"block_size": "x"}),
        (array, {"grid_size": 2**40}),
        ([1, 2.5], {"variant": "atomic"}),
    ]

    def call_all(times):
        for _ in range(times):
            for a, chosen in options:
                with contextlib.suppress(TypeError, ValueError):
                    total(a, **chosen)

    call_all(50)
    gc.collect()
    references = [sys.getrefcount(thing) for thing in watched]
    before = resident_bytes()
    call_all(200)
    gc.collect()
    after = resident_bytes()
    # Fewer are no loss: arrays of other tests may end meanwhile.
    now = [sys.getrefcount(thing) for thing in watched]
    assert all(count <= then for count, then in zip(now, references, strict=True)), (now, references)
    if not UNDER_ASAN:  # it keeps freed memory on purpose
        assert after - before < 2**20


def test_the_first_simulator_has_two_names():
    assert gpureduce.to_device([1.0], "sim:0").device == "sim"


def test_half_of_dlpack_is_named(device):
    class Half:
        def __dlpack__(self, stream=None):
            raise AssertionError

    with pytest.raises(TypeError, match="type Half has __dlpack__, but no __dlpack_device__"):
        gpureduce.sum(Half(), device=device)
    for named in (None, (1,), "ab", 5):
        Half.__dlpack_device__ = lambda self, named=named: named
        with pytest.raises(TypeError, match=r"DLPack: __dlpack_device__ returned .*, not two integers"):
            gpureduce.sum(Half(), device=device)
