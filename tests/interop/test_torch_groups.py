"""PyTorch's scatter functions by gpureduce: results, exactness, gradients, torch.compile, the context."""

import contextlib
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce.torch as ops  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore:.*segment_reduce.*:UserWarning"),
]

REDUCE = ("sum", "prod", "mean", "amax", "amin")
SEGMENTS = ("sum", "mean", "max", "min", "prod")
GROUP_OPS = ("sum", "prod", "mean", "max", "min")
EXACT = {"rtol": 0, "atol": 0}


@pytest.fixture
def place(device):
    """Where the tensors are: host tensors are for the simulator, where there is no GPU."""
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def whole(shape, dtype=torch.float32, seed=1):
    """Whole numbers from 1 to 3, of which all sums and products of a few are exact."""
    return torch.from_numpy(np.random.default_rng(seed).integers(1, 4, shape)).to(dtype)


def index_of(shape, most, seed=2, dtype=torch.int64):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, most, shape)).to(dtype)


def check(name, place, *arguments, **options):
    """Compare with PyTorch's function of that name on CPU tensors, the bits included."""

    def at(value, where):
        return value.to(where) if isinstance(value, torch.Tensor) else value

    got = getattr(ops, name)(
        *(at(each, place) for each in arguments), **{key: at(each, place) for key, each in options.items()}
    )
    wanted = getattr(torch, name)(*arguments, **options)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    torch.testing.assert_close(got.cpu(), wanted, equal_nan=True, **EXACT)


# Results


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.uint8]
)
def test_index_add(dtype, place):
    a = whole((3, 5, 4), dtype)
    for dim in (0, 1, -1):
        index = index_of(7, a.shape[dim], dtype=torch.int32 if dim else torch.int64)
        shape = [7 if axis == dim % 3 else n for axis, n in enumerate(a.shape)]
        check("index_add", place, a, dim, index, whole(shape, dtype, 3))
    source = whole((4, 7, 3), dtype, 3).permute(2, 1, 0)[:, ::2]
    check("index_add", place, a, 1, index_of(4, 5), source, alpha=2)
    check("index_add", place, a[0, 0], 0, index_of(0, 4), a[0, 0, :0])
    check("index_add", place, a[0, 0, 0], 0, torch.tensor(0), whole((1,), dtype)[0])


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCE)
def test_scatter_reduce(reduce, include_self, place):
    for dtype in (torch.float32, torch.int32):
        a = whole((3, 5, 4), dtype)
        for dim in range(3):
            index = index_of((2, 4, 3), a.shape[dim])
            check(
                "scatter_reduce",
                place,
                a,
                dim,
                index,
                whole((4, 4, 3), dtype, 3),
                reduce,
                include_self=include_self,
            )
    rows = index_of(9, 3)[:, None, None].expand(9, 5, 4)
    values = torch.randn((9, 5, 4), generator=torch.Generator().manual_seed(1))
    got = ops.scatter_reduce(
        torch.zeros(3, 5, 4, device=place),
        0,
        rows.to(place),
        values.to(place),
        reduce,
        include_self=include_self,
    )
    wanted = torch.zeros(3, 5, 4).scatter_reduce(0, rows, values, reduce, include_self=include_self)
    torch.testing.assert_close(got.cpu(), wanted)
    one = torch.tensor(2.0), 0, torch.tensor(0), torch.tensor(5.0), reduce
    check("scatter_reduce", place, *one, include_self=include_self)


def test_scatter_add(place):
    a = whole((6, 4))
    check("scatter_add", place, a, 0, index_of((3, 4), 6), whole((5, 4)))
    check("scatter_add", place, a, 1, index_of((6, 9), 4), whole((6, 9)))
    check("scatter_add", place, a, 0, index_of(8, 6)[:, None].expand(8, 4), whole((8, 4)))
    check("scatter_add", place, a, 0, index_of((0, 4), 6), whole((0, 4)))
    check("scatter_add", place, a[0], 0, index_of(11, 4), whole(11))


