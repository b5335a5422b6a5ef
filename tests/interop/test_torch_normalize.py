"""softmax, log_softmax, rms_norm, layer_norm of tensors: gradients, compiled code; `batch_invariant()`."""

import contextlib

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce  # noqa: E402
import gpureduce.torch as ops  # noqa: E402

F = torch.nn.functional
pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]


@pytest.fixture
def place(device):
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def draw(*shape, place="cpu", dtype=torch.float64, seed=0, grad=False):
    """Numbers whose exponents spread."""
    rng = np.random.default_rng(seed)
    values = torch.as_tensor(rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 3, shape))
    return values.to(dtype).to(place).requires_grad_(grad)


def ours_and_theirs(n):
    return {
        "softmax": (lambda a, w, b: ops.softmax(a), lambda a, w, b: torch.softmax(a, -1)),
        "softmax of columns": (lambda a, w, b: ops.softmax(a, 0), lambda a, w, b: torch.softmax(a, 0)),
        "log_softmax": (lambda a, w, b: ops.log_softmax(a), lambda a, w, b: torch.log_softmax(a, -1)),
        "rms_norm": (
            lambda a, w, b: ops.rms_norm(a, w, 0.1),
            lambda a, w, b: a / torch.sqrt((a * a).mean(-1, True) + 0.1) * w,
        ),
        "layer_norm": (
            lambda a, w, b: ops.layer_norm(a, w, b, 0.1),
            lambda a, w, b: F.layer_norm(a, (n,), w, b, 0.1),
        ),
    }


CASES = tuple(ours_and_theirs(1))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_values_and_gradients(case, dtype, place):
    if dtype == torch.bfloat16:
        pytest.importorskip("ml_dtypes")
    found = []
    for function, kind in zip(ours_and_theirs(33)[case], (dtype, torch.float64), strict=True):
        inputs = [
            draw(*shape, place=place, dtype=dtype, seed=i).to(kind)
            for i, shape in enumerate(((2, 7, 33), (33,), (33,)))
        ]
        inputs = [each.detach().requires_grad_() for each in inputs]
        result = function(*inputs)
        weights = draw(2, 7, 33, place=place, dtype=dtype, seed=9).to(kind)
        (result * weights).sum().backward()
        found.append([result, *(each.grad for each in inputs if each.grad is not None)])
    tolerance = 8 * torch.finfo(dtype).eps
    assert len(found[0]) == len(found[1])
    for got, wanted in zip(*found, strict=True):
        assert got.dtype == dtype
        scale = wanted.detach().abs().max().item()
        torch.testing.assert_close(got.double(), wanted, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("case", CASES)
def test_gradcheck(case, place, full):
    function, _ = ours_and_theirs(4)[case]
    inputs = (
        draw(3, 4, place=place, grad=True),
        draw(4, place=place, seed=1, grad=True),
        draw(4, place=place, seed=2, grad=True),
    )
    used = {"rms_norm": 2, "layer_norm": 3}.get(case, 1)
    call = lambda *given: function(*given, *inputs[used:])  # noqa: E731
    assert torch.autograd.gradcheck(call, inputs[:used])
    assert torch.autograd.gradgradcheck(call, inputs[:used])


def test_opcheck(place, full):
    a, w = (
        draw(3, 4, place=place, dtype=torch.float32, grad=True),
        draw(4, place=place, dtype=torch.float32, seed=1, grad=True),
    )
    for name, arguments in (
        ("softmax", (a, 0)),
        ("log_softmax", (a,)),
        ("rms_norm", (a, w, 0.1)),
        ("rms_norm", (a,)),
        ("layer_norm", (a, w, w.detach().clone().requires_grad_(), 0.1)),
        ("layer_norm", (a.T,)),
        ("exact_sum", (a, [0], True)),
        ("softmax", (torch.zeros(0, 3, device=place),)),
    ):
        torch.library.opcheck(getattr(torch.ops.gpureduce, name).default, arguments)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.gpu)])
