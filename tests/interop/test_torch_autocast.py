"""The operators under `torch.autocast` return the dtypes of PyTorch's own functions."""

import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce.torch as ops  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]
layer_norm = torch.nn.functional.layer_norm
# Ours, and PyTorch's, of a matrix.
CASES = {
    "sum": (lambda a: ops.sum(a, 0), lambda a: a.sum(0)),
    "mean": (lambda a: ops.mean(a, 0), lambda a: a.mean(0)),
    "prod": (lambda a: ops.prod(a, 0), lambda a: a.prod(0)),
    "max": (lambda a: ops.max(a, 0), lambda a: a.amax(0)),
    "cumsum": (lambda a: ops.cumsum(a, 0), lambda a: a.cumsum(0)),
    "cumprod": (lambda a: ops.cumprod(a, 0), lambda a: a.cumprod(0)),
    "norm": (lambda a: ops.norm(a, 0), lambda a: torch.linalg.vector_norm(a, 2, 0)),
    "logsumexp": (lambda a: ops.logsumexp(a, 0), lambda a: a.logsumexp(0)),
    "softmax": (lambda a: ops.softmax(a, 0), lambda a: a.softmax(0)),
    "log_softmax": (lambda a: ops.log_softmax(a, 0), lambda a: a.log_softmax(0)),
    "layer_norm": (ops.layer_norm, lambda a: layer_norm(a, a.shape[-1:])),
    "var": (lambda a: ops.var(a, 0), lambda a: a.var(0)),
    "topk": (lambda a: ops.topk(a, 2)[0], lambda a: a.topk(2)[0]),
    "matmul": (lambda a: ops.matmul(a, a), lambda a: a @ a),
    "dot": (lambda a: ops.dot(a[0], a[1]), lambda a: torch.dot(a[0], a[1])),
    "conv2d": (
        lambda a: ops.conv2d(a[None, None], a[None, None]),
        lambda a: torch.nn.functional.conv2d(a[None, None], a[None, None]),
    ),
}


@pytest.fixture
def kind(device):
    return "cpu" if device == "sim" else "cuda"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", CASES)
def test_dtypes_are_pytorchs(name, dtype, kind):
    if kind == "cpu":
        pytest.importorskip("ml_dtypes")
    a = torch.rand(6, 6, device=kind, generator=torch.Generator(kind).manual_seed(1)).to(dtype)
    ours, theirs = CASES[name]
    with torch.autocast(kind, torch.bfloat16):
        got, wanted = ours(a), theirs(a)
    assert got.dtype == wanted.dtype
    torch.testing.assert_close(got.float(), wanted.float(), rtol=2e-2, atol=2e-2)


def test_factors_of_two_dtypes_are_cast(kind):
    a = torch.rand(4, 4, device=kind)
    with torch.autocast(kind, torch.float16):
        assert ops.matmul(a, a.half()).dtype == torch.float16
        if kind == "cuda":
            assert ops.dot(a[0], a[0].half()).dtype == torch.float32
            assert ops.sum(torch.full((100_000,), 2.0, device=kind).half()).item() == 200_000
    with pytest.raises(TypeError, match=r"^b: "):
        ops.matmul(a, a.half())


def test_gradients_have_the_dtype_of_the_argument(kind):
    a = torch.rand(4, 4, device=kind, requires_grad=True)
    with torch.autocast(kind, torch.float16):
        result = ops.prod(ops.matmul(a, a), 1)
    assert result.dtype == torch.float32
    result.sum().backward()
    assert a.grad.dtype == torch.float32