@pytest.mark.parametrize("initial", [None, 2.0])
@pytest.mark.parametrize("reduce", SEGMENTS)
def test_segment_reduce(reduce, initial, place):
    data, lengths = whole((12, 3)), torch.tensor([4, 0, 8])
    offsets = torch.tensor([0, 4, 4, 12])
    for bounds in ({"lengths": lengths}, {"offsets": offsets}):
        check("segment_reduce", place, data, reduce, **bounds, initial=initial)
        check("segment_reduce", place, data, reduce, **bounds, initial=initial, unsafe=True)
    across = ops.segment_reduce(data.T.to(place), reduce, lengths=lengths.to(place), axis=1, initial=initial)
    wanted = torch.segment_reduce(data, reduce, lengths=lengths, initial=initial).T
    torch.testing.assert_close(across.cpu(), wanted, equal_nan=True, **EXACT)


def test_bincount(place):
    numbers = index_of(50, 9, dtype=torch.int32)
    for dtype in (torch.float32, torch.float64, torch.int64):
        check("bincount", place, numbers, whole(50, dtype))
    check("bincount", place, numbers)
    check("bincount", place, numbers, minlength=20)
    check("bincount", place, numbers[:0], minlength=3)
    check("bincount", place, numbers[:0])
    numbers, ones = torch.tensor([0, 3, 3, 9, -1, 2]), torch.full((6,), 0.5)
    for integers in (numbers, numbers.to(torch.uint8), numbers.to(torch.int32)):
        got = ops.bincount(integers.to(place), size=5)
        assert got.tolist() == [1, 0, 1, 2, 0]
        assert ops.bincount(integers.to(place), ones.to(place), size=4).tolist() == [0.5, 0.0, 0.5, 1.0]


# Exactness


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_sums_are_rounded_once_in_any_order(dtype, place):
    generator = torch.Generator().manual_seed(5)
    source = (
        torch.randn(3000, generator=generator) * 2.0 ** torch.randint(-8, 5, (3000,), generator=generator)
    ).to(dtype)
    index = torch.randint(0, 7, (3000,), generator=generator)
    exact = [math.fsum(source[index == row].tolist()) for row in range(7)]
    zeros, order = torch.zeros(7, dtype=dtype, device=place), torch.randperm(3000, generator=generator)
    wide = source[:, None].expand(3000, 2), index[:, None].expand(3000, 2)
    for at in (torch.arange(3000), order):
        given = index[at].to(place), source[at].to(place)
        found = [
            ops.index_add(zeros, 0, *given),
            ops.scatter_add(zeros, 0, *given),
            ops.scatter_add(
                torch.zeros(7, 2, dtype=dtype, device=place), 0, wide[1][at].to(place), wide[0][at].to(place)
            )[:, 1],
            ops.scatter_reduce(zeros, 0, *given, "sum", include_self=False),
        ]
        rows = torch.argsort(given[0], stable=True)
        lengths = torch.bincount(index, minlength=7).to(place)
        found.append(ops.segment_reduce(given[1][rows], "sum", lengths=lengths))
        if dtype != torch.float16:
            found.append(ops.bincount(*given))
        for each in found:
            assert torch.equal(each.cpu(), torch.tensor(exact, dtype=torch.float64).to(dtype))
        counts = torch.bincount(index, minlength=7)
        means = [float(total) / int(count) for total, count in zip(exact, counts, strict=True)]
        mean = ops.scatter_reduce(zeros, 0, *given, "mean", include_self=False)
        torch.testing.assert_close(
            mean.cpu(), torch.tensor(means, dtype=torch.float64).to(dtype), rtol=2e-7, atol=0
        )


# Arguments


