"""PyTorch's own operators: what `gpureduce.torch` gives, its gradients, and that torch.compile takes it."""

import contextlib

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce  # noqa: E402
import gpureduce.torch as ops  # noqa: E402
from gpureduce._torch import direct  # noqa: E402
from tests.support.stream_cases import without_garbage  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning"),
]

NEAR = {"rtol": 1e-12, "atol": 1e-12}
# What PyTorch calls the same; where it has nothing, what NumPy has.
THEIRS = {
    "sum": torch.sum,
    "prod": torch.prod,
    "mean": torch.mean,
    "max": torch.amax,
    "min": torch.amin,
    "all": torch.all,
    "any": torch.any,
    "count_nonzero": torch.count_nonzero,
}
ONE_AXIS = ("argmax", "argmin")  # of equal elements PyTorch says any
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
WITH_GRADIENT = ("sum", "mean", "prod", "max", "min")


@pytest.fixture
def place(device):
    """Where the tensors are: host tensors are for the simulator, where there is no GPU."""
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def tensor(shape, dtype=torch.float64, place="cpu", seed=1, **options):
    """Whole numbers, of which some are alike and some zero; their sums and small products are exact."""
    values = torch.from_numpy(np.random.default_rng(seed).integers(-3, 4, shape))
    values = values.abs() if dtype in (torch.uint8, torch.bool) else values
    return values.to(dtype).to(place).requires_grad_(options.pop("requires_grad", False))


def ones_and_twos(a):
    """Their signs, and some twos, so that no product is zero or beyond float16."""
    if a.dtype != torch.bool:
        a = torch.where(a == 0, torch.ones_like(a), a.sign())
        a.flatten()[::29] *= 2
    return a


def theirs(op, a, axis, keepdims):
    """The result of PyTorch, and where it has nothing of the kind of NumPy."""
    a = a.cpu()
    if op in ONE_AXIS or op in BITS:
        reduce = getattr(np, op) if op in ONE_AXIS else getattr(np, op).reduce
        array = a.float().numpy() if a.dtype == torch.bfloat16 else a.numpy()
        return torch.from_numpy(np.asarray(reduce(array, axis=axis, keepdims=keepdims)))
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis % a.ndim,)
    kept = [1 if i in axes else n for i, n in enumerate(a.shape)]
    if op == "prod":  # which takes one axis only
        result = a.to(torch.int64) if not (a.is_floating_point() or a.is_complex()) else a
        for one in axes:
            result = torch.prod(result, one, True)
    elif op == "mean" and not a.is_floating_point():
        result = torch.mean(a.double(), tuple(axes))
    else:
        result = THEIRS[op](a, tuple(axes))
    if op in ("all", "any"):  # of bytes PyTorch gives bytes
        result = result.bool()
    if keepdims:
        return result.reshape(kept)
    return result.reshape([n for i, n in enumerate(a.shape) if i not in axes])


# Results


def cases(op):
    dtypes = [torch.int32, torch.uint8, torch.bool]
    if op not in BITS:
        dtypes = [torch.float32, torch.float16, torch.bfloat16, torch.int8, *dtypes]
    for number, dtype in enumerate(dtypes):
        axes = [(None, 1, -1), (0, None, 2), (1, -3, None)] if op in ONE_AXIS else [(None, 1), ((0, 2), -1)]
        for axis in axes[number % len(axes)]:
            yield dtype, axis, bool(number % 2)


@pytest.mark.parametrize("op", [*THEIRS, *ONE_AXIS, *BITS])
def test_results_are_pytorchs(op, place):
    for dtype, axis, keepdims in cases(op):
        if dtype == torch.bfloat16:
            pytest.importorskip("ml_dtypes")
        a = tensor((5, 7, 6), dtype, place)
        if op == "prod":
            a = ones_and_twos(a)
        a = a.transpose(0, 1)[::2]
        got, wanted = getattr(ops, op)(a, axis=axis, keepdims=keepdims), theirs(op, a, axis, keepdims)
        assert got.device == a.device and got.is_contiguous()
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        exact = {} if op == "mean" else {"rtol": 0, "atol": 0}
        torch.testing.assert_close(got.cpu(), wanted, **exact)


