"""PyTorch's tensors as arguments of the public functions; autograd notices that they are written."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce  # noqa: E402
from gpureduce import _core  # noqa: E402
from tests.support.public_functions import FUNCTIONS, arguments, subjects_on  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
WITH_OUT = [name for name, (_, parameters) in FUNCTIONS.items() if "out" in parameters]


@pytest.fixture(scope="module")
def subjects(device):
    return subjects_on(device)


@pytest.fixture
def place(device):
    """Where tensors are: in host memory for the simulator, else on the GPU."""
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def as_tensor(value, place):
    return torch.from_numpy(np.array(value)).to(place) if isinstance(value, np.ndarray) else value


def numpy_of(result):
    if isinstance(result, torch.Tensor):
        return result.cpu().numpy()
    return result.numpy() if isinstance(result, gpureduce.DeviceArray) else np.asarray(result)


def call(name, changed, place, device, subjects):
    """Call a function of tensors, by the arguments that are right, and others."""
    positional, named = arguments(name, changed, device, subjects)
    positional = [as_tensor(each, place) for each in positional]
    return FUNCTIONS[name][0](*positional, **{key: as_tensor(each, place) for key, each in named.items()})


# out=


@pytest.mark.parametrize("name", WITH_OUT)
def test_autograd_notices_that_out_was_written(name, place, device, subjects):
    """The backward pass needs the elements of `out`, which the call changes."""
    wanted = numpy_of(call(name, {}, place, device, subjects))
    out = torch.from_numpy(np.array(wanted)).to(place).zero_()
    weights = torch.ones(out.shape, dtype=torch.float64, device=place, requires_grad=True)
    weighted = (weights * out).sum().real
    version = out._version
    assert call(name, {"out": out}, place, device, subjects) is out
    np.testing.assert_array_equal(numpy_of(out), wanted)
    assert out._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        weighted.backward()


def test_calls_without_out_leave_versions_alone(place, device):
    a = torch.arange(12.0, device=place).reshape(3, 4)
    total = gpureduce.sum(a, axis=0, device=device)
    assert a._version == 0 and numpy_of(total).tolist() == [12, 15, 18, 21]
    with pytest.raises(ValueError, match="out: expected shape"):
        gpureduce.sum(a, axis=0, out=a, device=device)
    assert a._version == 0


def test_views_of_out_count_too(place, device):
    """`x.detach()` and slices share the count of `x`; `out=` may be one of several kernel outputs."""
    whole = torch.zeros((2, 3), dtype=torch.float64, device=place, requires_grad=True)
    row = whole.detach()[1]
    gpureduce.sum(torch.ones((4, 3), dtype=torch.float64, device=place), axis=0, out=row, device=device)
    assert whole.tolist() == [[0, 0, 0], [4, 4, 4]] and whole._version == 1
    with torch.inference_mode():
        out = torch.zeros(3, dtype=torch.float64, device=place)  # which has no version
        gpureduce.max(whole.detach(), axis=0, out=out, device=device)
        assert out.tolist() == [4, 4, 4]


def test_outputs_of_a_reduction_kernel_count(place, device):
    kernel = gpureduce.ReductionKernel(
        "T x", "T y, T z", "{x, x * x}", "{a.s + b.s, a.q + b.q}", "y = a.s; z = a.q", "{0, 0}",
        reduce_type="struct Sums { T s, q; }",
    )  # fmt: skip
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], device=place)
    y, z = torch.zeros((2, 2), device=place)
    for args, options in (((x,), {"out": (y, z)}), ((x, y, z), {})):
        versions = y._version, z._version
        results = kernel(*args, axis=1, device=device, **options)
        assert results[0] is y and results[1] is z
        assert y._version > versions[0] and z._version > versions[1]
        assert y.tolist() == [3, 8] and z.tolist() == [5, 34]


# Tensors that are more than their memory


def test_lazy_conjugates_and_negatives(place, device):
    z = torch.tensor([[1 + 2j, 3 - 5j], [7 + 11j, 2 - 1j]], dtype=torch.complex128, device=place)
    conjugate, negative = z.conj(), z.conj().imag
    assert conjugate.is_conj() and negative.is_neg()
    assert gpureduce.sum(conjugate, device=device) == 13 - 7j
    assert numpy_of(gpureduce.sum(negative, axis=0, device=device)).tolist() == [-13, 6]
    assert numpy_of(gpureduce.cumulative_sum(conjugate[0], device=device)).tolist() == [1 - 2j, 4 + 3j]
    assert gpureduce.dot(z[0], conjugate[0], device=device) == 39
    assert gpureduce.to_device(conjugate, device).numpy().tolist() == conjugate.tolist()
    for out in (conjugate[0], negative[0]):
        with pytest.raises(ValueError, match="out: the tensor is a lazy"):
            gpureduce.sum(z if out.is_complex() else z.real, axis=0, out=out, device=device)
    assert z.tolist() == [[1 + 2j, 3 - 5j], [7 + 11j, 2 - 1j]]


def test_a_gradient_is_not_dropped(place, device):
    a = torch.ones(4, device=place, requires_grad=True)
    for call in (
        lambda: gpureduce.sum(a, device=device),
        lambda: gpureduce.median(a, device=device),
        lambda: gpureduce.sum(np.ones((4, 4), "f4"), axis=0, out=a, device=device),
        lambda: gpureduce.to_device(a, device),
    ):
        with pytest.raises(BufferError, match=r"^(a|out): .*requires grad.*; pass tensor\.detach\(\)"):
            call()


def test_tensors_without_elements_of_their_own_are_named(place, device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = torch.ones((2, 3), device=place)
    dense = torch.ones((2, 3), device=place)
    with mode:
        other = mode.from_tensor(dense)
    meta = torch.ones((2, 3), device="meta")
    for tensor, text in (
        (fake, "a FakeTensor on device"),
        (other, "a FakeTensor on device"),
        (meta, "a Tensor on device meta has no memory"),
        (dense.to_sparse(), "expected a dense tensor, got one of layout sparse_coo"),
    ):
        for function in (gpureduce.sum, gpureduce.quantile, gpureduce.to_device):
            options = {"q": 0.5} if function is gpureduce.quantile else {}
            with pytest.raises(TypeError, match=rf"^a: {text}"):
                function(tensor, **options, device=device)
        with pytest.raises(TypeError, match=rf"^out: {text}"):
            gpureduce.sum(np.ones((4, 2, 3), "f4"), axis=0, out=tensor, device=device)
    with pytest.raises(TypeError, match=r"^a: a Tensor on device .* has no memory"):
        torch.vmap(lambda row: torch.as_tensor(gpureduce.sum(row, device=device)))(dense)


@pytest.mark.filterwarnings("ignore")
def test_distributed_tensors_are_named(place, device, tmp_path):
    distributed = pytest.importorskip("torch.distributed.tensor")
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        mesh = distributed.init_device_mesh(torch.device(place).type, (1,))
        a = distributed.distribute_tensor(torch.arange(4.0, device=place), mesh, [distributed.Shard(0)])
        with pytest.raises(TypeError, match=r"^a: a DTensor .* has no memory .*; pass a\.to_local\(\)"):
            gpureduce.sum(a, device=device)
        assert gpureduce.sum(a.to_local(), device=device) == 6
    finally:
        torch.distributed.destroy_process_group()


# What else a program with PyTorch passes


WITH_DTYPE = [
    name for name, (_, given) in FUNCTIONS.items() if "dtype" in given and name != "array.__array__"
]


@pytest.mark.parametrize("name", WITH_DTYPE)
def test_dtypes_of_pytorch(name, place, device, subjects):
    """They are NumPy's of the same names; of elements in host memory."""
    own = (
        "bool"
        if "logical" in name or "array.bitwise" in name
        else "int64"
        if "bitwise" in name
        else "float32"
    )
    if name.startswith("array.") and own == "float32":
        own = "float64"
    results = [call(name, {"dtype": dtype}, "cpu", device, subjects) for dtype in (own, getattr(torch, own))]
    if isinstance(results[0], gpureduce.State):
        results = [state.result() for state in results]
    if isinstance(results[0], (str, gpureduce.Profile)):
        assert str(results[0]) == str(results[1])
    else:
        first, second = map(numpy_of, results)
        np.testing.assert_array_equal(first, second)
        assert first.dtype == second.dtype
    with pytest.raises((TypeError, ValueError), match=r"^dtype: .*float8_e5m2"):
        call(name, {"dtype": torch.float8_e5m2}, "cpu", device, subjects)