def test_errors_name_the_argument(place):
    a, index, src = (
        torch.ones(3, device=place),
        torch.tensor([0, 2], device=place),
        torch.ones(2, device=place),
    )
    bad = a, 0, index, src, "sum"
    calls = [
        (TypeError, "input", lambda: ops.index_add([1.0], 0, index, src)),
        (TypeError, "dim", lambda: ops.index_add(a, 0.5, index, src)),
        (IndexError, "dim", lambda: ops.index_add(a, 1, index, src)),
        (TypeError, "index", lambda: ops.index_add(a, 0, [0, 2], src)),
        (TypeError, "index", lambda: ops.index_add(a, 0, index.float(), src)),
        (ValueError, "index", lambda: ops.index_add(a, 0, index[None], src)),
        (TypeError, "source", lambda: ops.index_add(a, 0, index, [1.0, 1.0])),
        (TypeError, "source", lambda: ops.index_add(a, 0, index, src.double())),
        (ValueError, "source", lambda: ops.index_add(a, 0, index, torch.ones(3, device=place))),
        (TypeError, "src", lambda: ops.scatter_add(a, 0, index, src.long())),
        (ValueError, "index", lambda: ops.scatter_add(a, 0, index[None], src)),
        (ValueError, "index", lambda: ops.scatter_add(a, 0, index.new_zeros(5), src)),
        (TypeError, "reduce", lambda: ops.scatter_reduce(a, 0, index, src, 3)),
        (ValueError, "reduce", lambda: ops.scatter_reduce(a, 0, index, src, "max")),
        (TypeError, "include_self", lambda: ops.scatter_reduce(*bad, include_self=np.ones(2))),
        (ValueError, "reduce", lambda: ops.segment_reduce(a, "amax", lengths=index)),
        (ValueError, "lengths", lambda: ops.segment_reduce(a, "sum")),
        (ValueError, "lengths", lambda: ops.segment_reduce(a, "sum", lengths=index, offsets=index)),
        (ValueError, "lengths", lambda: ops.segment_reduce(a, "sum", lengths=index)),
        (ValueError, "lengths", lambda: ops.segment_reduce(a, "sum", lengths=index.new_tensor([-1, 4]))),
        (ValueError, "offsets", lambda: ops.segment_reduce(a, "sum", offsets=index)),
        (NotImplementedError, "indices", lambda: ops.segment_reduce(a, "sum", indices=index)),
        (ValueError, "axis", lambda: ops.segment_reduce(a, "sum", lengths=index, axis=1)),
        (TypeError, "input", lambda: ops.bincount(a)),
        (ValueError, "input", lambda: ops.bincount(index[None])),
        (ValueError, "input", lambda: ops.bincount(-index)),
        (ValueError, "minlength", lambda: ops.bincount(index, minlength=-1)),
        (ValueError, "size", lambda: ops.bincount(index, minlength=3, size=2)),
        (TypeError, "size", lambda: ops.bincount(index, size=2.5)),
        (ValueError, "weights", lambda: ops.bincount(index, a)),
        (TypeError, "devices", lambda: ops.deterministic("cuda").__enter__()),
        (TypeError, "alpha", lambda: ops.index_add(a.int(), 0, index, src.int(), alpha=0.5)),
    ]  # fmt: skip
    if place == "cpu":  # the values of others are not looked at
        calls += [
            (IndexError, "index", lambda: ops.index_add(a, 0, index + 1, src)),
            (IndexError, "index", lambda: ops.scatter_add(a, 0, index - 1, src)),
        ]
    for error, name, call in calls:
        with pytest.raises(error, match=f"^{name}: "):
            call()


def test_the_operators_check_their_arguments(place):
    groups, segments = torch.ops.gpureduce.group_reduce, torch.ops.gpureduce.segment_reduce
    a, labels = torch.ones((2, 3), device=place), torch.tensor([0, 1], device=place)
    for error, message, call in (
        (ValueError, "op: expected one of sum", lambda: groups(a, labels, "median", 2)),
        (ValueError, "axis: 2 is out of bounds", lambda: groups(a, labels, "sum", 2, 2)),
        (TypeError, "labels: expected integers", lambda: groups(a, labels.bool(), "sum", 2)),
        (RuntimeError, "labels: expected 3, one for each row, got 2", lambda: groups(a, labels, "sum", 2, 1)),
        (RuntimeError, "num_groups: expected 0 or more", lambda: groups(a, labels, "sum", -1)),
        (RuntimeError, "offsets: expected one more", lambda: segments(a, labels[:0], "sum")),
        (TypeError, "offsets: expected integers", lambda: segments(a, labels.float(), "sum")),
    ):
        with pytest.raises(error, match=message):
            call()
    assert groups(a, labels, "sum", 0).shape == (0, 3) and groups(a[:0], labels[:0], "max", 0).shape == (0, 3)
    assert groups(a, labels - 1, "sum", 2).tolist() == [[1] * 3, [0] * 3]  # a label below 0 is no group's


# Gradients


def values(*shape, place):
    """Numbers that are all different, and not zero."""
    size = math.prod(shape)
    order = torch.from_numpy(np.random.default_rng(7).permutation(size) - size / 2.0)
    return (order.reshape(shape) / 3 + 0.1).to(place).requires_grad_()


