"""PyTorch's tensors as arguments of the public functions; autograd notices that they are written."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

from public_functions import FUNCTIONS, arguments, subjects_on  # noqa: E402

import gpureduce  # noqa: E402

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
    with pytest.raises(ValueError, match="out: shape"):
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