@pytest.mark.parametrize("op", ["sum", "mean"])
def test_results_have_the_bits_of_the_functions(op, place):
    a = torch.randn((300, 70), generator=torch.Generator().manual_seed(3)).to(place)
    for axis in (None, 0, 1):
        wanted = getattr(gpureduce, op)(a, axis)
        wanted = wanted.numpy() if isinstance(wanted, gpureduce.DeviceArray) else wanted
        np.testing.assert_array_equal(getattr(ops, op)(a, axis).cpu(), wanted)


def test_cpu_tensors_have_our_bits_and_not_pytorchs():
    a = torch.tensor([1e8, 1.0, -1e8, float("nan")])
    for scope in (contextlib.nullcontext(), gpureduce.device("sim")):
        with scope:
            assert ops.sum(a[:3]) == 1 != torch.sum(a[:3])
            assert ops.mean(a[:3], exact=True) == torch.tensor(1 / 3)
            assert ops.nansum(a) == 1 and ops.sum(a, where=~a.isnan()) == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_products_of_two(dtype, place):
    a, b = tensor((4, 1, 5, 7), dtype, place), tensor((3, 7, 6), dtype, place, 2)
    np.testing.assert_array_equal(ops.matmul(a, b).cpu(), a.cpu() @ b.cpu())
    np.testing.assert_array_equal(ops.matmul(a, b[0, :, 0]).cpu(), a.cpu() @ b.cpu()[0, :, 0])
    np.testing.assert_array_equal(ops.matmul(a[0, 0, 0], b).cpu(), a.cpu()[0, 0, 0] @ b.cpu())
    row, column = a[1, 0, 2], b[1, :, 3]
    for product in (ops.matmul, ops.dot):
        assert product(row, column).item() == torch.dot(row.cpu(), column.cpu()).item()
    assert ops.dot(row.conj(), column).item() == torch.vdot(row.cpu(), column.cpu()).item()


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_convolutions(layout, place):
    x, w = tensor((2, 4, 7, 9), torch.float32, place), tensor((6, 2, 3, 2), torch.float32, place, 2)
    for options in (
        {"groups": 2},
        {"groups": 2, "stride": (2, 1), "padding": (1, 0), "dilation": 2},
        {"groups": 2, "padding": "same"},
        {"groups": 2, "padding": 1, "bias": tensor((6, 2), torch.float32, place, 3)[:, 1]},
    ):
        own = {**options, "layout": layout}
        options = {key: each.cpu() if key == "bias" else each for key, each in options.items()}
        wanted = torch.nn.functional.conv2d(x.cpu(), w.cpu(), **options)
        if layout == "NHWC":
            got = ops.conv2d(x.permute(0, 2, 3, 1), w.permute(0, 2, 3, 1), **own).permute(0, 3, 1, 2)
        else:
            got = ops.conv2d(x, w, **own)
            assert torch.equal(ops.conv2d(x[1], w, **own), got[1])
        torch.testing.assert_close(got.cpu(), wanted, rtol=0, atol=0)
    with pytest.raises(ValueError, match="padding: expected 'same'"):
        ops.conv2d(x, w, padding="full")
    with pytest.raises(TypeError, match=r"conv2d takes .*, not torch\.int64"):
        ops.conv2d(x.long(), w.long(), groups=2)


def test_few_elements_and_none(place):
    scalar = torch.tensor(3.0, device=place)
    assert ops.sum(scalar).item() == ops.max(scalar, 0).item() == ops.prod(scalar, ()).item() == 3
    assert ops.argmin(scalar).item() == ops.argmin(scalar, -1).item() == 0
    none = torch.empty((0, 3), device=place)
    assert ops.sum(none, 0).tolist() == [0, 0, 0] and ops.prod(none).item() == 1
    assert ops.sum(none, 1).shape == ops.max(none, 1).shape == (0,)
    assert ops.sum(torch.ones((2, 3), device=place), ()).tolist() == [[1, 1, 1], [1, 1, 1]]
    for op in ("max", "argmin"):
        with pytest.raises(ValueError, match="no identity"):
            getattr(ops, op)(none, 0)


def test_dtypes_that_are_asked_for(place):
    a = torch.tensor([200, 100, 255], dtype=torch.uint8, device=place)
    assert ops.sum(a).dtype == ops.prod(a).dtype == torch.int64 and ops.sum(a).item() == 555
    narrow = ops.sum(a, dtype=torch.int8)
    assert narrow.dtype == torch.int8 and narrow.item() == 555 - 512
    two = torch.tensor([1, -1], device=place)
    assert ops.sum(two, dtype=torch.bool).item() is True
    half = torch.full((3000,), 100.0, dtype=torch.float16, device=place)
    assert ops.sum(half).item() == np.inf and ops.sum(half, dtype=torch.float32).item() == 300000
    assert ops.mean(half, dtype=torch.float64).item() == 100
    assert ops.prod(half[:3], dtype=torch.int64).item() == 1000000