@pytest.mark.parametrize("op", GROUP_OPS)
def test_gradients_are_derivatives(op, place):
    """First and second ones, by differences; of rows that are in no group, too."""
    labels, offsets = (torch.tensor(each, device=place) for each in ([1, 0, -1, 1, 0], [0, 2, 4]))
    a = values(5, 2, place=place)

    def groups(a):
        return torch.ops.gpureduce.group_reduce(a.T, labels, op, 2, 1)

    def segments(a):
        return torch.ops.gpureduce.segment_reduce(a, offsets, op, 0)

    for function in (groups, segments):
        assert torch.autograd.gradcheck(function, (a,))
        assert torch.autograd.gradgradcheck(function, (a,))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCE)
def test_gradients_are_pytorchs(reduce, include_self, place):
    """Of elements that are alike, too; of a product, zeros, of which PyTorch knows the derivative as well."""
    found = []
    for kit, where in ((ops, place), (torch, "cpu")):
        a = torch.tensor([[1.0, 2], [3, 1], [5, 0]], dtype=torch.float64).to(where).requires_grad_()
        src = torch.tensor([[1.0, 1], [3, 1], [2, 4], [0, 2]], dtype=torch.float64).to(where).requires_grad_()
        index = torch.tensor([[0, 0], [0, 0], [2, 2], [0, 2]], device=where)
        result = kit.scatter_reduce(a, 0, index, src, reduce, include_self=include_self)
        weights = torch.arange(1.0, 7, device=where, dtype=torch.float64).reshape(3, 2)
        found.append([each.cpu() for each in torch.autograd.grad((result * weights).sum(), (a, src))])
    for got, wanted in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)
        assert got.count_nonzero() > 0


def test_gradients_of_sums(place):
    found = []
    for kit, where in ((ops, place), (torch, "cpu")):
        a, source = (torch.ones(shape, device=where).requires_grad_() for shape in ((3, 2), (4, 2)))
        index = torch.tensor([2, 0, 2, 2], device=where)
        result = kit.index_add(a, 0, index, source, alpha=3)
        result = result * kit.scatter_add(a, 0, index[:, None].expand(4, 2), source)
        result = result + kit.segment_reduce(source, "mean", lengths=torch.tensor([1, 2, 1], device=where))
        found.append([each.cpu() for each in torch.autograd.grad((result**2).sum(), (a, source))])
    torch.testing.assert_close(*found)


# What PyTorch asks of an operator


@pytest.mark.parametrize("op", GROUP_OPS)
def test_opcheck(op, place, full):
    a = whole((6, 3)).to(place).requires_grad_()
    labels = torch.tensor([0, 1, 1, -1, 2, 0], device=place)
    torch.library.opcheck(torch.ops.gpureduce.group_reduce.default, (a, labels, op, 3))
    torch.library.opcheck(torch.ops.gpureduce.group_reduce.default, (a.T.detach(), labels, op, 3, 1))
    rows = labels.to(torch.int32)
    torch.library.opcheck(torch.ops.gpureduce.gather_rows.default, (a, rows, 0))
    offsets = torch.tensor([0, 2, 3, 5], device=place)
    torch.library.opcheck(torch.ops.gpureduce.segment_reduce.default, (a, offsets, op))


class Layer(torch.nn.Module):
    """A layer of a graph network: messages of edges, summed by their targets, over the maximum."""

    def __init__(self, kit, place):
        super().__init__()
        self.kit = kit
        self.weight = torch.nn.Parameter(values(4, 4, place=place).detach().float() / 4)

    def forward(self, nodes, sources, targets):
        kit, messages = self.kit, (nodes @ self.weight)[sources]
        rows = targets[:, None].expand(-1, messages.shape[1])
        sums = kit.index_add(torch.zeros_like(nodes), 0, targets, messages)
        most = kit.scatter_reduce(torch.zeros_like(nodes), 0, rows, messages, "amax", include_self=False)
        mean = kit.scatter_reduce(nodes, 0, rows, messages, "mean")
        return torch.tanh(sums + most) * mean


def trained(model, nodes, *edges):
    model.zero_grad()
    nodes = nodes.clone().requires_grad_()
    result = model(nodes, *edges)
    result.square().sum().backward()
    return [each.detach().clone() for each in (result, nodes.grad, model.weight.grad)]


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.gpu)])
def test_a_compiled_model(backend, place, full):
    torch._dynamo.reset()
    model = Layer(ops, place)
    run = torch.compile(model, fullgraph=True, backend=backend)
    for edges in (20, 33):  # the second of another length, for which a graph with lengths left open is made
        nodes = values(6, 4, place=place).detach().float()
        ends = [index_of(edges, 6, seed).to(place) for seed in (1, 2)]
        wanted = trained(Layer(torch, place), nodes, *ends)
        for got in (trained(model, nodes, *ends), trained(run, nodes, *ends)):
            torch.testing.assert_close(got, wanted)