def test_bfloat16_in_host_memory(device):
    pytest.importorskip("ml_dtypes")
    a = torch.tensor([[1.5, 2.0], [4.0, 8.0]], dtype=torch.bfloat16)
    total = gpureduce.sum(a, axis=1, device=device)
    assert total.dtype.name == "bfloat16" and total.tolist() == [3.5, 12]
    out = torch.zeros(2, dtype=torch.bfloat16)
    assert gpureduce.sum(a, axis=1, out=out, device=device) is out and out.tolist() == [3.5, 12]
    with pytest.raises(TypeError, match=r"^a: dtype torch\.float8_e5m2 is not supported"):
        gpureduce.sum(a.to(torch.float8_e5m2), device=device)


def test_elements_on_a_device_and_out_in_host_memory(place, device):
    a = gpureduce.to_device(np.arange(12.0).reshape(3, 4), device)
    out = torch.zeros(4, dtype=torch.float64)
    assert gpureduce.sum(a, axis=0, out=out) is out and out.tolist() == [12, 15, 18, 21]
    narrow = torch.zeros((4, 2), dtype=torch.float32)[:, 1]
    assert gpureduce.max(a, axis=0, out=narrow) is narrow and narrow.tolist() == [8, 9, 10, 11]
    with pytest.raises(TypeError, match=r"^out: cannot cast"):
        gpureduce.std(a, axis=0, out=torch.zeros(4, dtype=torch.int64))