def test_a_compiled_function(backend, place, full):
    def model(a, w, b):
        return ops.softmax(ops.layer_norm(ops.rms_norm(a, w) + a, w, b)).square().sum()

    torch._dynamo.reset()
    run, found = torch.compile(model, fullgraph=True, backend=backend), []
    for function in (model, run):
        inputs = [
            draw(*shape, place=place, seed=i, grad=True) for i, shape in enumerate(((5, 12), (12,), (12,)))
        ]
        result = function(*inputs)
        result.backward()
        found.append([result.detach(), *(each.grad for each in inputs)])
    for got, wanted in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted)


def test_gradient_of_a_row_depends_on_the_row(place):
    w = draw(500, place=place, dtype=torch.float32, seed=5, grad=True)
    whole, above = (draw(9, 500, place=place, dtype=torch.float32, seed=i) for i in (1, 2))
    for function in (
        ops.softmax,
        ops.log_softmax,
        lambda a: ops.rms_norm(a, w),
        lambda a: ops.layer_norm(a, w, w),
    ):
        found = []
        for rows in (slice(0, 9), slice(3, 5)):
            a = whole[rows].clone().requires_grad_()
            (grad,) = torch.autograd.grad(function(a), a, above[rows])
            found.append(grad)
        assert torch.equal(found[0][3:5], found[1])


def test_order_of_rows_is_free_in_gradients_of_weights(place):
    found = []
    for order in (slice(None), torch.randperm(40, generator=torch.Generator().manual_seed(1)).to(place)):
        w = draw(60, place=place, dtype=torch.float32, seed=5, grad=True)
        b = w.detach().clone().requires_grad_()
        a, above = (draw(40, 60, place=place, dtype=torch.float32, seed=i)[order] for i in (1, 2))
        found.append(torch.autograd.grad(ops.layer_norm(a, w, b), (w, b), above))
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("compiled", [False, True])
def test_residual(compiled, place, full):
    def block(a, residual, w):
        return ops.rms_norm(a, w, residual=residual) * 2, residual + 1

    torch._dynamo.reset()
    run = torch.compile(block, fullgraph=True, backend="aot_eager") if compiled else block
    a, residual = (draw(2, 3, 40, place=place, dtype=torch.float32, seed=i) for i in (1, 2))
    w, sums = draw(40, place=place, dtype=torch.float32, seed=3), a + residual
    with torch.no_grad():
        got, more = run(a, residual, w)
    assert torch.equal(got, ops.rms_norm(sums, w) * 2)
    assert torch.equal(residual, sums) and torch.equal(more, sums + 1)
    torch.library.opcheck(torch.ops.gpureduce.add_rms_norm.default, (a, residual, w))
    with pytest.raises(ValueError, match="residual: gets the sums in place"):
        ops.rms_norm(a.requires_grad_(), residual=residual)
    with pytest.raises(TypeError, match="residual: expected"):
        ops.rms_norm(a.detach(), residual=residual.double())


def test_a_number_is_a_line(place):
    """As in PyTorch, a 0-d tensor has axes 0 and -1."""
    a = torch.tensor(3.0, device=place, requires_grad=True)
    for name in ("softmax", "log_softmax"):
        for axis in (0, -1):
            want, got = getattr(torch, name)(a, axis), getattr(ops, name)(a, axis)
            assert got.shape == () and got.item() == want.item()
            assert torch.autograd.grad(got, a)[0].item() == 0
        with pytest.raises(ValueError, match="out of bounds"):
            getattr(ops, name)(a, 1)


def test_refused(place):
    a = torch.ones(2, 3, device=place)
    for call, error, message in (
        (lambda: ops.softmax(a.int()), TypeError, "a: softmax takes torch.float16"),
        (lambda: ops.softmax(a, 2), ValueError, "axis 2 is out of bounds"),
        (lambda: ops.softmax(a, None), TypeError, "axis: expected"),
        (lambda: ops.softmax(a, 0, dim=0), TypeError, "dim: PyTorch's name of axis"),
        (lambda: ops.log_softmax(a, dim=(0, 1)), TypeError, "axis: expected"),
        (lambda: ops.softmax([1.0]), TypeError, "a: expected a torch.Tensor"),
        (lambda: ops.rms_norm(a, a[0].double()), TypeError, "weight: expected the dtype of a"),
        (lambda: ops.rms_norm(a, a[0, :2]), RuntimeError, "weight: expected shape"),
        (lambda: ops.layer_norm(a, None, 1), TypeError, "bias: expected a torch.Tensor"),
    ):
        with pytest.raises(error, match=message):
            call()