# The context


def test_pytorchs_calls_in_the_context(place):
    """Functions, methods that write in place, and gradients."""
    large = torch.tensor([1e8, 1.0, -1e8, 2.0, 1e8, -1e8], device=place)
    index = torch.tensor([0, 0, 0, 1, 1, 1], device=place)
    types = {"devices": ("cpu", "cuda")}
    with ops.deterministic(**types):
        zeros = torch.zeros(2, device=place)
        assert zeros.index_add_(0, index, large) is zeros and zeros.tolist() == [1, 2]
        for result in (
            torch.zeros(2, device=place).index_add(0, index, large, alpha=2) / 2,
            torch.zeros(2, device=place).scatter_add(0, index, large),
            torch.zeros(2, device=place).scatter_add_(0, index, large),
            torch.zeros(2, device=place).scatter_reduce(0, index, large, "sum"),
            torch.zeros(2, device=place).scatter_reduce_(0, index, large, "mean", include_self=False) * 3,
        ):
            assert result.tolist() == [1, 2]
        for select in (torch.index_select, torch.gather):
            a = torch.zeros(2, device=place, requires_grad=True)
            select(a, 0, index).backward(large)
            assert a.grad.tolist() == [1, 2]
        quiet = torch.zeros(2, dtype=torch.bool, device=place)
        assert quiet.index_add_(0, index, large > 0).tolist() == [True, True]
        whole = torch.zeros(2, dtype=torch.int16, device=place)  # which PyTorch adds alone, times 0
        assert whole.index_add_(0, index, large.to(torch.int16), alpha=0.5).tolist() == [0, 0]
        none = torch.zeros(0, 3, device=place)  # whose indices PyTorch does not look at
        assert none.index_add_(0, index[:1], large[:3].view(1, 3)).shape == (0, 3)
    if place == "cpu":  # PyTorch adds in order, in float32
        assert torch.zeros(2).index_add_(0, index, large).tolist() == [0, 0]
        with ops.deterministic():  # which are those of GPUs alone
            assert torch.zeros(2).index_add_(0, index, large).tolist() == [0, 0]


def test_errors_in_the_context_are_pytorchs(place):
    a, src = torch.zeros(3, device=place), torch.ones(2, device=place)
    index = torch.tensor([0, 2], device=place)
    for call in (
        lambda: a.index_add(1, index, src),
        lambda: a.index_add(0, index, src[:1]),
        lambda: a.index_add_(0, index[None], src),
        lambda: a.scatter_add(0, index[None], src),
        lambda: a.scatter_add(0, index, src.double()),
        lambda: a.scatter_reduce(0, index, src, "middle"),
    ):
        found = []
        for context in (contextlib.nullcontext(), ops.deterministic(("cpu", "cuda"))):
            with context, pytest.raises((RuntimeError, IndexError)) as caught:
                call()
            found.append((caught.type, str(caught.value)))
        assert found[0] == found[1]
    assert a.tolist() == [0, 0, 0]


@pytest.mark.gpu
def test_the_context_has_one_result(place):
    index = index_of(1_000_000, 100).to(place)
    source = torch.randn(1_000_000, generator=torch.Generator().manual_seed(1)).to(place)
    found = set()
    for _ in range(10):
        order = torch.randperm(1_000_000, device=place)
        with ops.deterministic():
            found.add(
                torch.zeros(100, device=place)
                .index_add_(0, index[order], source[order])
                .cpu()
                .numpy()
                .tobytes()
            )
    assert len(found) == 1


@pytest.mark.gpu
def test_calls_are_captured_into_a_graph(place):
    index, source = index_of((500, 8), 50).to(place), whole((500, 8)).to(place)
    zeros = torch.zeros((50, 8), device=place)

    def calls():
        return [
            ops.index_add(zeros, 0, index[:, 0], source),
            ops.scatter_reduce(zeros, 0, index, source, "mean"),
            ops.segment_reduce(source, "sum", lengths=torch.full((50,), 10, device=place), unsafe=True),
        ]

    calls()
    torch.cuda.synchronize(place)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = calls()
    source.copy_(whole((500, 8), seed=9))
    graph.replay()
    for one, other in zip(results, calls(), strict=True):
        assert torch.equal(one, other)