def test_torch_operators_refuse_bad_arguments(place):
    a = torch.ones((2, 3), device=place)
    with pytest.raises((ValueError, IndexError), match="axis 2"):
        ops.sum(a, 2)
    with pytest.raises(ValueError, match="duplicate"):
        ops.sum(a, (0, -2))
    with pytest.raises(TypeError, match=r"bitwise_or takes torch\.bool, .*, not torch\.float32"):
        ops.bitwise_or(a)
    with pytest.raises(TypeError, match="a mean needs a floating-point"):
        ops.mean(a, dtype=torch.int64)
    with pytest.raises(TypeError, match=r"expected the dtype of a, torch\.float32, got torch\.int64"):
        ops.dot(a[0], a[0].long())
    with pytest.raises(ValueError, match="two vectors"):
        ops.dot(a, a)
    with pytest.raises(RuntimeError, match="got 3 and 2 elements"):
        ops.dot(a[0], a[:, 0])
    with pytest.raises(ValueError, match="precision: expected one of"):
        ops.matmul(a, a.T, "tf33")


def test_numbers_and_dtypes_of_numpy_are_taken(place):
    a = tensor((2, 3, 4), torch.float32, place)
    for axis in (np.int64(1), (np.int64(0), np.int8(-1)), [0, np.uint8(2)]):
        same = axis if isinstance(axis, np.integer) else tuple(map(int, axis))
        assert torch.equal(ops.sum(a, axis=axis), torch.sum(a, same))
    assert ops.max(a, np.int64(1), np.True_).shape == (2, 1, 4)
    assert torch.equal(ops.argmin(a, axis=np.int64(2)), ops.argmin(a, axis=2))
    for dtype in ("float64", np.float64, np.dtype("f8"), float):
        for op in (ops.sum, ops.prod, ops.mean):
            assert (
                torch.equal(op(a, 0, dtype), op(a, 0, torch.float64))
                and op(a, 0, dtype).dtype == torch.float64
            )
    x, w = tensor((1, 2, 5, 5), torch.float32, place), tensor((2, 1, 2, 2), torch.float32, place, 2)
    numpys = {"stride": np.int64(2), "padding": (np.int32(1), np.int64(0)), "groups": np.int64(2)}
    wanted = ops.conv2d(x, w, stride=2, padding=(1, 0), groups=2)
    assert torch.equal(ops.conv2d(x, w, **numpys, dilation=np.uint8(1)), wanted)