# batch_invariant()

X = (6, 40)


def routed_calls(place, dtype=torch.float32):
    b = draw(40, 24, place=place, dtype=dtype, seed=3)
    w = draw(40, place=place, dtype=dtype, seed=4)
    return {
        "sum": lambda a: a.sum(-1),
        "sum of all": lambda a: a.sum(),
        "sum of integers": lambda a: (a * 8).int().sum(0, keepdim=True),
        "sum in the dtype of the call": lambda a: (a * 8).int().sum(0, dtype=torch.int16),
        "mean": lambda a: a.mean((0, 1), keepdim=True),
        "var": lambda a: a.var(-1),
        "var of all": lambda a: a.var(correction=0, keepdim=True),
        "std": lambda a: torch.std(a, 1),
        "var_mean": lambda a: torch.stack(torch.var_mean(a, 1)),
        "var of complex numbers": lambda a: torch.complex(a, a.flip(0)).var(1),
        "var_mean of complex numbers": lambda a: torch.view_as_real(
            sum(torch.var_mean(torch.complex(a, a.flip(0)), 1))
        ),
        "mm": lambda a: a @ b,
        "bmm": lambda a: torch.bmm(a[None], b[None]),
        "addmm": lambda a: torch.addmm(b[0], a, b, beta=0.5, alpha=2),
        "baddbmm": lambda a: torch.baddbmm(b[None, :1], a[None], b[None]),
        "linear": lambda a: F.linear(a, b.T, b[0]),
        "softmax": lambda a: torch.softmax(a, -1),
        "softmax of columns": lambda a: torch.softmax(a, 0),
        "softmax of a number": lambda a: torch.softmax(a[0, 0], 0) * a[0, 0],
        "log_softmax": lambda a: torch.log_softmax(a, -1),
        "log_softmax of a number": lambda a: torch.log_softmax(a[0, 0], -1) + a[0, 0],
        "layer_norm": lambda a: F.layer_norm(a, (40,), w, w),
        "layer_norm of axes": lambda a: F.layer_norm(a.view(2, 3, 8, 5), (8, 5), w.view(8, 5)),
        "layer_norm of no columns": lambda a: F.layer_norm(a[:, :0], (0,), w[:0], w[:0]),
        "layer_norm of no rows": lambda a: F.layer_norm(a[:0], (40,), w, w),
        "rms_norm": lambda a: F.rms_norm(a, (40,), w) if hasattr(F, "rms_norm") else a,
        "cross entropy": lambda a: F.cross_entropy(a, torch.arange(len(a), device=a.device)),
    }


@pytest.mark.parametrize("name", tuple(routed_calls("cpu")))
def test_routed_operators_and_their_gradients(name, place):
    """Within the errors of float32 the results are PyTorch's."""
    call, found = routed_calls(place)[name], []
    for context in (contextlib.nullcontext, ops.batch_invariant):
        a = draw(*X, place=place, dtype=torch.float32, seed=1, grad=True)
        with context():
            result = call(a)
            grad = None
            if result.requires_grad:
                (grad,) = torch.autograd.grad(
                    result, a, draw(*result.shape, place=place, dtype=torch.float32, seed=2)
                )
        found.append((result.detach(), grad))
    (theirs, of_theirs), (ours, of_ours) = found
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert (of_ours is None) == (of_theirs is None)
    if of_ours is not None:
        torch.testing.assert_close(of_ours, of_theirs, rtol=1e-4, atol=1e-4)


def test_empty_tensors_of_any_dtype_have_softmax(place):
    with ops.batch_invariant():
        for dtype in (torch.int32, torch.complex64, torch.float32):
            a = torch.empty((0, 3), dtype=dtype, device=place)
            for function in (torch.softmax, torch.log_softmax):
                result = function(a, 1)
                assert result.shape == (0, 3) and result.dtype == dtype
                with pytest.raises(IndexError):
                    function(a, 2)