def test_to_device_copies_tensors(place, device):
    a = torch.arange(24.0, device=place).reshape(4, 6)[:, ::2]
    wanted = a.cpu().numpy().copy()
    copies = [
        gpureduce.to_device(a, device),
        gpureduce.to_device(a, "sim"),
        gpureduce.to_device(a.T.contiguous().T, device),
    ]
    copies += [gpureduce.to_device(a)] if device != "sim" else []
    a.zero_()
    for copy in copies:
        np.testing.assert_array_equal(copy.numpy(), wanted)
    assert copies[0].device.split(":")[0] == device.split(":")[0] and copies[1].device == "sim"


@pytest.mark.gpu
def test_a_stream_of_another_device_is_named(device, place):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    other = 1 - place.index if place.index < 2 else 0
    stream = torch.cuda.Stream(torch.device("cuda", other))
    a = torch.ones((3, 4), device=place)
    for given in (stream, stream.cuda_stream):
        for array in (a, gpureduce.to_device(np.ones(5), device), np.ones(5)):
            for options in ({}, {"initial": 0.0}):
                with pytest.raises(gpureduce.DeviceError, match=f"belongs to cuda:{other}, but .* {device}"):
                    gpureduce.sum(array, stream=given, device=f"cuda:{place.index}", **options)
    assert gpureduce.sum(a) == 12


# What the core reads of a tensor without a call of Python


@pytest.fixture
def view():
    """The core's description: (address, elements, dtype, CUDA device or -1, lazy sign), or None."""
    if _core.torch_view(torch.zeros(1))[0] is None:
        pytest.skip("this PyTorch has no C functions that describe tensors, or keeps them elsewhere")
    return lambda a: _core.torch_view(a)[0]


@pytest.mark.usefixtures("view")
def test_descriptions_have_shapes_and_strides(place, capfd):
    device = (1, -1) if place == "cpu" else (2, place.index)
    a = torch.arange(60.0, device=place).reshape(3, 4, 5)
    for dtype in (torch.float32, torch.bfloat16, torch.complex128, torch.bool, torch.uint8):
        b = a.to(dtype)
        for each in (b, b[1:, ::2], b.permute(2, 0, 1), b[0, 0, 0], b[:0], b[:1].expand(7, 4, 5)):
            for one in (each, torch.nn.Parameter(each, requires_grad=False)):
                strides, bits = one.stride(), 8 * one.element_size()
                described = _core.torch_view(one)[1]
                assert described == (one.data_ptr(), tuple(one.shape), strides, bits, device)
    for other in (torch.zeros(3).to_sparse(), torch.zeros(2, device="meta"), np.zeros(3), 5):
        assert _core.torch_view(other)[1] is None
    assert capfd.readouterr().err == ""


def test_descriptions_are_those_of_pytorch(view, place):
    index = -1 if place == "cpu" else place.index
    for dtype, name in (
        (torch.float32, "float32"),
        (torch.bfloat16, "bfloat16"),
        (torch.complex64, "complex64"),
    ):
        tensor = torch.zeros(3, 5, dtype=dtype, device=place)
        for a in (tensor, tensor[1:], torch.nn.Parameter(tensor), tensor[:0], tensor[0, 0], tensor.detach()):
            assert view(a) == (a.data_ptr(), a.numel(), name, index, 0)
    z = torch.zeros(4, dtype=torch.complex64, device=place)
    assert [view(a)[-1] for a in (z, z.conj(), torch._neg_view(z.real.clone()))] == [0, 1, 1]


def test_descriptions_follow_the_tensor(view, place):
    a, b = torch.zeros(3, device=place), torch.ones(4, dtype=torch.int16, device=place)
    kept = view(a), view(b)
    torch.utils.swap_tensors(a, b)
    assert (view(b), view(a)) == kept
    b.data = torch.zeros(9, dtype=torch.float64, device=place)
    assert view(b)[:3] == (b.data_ptr(), 9, "float64")
    b.data = b.data.view(3, 3).t()
    assert view(b) is None


def test_what_is_more_than_its_memory_has_no_description(view, capfd):
    freed = torch.zeros(5)
    freed.untyped_storage().resize_(0)
    others = (
        torch.zeros(3).to_sparse(),
        torch.zeros(2, device="meta"),
        torch.zeros(4, 4).t(),
        freed,
        np.zeros(3),
        5,
    )
    assert [view(a) for a in others] == [None] * len(others)
    assert capfd.readouterr().err == ""
    assert torch.func.vmap(lambda a: a if view(a) is None else a * torch.nan)(torch.ones(2)).tolist() == [
        1,
        1,
    ]
