"""Transforms of torch.func and forward-mode derivatives of the operators, against PyTorch's own functions."""

import pytest

torch = pytest.importorskip("torch", minversion="2.5")

import gpureduce.torch as ops  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("error:There is a performance drop:UserWarning"),  # of vmap without a rule
    pytest.mark.filterwarnings("ignore:.torch.jit.script.:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]
LABELS = torch.tensor([1, 0, 1])
OFFSETS = torch.tensor([0, 2, 3])


def like_norm(a):
    return torch.nn.functional.rms_norm(a, a.shape[-1:], a.flatten()[: a.shape[-1]], 1e-3)


def layer_norm(a, kit):
    weight, bias = a.flatten()[: a.shape[-1]], a.flatten()[-a.shape[-1] :]
    if kit is torch:
        return torch.nn.functional.layer_norm(a, a.shape[-1:], weight, bias, 1e-3)
    return ops.layer_norm(a, weight, bias, 1e-3)


def added_groups(a):
    return torch.stack([a[1], a[0] + a[2]])


def added_segments(a):
    return torch.stack([a[0] * a[1], a[2]])


# Of a tensor of three rows of four elements: ours, and PyTorch's.
CASES = {
    "sum": (lambda a: ops.sum(a, 0), lambda a: a.sum(0)),
    "mean": (ops.mean, torch.mean),
    "prod": (lambda a: ops.prod(a, 1), lambda a: a.prod(1)),
    "max": (lambda a: ops.max(a, -1, True), lambda a: a.amax(-1, True)),
    "min": (lambda a: ops.min(a, (0, 1)), torch.amin),
    "softmax": (lambda a: ops.softmax(a, 0), lambda a: a.softmax(0)),
    "log_softmax": (lambda a: ops.log_softmax(a, 1), lambda a: a.log_softmax(1)),
    "rms_norm": (lambda a: ops.rms_norm(a, a.flatten()[: a.shape[-1]], 1e-3), like_norm),
    "layer_norm": (lambda a: layer_norm(a, ops), lambda a: layer_norm(a, torch)),
    "matmul": (lambda a: ops.matmul(a, a.mT), lambda a: a @ a.mT),
    "dot": (lambda a: ops.dot(a[0], a[1]), lambda a: a[0] @ a[1]),
    "conv2d": (
        lambda a: ops.conv2d(a[None], a[None, :, :2, None].reshape(1, 1, 3, 2), bias=a[0, :1]),
        lambda a: torch.nn.functional.conv2d(a[None], a[None, :, :2, None].reshape(1, 1, 3, 2), a[0, :1]),
    ),
    "index_add": (
        lambda a: ops.index_add(torch.zeros_like(a[:2]), 0, LABELS.to(a.device), a),
        added_groups,
    ),
    "segment_reduce": (
        lambda a: ops.segment_reduce(a, "prod", offsets=OFFSETS.to(a.device)),
        added_segments,
    ),
}
TRANSFORMS = {
    "vmap": lambda f, batch: torch.vmap(f)(batch),
    "vmap of another axis": lambda f, batch: torch.vmap(f, 1)(batch.movedim(0, 1)),
    "vmap of vmap": lambda f, batch: torch.vmap(torch.vmap(f))(torch.stack([batch, batch + 1])),
    "grad": lambda f, batch: torch.func.grad(lambda a: f(a).pow(2).sum())(batch[0]),
    "vjp": lambda f, batch: torch.func.vjp(f, batch[0])[1](torch.ones_like(f(batch[0])))[0],
    "jvp": lambda f, batch: torch.func.jvp(f, (batch[0],), (batch[1],))[1],
    "jacrev": lambda f, batch: torch.func.jacrev(f)(batch[0]),
    "jacfwd": lambda f, batch: torch.func.jacfwd(f)(batch[0]),
    "hessian": lambda f, batch: torch.func.hessian(lambda a: f(a).pow(3).sum())(batch[0]),
    "jacrev of grad": lambda f, batch: torch.func.jacrev(torch.func.grad(lambda a: f(a).pow(3).sum()))(
        batch[0]
    ),
    "vmap of grad": lambda f, batch: torch.vmap(torch.func.grad(lambda a: f(a).pow(2).sum()))(batch),
    "grad of vmap": lambda f, batch: torch.func.grad(lambda b: torch.vmap(f)(b).pow(2).sum())(batch),
}


@pytest.fixture
def place(device):
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def batch_of(place, count=2):
    values = torch.randn(count, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    return values.to(place)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("op", CASES)
def test_transforms_are_those_of_pytorchs_functions(op, transform, place):
    ours, theirs = CASES[op]
    apply, batch = TRANSFORMS[transform], batch_of(place)
    if transform == "vmap of vmap" and op in ("index_add", "segment_reduce"):
        pytest.skip("PyTorch's functions around the operator have no such rule")
    # PyTorch 2.15 returns another Hessian of layer_norm in forward mode than in reverse mode.
    wanted = TRANSFORMS["jacrev of grad" if transform == "hessian" else transform](theirs, batch)
    torch.testing.assert_close(apply(ours, batch), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("op", CASES)
def test_forward_mode_is_the_derivative(op, place):
    a = batch_of(place)[0].requires_grad_()
    batched = op != "conv2d"  # whose gradient in PyTorch has no rule there
    assert torch.autograd.gradcheck(CASES[op][0], (a,), check_forward_ad=True, check_batched_grad=batched)


@pytest.mark.parametrize("op", ["argmax", "any", "count_nonzero", "argmin"])
def test_operators_without_a_gradient_in_batches(op, place):
    batch = batch_of(place).round()
    for axis in (None, 0, -1):
        for keepdims in (False, True):
            got = torch.vmap(lambda a, axis=axis, keep=keepdims: getattr(ops, op)(a, axis, keep))(batch)
            wanted = torch.stack([getattr(ops, op)(a, axis, keepdims) for a in batch])
            assert torch.equal(got, wanted)


def test_batches_of_several_arguments(place):
    """Rows with weights, and labels, that differ from element to element."""
    batch, weights = batch_of(place), batch_of(place)[:, 0]
    got = torch.vmap(ops.rms_norm)(batch, weights)
    assert torch.equal(got, torch.stack([ops.rms_norm(*each) for each in zip(batch, weights, strict=True)]))
    labels = torch.tensor([[0, 1, 1], [1, 0, 0]], device=place)
    reduce = torch.ops.gpureduce.group_reduce
    got = torch.vmap(lambda a, index: reduce(a, index, "sum", 2))(batch, labels)
    assert torch.equal(
        got, torch.stack([reduce(*each, "sum", 2) for each in zip(batch, labels, strict=True)])
    )
    got = torch.vmap(ops.matmul, (0, None))(batch, batch[0].mT)
    assert torch.equal(got, ops.matmul(batch, batch[0].mT))


def test_an_empty_batch(place):
    empty = batch_of(place, 0)
    assert torch.vmap(lambda a: ops.sum(a, 0))(empty).shape == (0, 4)
    assert torch.vmap(lambda a: ops.dot(a[0], a[1]))(empty).shape == (0,)


def test_second_forward_derivatives_are_refused(place):
    a = batch_of(place)[0]
    with pytest.raises(NotImplementedError, match="hessian"):
        torch.func.jacfwd(torch.func.jacfwd(lambda x: ops.prod(x, 1)))(a)