@pytest.mark.parametrize("op", [*THEIRS, *ONE_AXIS, *BITS])
def test_errors_name_the_argument(op, place):
    a = torch.ones((2, 3), device=place).bool()
    function = getattr(ops, op)
    for given, name in (
        (([1, 2],), "a"), ((np.ones(3),), "a"), ((a.to_sparse(),), "a"),
        ((a, "0"), "axis"), ((a, 1.5), "axis"), ((a, ((0,),)), "axis"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf"^{name}: "):
            function(*given)
    with pytest.raises(TypeError, match=r"^keepdims: "):
        function(a, None, keepdims=np.ones(2))
    if op in ("sum", "prod", "mean"):
        for dtype in ("quint8", 3, object(), torch.quint8, "S3"):
            with pytest.raises(TypeError, match=r"^dtype: "):
                function(a, dtype=dtype)
    if op in ONE_AXIS:
        with pytest.raises(TypeError, match=r"^axis: .* takes one integer"):
            function(a, (0, 1))


def test_errors_of_products_name_the_argument(place):
    a, x = torch.ones((2, 2), device=place), torch.ones((1, 1, 2, 2), device=place)
    for call, name in (
        (lambda: ops.dot(a[0], [1.0, 1.0]), "b"),
        (lambda: ops.matmul(a.numpy if place == "cpu" else 1, a), "a"),
        (lambda: ops.matmul(a, a, precision=3), "precision"),
        (lambda: ops.conv2d(x, x.tolist()), "w"),
        (lambda: ops.conv2d(x, x, stride="1"), "stride"),
        (lambda: ops.conv2d(x, x, padding=None), "padding"),
        (lambda: ops.conv2d(x, x, dilation=(1, 1.5)), "dilation"),
        (lambda: ops.conv2d(x, x, groups=1.0), "groups"),
        (lambda: ops.conv2d(x, x, layout=None), "layout"),
        (lambda: ops.conv2d(x, x, bias=[1.0]), "bias"),
        (lambda: ops.conv2d(x, x, bias=torch.ones(1, dtype=torch.float64, device=place)), "bias"),
    ):
        with pytest.raises(TypeError, match=rf"^{name}: "):
            call()


# Gradients


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
@pytest.mark.parametrize("op", WITH_GRADIENT)
def test_gradients_are_pytorchs(op, axis, zeros, place):
    """First and second ones, of elements that are alike and of zeros."""
    elements = ones_and_twos(tensor((3, 4, 2)))
    elements[1, :zeros, 1] = 0
    weights = tensor(theirs(op, elements, axis, True).shape, seed=3) + 0.5
    found = []
    for own in (True, False):
        a = elements.to(place if own else "cpu").requires_grad_()
        result = getattr(ops, op)(a, axis, keepdims=True) if own else theirs(op, a, axis, True)
        (first,) = torch.autograd.grad((result * weights.to(a.device)).sum(), a, create_graph=True)
        found.append([first.detach().cpu()])
        if op == "prod":  # the others have none
            second = torch.autograd.grad((first * tensor(a.shape, place=a.device, seed=4)).sum(), a)
            found[-1] += [second[0].cpu()]
    for got, wanted in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted, **NEAR)
    assert zeros == 2 or found[0][0].count_nonzero() > 0


@pytest.mark.parametrize("op", [*WITH_GRADIENT, "dot", "matmul", "conv2d"])
def test_gradients_are_derivatives(op, place):
    """First and second ones, by differences, of elements that are all different."""

    def values(*shape):
        size = int(np.prod(shape))
        order = torch.from_numpy(np.random.default_rng(7).permutation(size) - size / 2.0)
        return (order.reshape(shape) / 3 + 0.1).to(place).requires_grad_()

    function = getattr(ops, op)
    if op == "dot":
        cases = [(function, (values(3), values(3) * 2))]
    elif op == "matmul":
        cases = [(function, (values(2, 1, 2, 3), values(3, 2))), (function, (values(3), values(2, 3, 1)))]
    elif op == "conv2d":
        same, steps = {"padding": "same", "layout": "NHWC"}, {"stride": 2, "padding": (1, 0)}
        fixed = values(1, 2, 3, 4).detach(), values(2, 2, 2, 1).detach()
        cases = [
            (lambda x, w: function(x, w, **same), (values(3, 3, 2), values(2, 2, 1, 2))),
            (
                lambda x, w, b: function(x, w, bias=b, **same),
                (values(3, 3, 2), values(2, 2, 1, 2), values(2)),
            ),
            (lambda x, w: function(x, w, **steps), (values(1, 2, 3, 4), values(1, 2, 2, 1))),
            (lambda b: function(*fixed, bias=b, padding=1), (values(2),)),
        ]
    else:
        cases = [
            (lambda a: function(a, 1), (values(2, 3, 2),)),
            (lambda a: function(a, (0, -1), keepdims=True), (values(2, 2, 3),)),
        ]
    for case, inputs in cases:
        assert torch.autograd.gradcheck(case, inputs)
        assert torch.autograd.gradgradcheck(case, inputs)


# What PyTorch asks of an operator


def samples(op, place):
    gradient = op in (*WITH_GRADIENT, "dot", "matmul", "conv2d")
    dtype = torch.int32 if op in BITS else torch.float32
    options = {"place": place, "requires_grad": gradient}
    if op == "dot":
        return [(tensor(9, dtype, **options), tensor(9, dtype, seed=2, **options))]
    if op == "matmul":
        return [(tensor((2, 3, 4), dtype, **options), tensor((4, 5), dtype, seed=2, **options), "ieee")]
    if op == "conv2d":
        x, w = tensor((2, 5, 5, 3), dtype, **options), tensor((4, 2, 2, 3), dtype, seed=2, **options)
        bias = tensor(4, dtype, seed=3, **options)
        rest = [1], [0], [2], 1, "NHWC", True, "ieee"
        channels_first = x.movedim(-1, 1).detach(), w.movedim(-1, 1).detach()
        return [channels_first, (x[0], w, None, *rest), (x[0], w, bias, *rest)]
    a = tensor((3, 4, 5), dtype, **options)
    return [(a,), (a.transpose(0, 2), 1 if op in ONE_AXIS else (0, -1), True)]