def test_routes_end(place):
    """Ours are called in the with statement alone, also after an error, and nested."""
    a = draw(3, 50, place=place, dtype=torch.float32)
    runs = gpureduce._core.runs

    def is_ours():
        before = runs()
        torch.softmax(a, -1)
        return runs() > before

    assert not is_ours()
    with ops.batch_invariant():
        assert is_ours()
        with ops.batch_invariant():
            assert is_ours()
        assert is_ours()
    assert not is_ours()
    with contextlib.suppress(ZeroDivisionError), ops.batch_invariant():
        raise ZeroDivisionError
    assert not is_ours()


class Block(torch.nn.Module):
    """A transformer block with a head: attention, norms, a feed-forward network."""

    def __init__(self, width=32, heads=2):
        super().__init__()
        generator = torch.Generator().manual_seed(7)
        sizes = {
            "qkv": (width, 3 * width),
            "up": (width, 2 * width),
            "down": (2 * width, width),
            "head": (width, 50),
        }
        self.weights = torch.nn.ParameterDict(
            {key: torch.randn(size, generator=generator) / size[0] ** 0.5 for key, size in sizes.items()}
        )
        self.norm, self.heads = torch.nn.LayerNorm(width), heads

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            (self.norm(x) @ self.weights["qkv"]).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        shares = torch.softmax(q @ k.transpose(-1, -2) / (width / self.heads) ** 0.5, -1)
        x = x + (shares @ v).transpose(1, 2).reshape(batch, tokens, width)
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        x = x + F.silu((x * scale) @ self.weights["up"]) @ self.weights["down"]
        return torch.log_softmax(self.norm(x) @ self.weights["head"], -1)


def logits_and_gradient(model, x):
    x = x.clone().requires_grad_()
    logits = model(x)
    (grad,) = torch.autograd.grad(logits[..., 3].sum(), x)
    return logits.detach(), grad


@pytest.mark.parametrize("compiled", [False, True])
def test_a_prompt_alone_and_in_a_batch(compiled, place, full):
    """A transformer block gives a prompt the same logits and gradients alone and in a batch of 64."""
    model = Block().to(place)
    if compiled:
        if not hasattr(torch.compiler, "set_stance"):
            pytest.skip("this PyTorch has no stances")
        torch._dynamo.reset()
        model = torch.compile(model, backend="aot_eager")
    x = draw(64, 11, 32, place=place, dtype=torch.float32, seed=3)
    with ops.batch_invariant():
        whole = logits_and_gradient(model, x)
        for first, end in ((0, 1), (5, 6), (30, 37)):
            for part, of in zip(logits_and_gradient(model, x[first:end]), whole, strict=True):
                assert torch.equal(part, of[first:end])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_prompt_depends_on_its_batch_without_the_mode(compiled, dtype, place, full):
    """What `batch_invariant` is for: matrix products of PyTorch take other kernels for other batches."""
    if torch.device(place).type != "cuda":
        pytest.skip("needs --device=cuda")
    torch._dynamo.reset()
    model = Block(512, 8).to(place, dtype)
    model = torch.compile(model) if compiled else model
    x = draw(64, 64, 512, place=place, dtype=dtype, seed=3)
    parts, whole = logits_and_gradient(model, x[:1]), logits_and_gradient(model, x)
    if dtype == torch.float32:  # the roundings of bfloat16 hide the other order of a sum now and then
        assert not all(torch.equal(part, of[:1]) for part, of in zip(parts, whole, strict=True))
    with ops.batch_invariant():
        parts, whole = logits_and_gradient(model, x[:1]), logits_and_gradient(model, x)
    assert all(torch.equal(part, of[:1]) for part, of in zip(parts, whole, strict=True))


def test_compiled_code_does_not_enter(place, full):
    torch._dynamo.reset()

    def enters(a):
        with ops.batch_invariant():
            return torch.softmax(a, -1)

    a = draw(3, 4, place=place, dtype=torch.float32)
    with pytest.raises(Exception, match="batch_invariant"):
        torch.compile(enters, fullgraph=True, backend="aot_eager")(a)
