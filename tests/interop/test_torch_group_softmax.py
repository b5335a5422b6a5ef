"""Softmax by group of PyTorch tensors: results, gradients, order of the rows, torch.compile, capture."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce.torch as ops  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

FUNCTIONS = ("softmax", "log_softmax")


@pytest.fixture
def place(device):
    """Where the tensors are: host tensors are for the simulator, where there is no GPU."""
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def scores(*shape, seed=1, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).normal(0, 3, shape)).to(dtype)


def drawn_labels(rows, groups, seed=2, dtype=torch.int64):
    """Labels of which -1 is in no group, and the last group is empty."""
    return torch.from_numpy(np.random.default_rng(seed).integers(-1, groups - 1, rows)).to(dtype)


def by_group(name, a, labels, groups, axis):
    """PyTorch's function, group by group, in float64."""
    outside = 0.0 if name == "softmax" else -torch.inf
    a = a.to(torch.float64).movedim(axis, 0)
    result = torch.full(a.shape, outside, dtype=torch.float64)
    for group in range(groups):
        result[labels == group] = getattr(torch, name)(a[labels == group], 0)
    return result.movedim(0, axis)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results(name, dtype, place):
    function = getattr(ops, f"group_{name}")
    for shape, axis in (((300,), 0), ((70, 5), 0), ((4, 90), 1), ((3, 40, 2), -2)):
        a = scores(*shape, dtype=dtype)
        labels = drawn_labels(shape[axis], 6, dtype=torch.int32 if axis else torch.int64)
        got = function(a.to(place), labels.to(place), 6, axis=axis)
        assert (got.dtype, got.shape, got.device.type) == (dtype, a.shape, torch.device(place).type)
        wanted = by_group(name, a, labels, 6, axis).to(dtype)
        tolerance = 32 * torch.finfo(dtype).eps  # the exponential of -30 is off by 30 times its error
        torch.testing.assert_close(
            got.cpu(), wanted, rtol=tolerance, atol=0 if name == "softmax" else tolerance
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_corner_cases(name, place):
    function, plain = getattr(ops, f"group_{name}"), getattr(torch, name)
    inf, nan = torch.inf, torch.nan
    for group in ([1e30, 1e30], [-inf, 2.0], [-inf, -inf], [nan, 1.0], [inf, 1.0], [-3.0]):
        a = torch.tensor([5.0, *group])
        got = function(a.to(place), torch.tensor([0] + [1] * len(group), device=place), 2).cpu()
        torch.testing.assert_close(got[1:], plain(a[1:], 0), equal_nan=True)
        assert got[0] == (1 if name == "softmax" else 0)
    a, labels = torch.zeros((0, 3), device=place), torch.zeros(0, dtype=torch.int64, device=place)
    assert function(a, labels).shape == function(a, labels, 4).shape == (0, 3)
    few = torch.tensor([1, 1, -1], device=place)
    wanted = {"softmax": [0.5, 0.5, 0], "log_softmax": [-np.log(2), -np.log(2), -inf]}[name]
    assert function(torch.ones(3, device=place), few).tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_order_of_the_rows_has_no_effect(name, place):
    """On the bits of results and gradients: sums of many exponentials over a wide range."""
    function = getattr(ops, f"group_{name}")
    a, labels = scores(5000, seed=3, dtype=torch.float32), drawn_labels(5000, 8)
    weights = scores(5000, seed=4, dtype=torch.float32)
    found = []
    for order in (torch.arange(5000), torch.from_numpy(np.random.default_rng(5).permutation(5000))):
        given = a[order].to(place).requires_grad_()
        result = function(given, labels[order].to(place), 8)
        inside = (labels[order] >= 0).to(place)
        (torch.where(inside, result, 0) * weights[order].to(place)).sum().backward()
        back = torch.argsort(order)
        found.append([each.detach().cpu()[back] for each in (result, given.grad)])
    for one, other in zip(*found, strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_derivatives(name, place):
    """First and second ones, by differences; rows of no group have none."""
    labels = torch.tensor([1, 0, -1, 1, 0, 1], device=place)
    inside = (labels >= 0)[:, None]
    a = scores(6, 2).to(place).requires_grad_()

    def function(a):
        return torch.where(inside, getattr(ops, f"group_{name}")(a, labels, 3), 0)

    assert torch.autograd.gradcheck(function, (a,))
    assert torch.autograd.gradgradcheck(function, (a,))
    (gradient,) = torch.autograd.grad((function(a) * scores(6, 2, seed=9).to(place)).sum(), a)
    assert gradient[2].tolist() == [0, 0] and gradient.isfinite().all()


def attention(a, labels, groups):
    return ops.group_softmax(a, labels, groups) + ops.group_log_softmax(a.T, labels, groups, axis=1).T


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.gpu)])
def test_compiled(backend, place, full):
    torch._dynamo.reset()
    compiled = torch.compile(attention, fullgraph=True, backend=backend)
    for edges in (20, 33):  # the second of another length, for which a graph with lengths left open is made
        a, labels = scores(edges, 3, dtype=torch.float32).to(place), drawn_labels(edges, 5).clamp(min=0)
        found = []
        for function in (attention, compiled):
            given = a.clone().requires_grad_()
            result = function(given, labels.to(place), 5)
            result.square().sum().backward()
            found.append([result.detach(), given.grad])
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_name_the_argument(name, place):
    a, labels = torch.ones((3, 2), device=place), torch.tensor([0, 1, 0], device=place)
    function = getattr(ops, f"group_{name}")
    for error, argument, call in (
        (TypeError, "a", lambda: function([1.0], labels)),
        (TypeError, "a", lambda: function(a.long(), labels)),
        (ValueError, "a", lambda: function(a[0, 0], labels)),
        (TypeError, "labels", lambda: function(a, [0, 1, 0])),
        (TypeError, "labels", lambda: function(a, labels.float())),
        (ValueError, "labels", lambda: function(a, labels[:2])),
        (ValueError, "labels", lambda: function(a, labels[:, None])),
        (TypeError, "num_groups", lambda: function(a, labels, 2.5)),
        (ValueError, "num_groups", lambda: function(a, labels, -1)),
        (TypeError, "axis", lambda: function(a, labels, axis=0.5)),
        (ValueError, "axis", lambda: function(a, labels, axis=2)),
    ):
        with pytest.raises(error, match=f"^{argument}: "):
            call()
    if place == "cpu":
        with pytest.raises(ValueError, match=r"^labels: expected up to 0, got 1"):
            function(a, labels, 1)
    elif name == "softmax":  # the row is in no group
        assert function(a, labels, 1).tolist() == [[0.5, 0.5], [0, 0], [0.5, 0.5]]


@pytest.mark.gpu
def test_calls_are_captured_into_a_graph(place):
    a, labels = scores(500, 8, dtype=torch.float32).to(place), drawn_labels(500, 50).to(place)
    attention(a, labels, 50)
    torch.cuda.synchronize(place)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = attention(a, labels, 50)
    a.copy_(scores(500, 8, seed=9, dtype=torch.float32))
    graph.replay()
    assert torch.equal(result, attention(a, labels, 50))