RECORDED = {  # an operator, parameters of its function, arguments after the first tensor, and as options
    "sum": ("a axis keepdims", (), {"dim": [0, 1], "keepdim": True}, ([0, 1], True)),
    "mean": ("a axis keepdims", (), {"axis": -1}, (-1,)),
    "prod": ("a axis keepdims", (1,), {}, ()),
    "max": ("a axis keepdims", (), {}, ()),
    "softmax": ("a axis", (0,), {}, ()),
    "logsumexp": ("a axis keepdims", (1,), {}, ()),
    "matmul": ("a b precision", (tensor((6, 2), seed=2),), {}, ()),
    "layer_norm": ("a weight bias eps", (tensor(6, seed=2), tensor(6, seed=3)), {}, ()),
    "group_reduce": ("a labels op num_groups axis", (torch.arange(5) % 2, "mean", 2), {}, ()),
}


@pytest.mark.parametrize("name", RECORDED)
def test_results_that_are_recorded_later_have_the_operators_gradients(name):
    """The core has made the result then."""
    parameters, args, options, others = RECORDED[name]
    operator = getattr(torch.ops.gpureduce, name)
    leaves = []
    for _ in range(2):
        tensors = (tensor((5, 6)), *args)
        leaves.append(
            [
                each.clone().requires_grad_() if torch.is_tensor(each) and each.is_floating_point() else each
                for each in tensors
            ]
        )
    with gpureduce.device("sim"):
        want = operator(*leaves[0], *others)
        apply, defaults, shared, record = direct.recorder(direct.recordings[name], tuple(parameters.split()))
        args, result = leaves[1], want.detach().clone()
        if options:
            got = record(result, *args, **options)
        else:  # as the core calls it
            assert len(args) <= shared
            got = apply(*args, *defaults[len(args) :], [result])
        assert torch.equal(want, got) and type(got.grad_fn).__name__ == f"gpureduce_{name}Backward"
        grads = [
            torch.autograd.grad(
                result, [x for x in mine if torch.is_tensor(x) and x.requires_grad], torch.ones_like(result)
            )
            for result, mine in ((want, leaves[0]), (got, leaves[1]))
        ]
    for one, other in zip(*grads, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("op", [*THEIRS, *ONE_AXIS, *BITS, "dot", "matmul", "conv2d"])
def test_opcheck(op, place, full):
    operator = getattr(torch.ops.gpureduce, op).default
    for sample in samples(op, place):
        torch.library.opcheck(operator, sample)
    if op not in ("dot", "matmul", "conv2d"):
        torch.library.opcheck(operator, (torch.zeros((), dtype=sample[0].dtype, device=place),))


def test_modes_and_wrappers_see_the_operators(place):
    """That calls go straight to the kernel where no mode is active skips no mode."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Looking(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            seen.append(str(operator))
            return operator(*args, **(kwargs or {}))

    a = tensor((3, 4), torch.float32, place)
    with Looking():
        ops.sum(a, 1), ops.sum(a.clone().requires_grad_()), ops.argmax(a)
    assert [each for each in seen if "gpureduce" in each] == [
        *["gpureduce.sum.default"] * 2,
        "gpureduce.argmax.default",
    ]
    assert torch.equal(torch.func.vmap(ops.sum)(a), ops.sum(a, 1))
    assert ops.sum(a.to("meta"), 1).shape == (3,)


class Model(torch.nn.Module):
    """Three operators between PyTorch's own."""

    def __init__(self, kit, place):
        super().__init__()
        self.kit = kit
        self.weight = torch.nn.Parameter(tensor((16, 8), torch.float64, place, 5) / 4)

    def forward(self, x):
        kit = self.kit
        hidden = torch.tanh(x @ self.weight)
        top = kit.max(hidden, axis=1, keepdims=True)
        shares = torch.exp(hidden - top)
        shares = shares / kit.sum(shares, axis=1, keepdims=True)
        return kit.mean((shares * hidden) ** 2)


class Eager:
    max = staticmethod(lambda a, axis, keepdims: torch.amax(a, axis, keepdims))
    sum = staticmethod(torch.sum)
    mean = staticmethod(torch.mean)


def trained(model, x):
    """A result and the gradients, forward and back."""
    model.zero_grad()
    x = x.clone().requires_grad_()
    result = model(x)
    result.backward()
    return [each.detach().clone() for each in (result, x.grad, *(p.grad for p in model.parameters()))]


def compiled(model, **options):
    torch._dynamo.reset()
    return torch.compile(model, fullgraph=True, **options)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.gpu)])
def test_a_compiled_model(backend, place, full):
    x = tensor((12, 16), torch.float64, place, 6)
    model = Model(ops, place)
    wanted = trained(Model(Eager, place), x)
    run = compiled(model, backend=backend)
    for got in (trained(model, x), trained(run, x)):
        for one, other in zip(got, wanted, strict=True):
            torch.testing.assert_close(one, other, **NEAR)
    several = x[:7]  # of another length, for which a graph with lengths left open is made
    for one, other in zip(trained(run, several), trained(Model(Eager, place), several), strict=True):
        torch.testing.assert_close(one, other, **NEAR)


# On a GPU


@pytest.mark.gpu
def test_a_compiled_model_in_a_graph(place):
    model, run = Model(ops, place), compiled(Model(ops, place), mode="reduce-overhead")
    for seed in range(6, 12):  # those after the first few are replays
        x = tensor((12, 16), torch.float64, place, seed)
        torch.compiler.cudagraph_mark_step_begin()
        for one, other in zip(trained(run, x), trained(model, x), strict=True):
            torch.testing.assert_close(one, other, **NEAR)


def several(a):
    """Calls of all kinds of operators, of a matrix of 300 x 200."""
    pictures, filters = a.view(1, 40, 30, 50), a[:8, :160].reshape(8, 40, 2, 2)
    return [
        *(ops.sum(a, 0), ops.max(a), ops.argmin(a, 1), ops.mean(a, 1, keepdims=True)),
        *(ops.dot(a[0], a[1]), ops.matmul(a, a.T), ops.conv2d(pictures, filters, bias=a[0, :8])),
    ]


@pytest.mark.gpu
def test_a_graph_of_operators(place):
    a, graph = tensor((300, 200), torch.float32, place), torch.cuda.CUDAGraph()
    with without_garbage(), torch.cuda.graph(graph):
        results = several(a)
    a.copy_(tensor((300, 200), torch.float32, place, 9))
    graph.replay()
    for one, other in zip(results, several(a), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(results[0].cpu(), a.cpu().sum(0))


@pytest.mark.gpu
def test_calls_are_in_the_current_stream_and_do_not_wait(place):
    a, values = torch.zeros((300, 200), device=place), tensor((300, 200), torch.float32, place)
    wanted = several(values)  # what is loaded once is loaded now
    torch.cuda.synchronize(place)
    stream, event = torch.cuda.Stream(place), torch.cuda.Event()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(150_000_000)
        a.copy_(values)
        event.record()
        results = several(a)
        assert not event.query()
        for one, other in zip(results, wanted, strict=True):
            assert torch.equal(one, other)


def test_dir_lists_what_is_public():
    assert dir(ops) == sorted(ops.__all__) and all(callable(getattr(ops, name)) for name in dir(ops))


def test_flops_of_products_are_counted(place):
    """What PyTorch counts for its own operators, forward and back."""
    from torch.utils.flop_counter import FlopCounterMode

    def count(function, *tensors):
        tensors = [each.clone().requires_grad_() for each in tensors]
        with FlopCounterMode(display=False) as counter:
            function(*tensors).sum().backward()
        return counter.get_total_flops()

    a, b = tensor((3, 4, 5), torch.float32, place), tensor((3, 5, 6), torch.float32, place)
    assert count(ops.matmul, a, b) == count(torch.matmul, a, b) == 3 * (2 * 3 * 4 * 5 * 6)
    x, w = tensor((2, 4, 7, 9), torch.float32, place), tensor((6, 2, 3, 2), torch.float32, place)
    for options in ({"groups": 2}, {"groups": 2, "stride": 2, "padding": 1}):
        wanted = count(lambda x, w, more=options: torch.conv2d(x, w, **more), x, w)
        assert count(lambda x, w, more=options: ops.conv2d(x, w, **more), x, w) == wanted > 0
    assert count(ops.dot, a[0, 0], a[0, 1]) == 10
    assert count(ops.sum, a) == 0
