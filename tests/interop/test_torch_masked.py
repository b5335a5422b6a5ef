"""Reductions of the elements that `where=` selects: results are those of the selected elements alone."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.5")

import gpureduce  # noqa: E402
import gpureduce.torch as ops  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("error:There is a performance drop:UserWarning"),  # of vmap without a rule
    pytest.mark.filterwarnings("ignore:.torch.jit.script.:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning"),
]
FLOATS = ("sum", "prod", "mean", "var", "std")
NAMES = (*FLOATS, "all", "any")


@pytest.fixture
def place(device):
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def elements(place, dtype=torch.float64, shape=(3, 4, 5)):
    """Numbers that cancel in part and spread over exponents; a zero, and what masks leave out: NaN."""
    draw = np.random.default_rng(4)
    values = draw.standard_normal(shape) * 10.0 ** draw.integers(-2, 3, shape)
    values[1] = -values[0] * (1 + draw.integers(0, 2, shape[1:]) / 64)
    where = draw.random(shape) < 0.6
    values[where & (draw.random(shape) < 0.1)] = 0
    values[~where] = np.nan
    return torch.from_numpy(values).to(place, dtype), torch.from_numpy(where).to(place)


def alone(name, a, where, axis, keepdims, **options):
    """The result of PyTorch, row by row of the selected elements."""
    axes = tuple(range(a.ndim)) if axis is None else tuple(each % a.ndim for each in np.atleast_1d(axis))
    kept = [each for each in range(a.ndim) if each not in axes]
    shape = [a.shape[each] for each in kept]
    rows, masks = (
        each.permute(*kept, *axes).reshape(-1, a.numel() // max(np.prod(shape, dtype=int), 1))
        for each in (a, where)
    )
    results = torch.stack(
        [getattr(torch, name)(row[mask], **options) for row, mask in zip(rows, masks, strict=True)]
    )
    if keepdims:
        shape = [1 if each in axes else length for each, length in enumerate(a.shape)]
    return results.reshape(shape)


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_selected_elements(name, place):
    a, where = elements(place)
    for axis, keepdims in ((None, False), (1, True), ((0, -1), False), (2, False)):
        got, wanted = (
            getattr(ops, name)(a, axis, keepdims=keepdims, where=where),
            alone(name, a, where, axis, keepdims),
        )
        torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12, equal_nan=True)
    named = getattr(ops, name)(a, dim=1, keepdim=True, where=where)
    torch.testing.assert_close(named, getattr(ops, name)(a, 1, keepdims=True, where=where), equal_nan=True)


def test_results_have_the_bits_of_the_functions(place):
    a, where = elements(place, torch.float32, (3, 40, 50))
    for name in ("sum", "mean", "var"):
        options = {"correction": 1} if name == "var" else {}
        wanted = getattr(gpureduce, name)(a, 1, where=where, **options)
        got = getattr(ops, name)(a, 1, where=where)
        np.testing.assert_array_equal(got.cpu(), torch.from_dlpack(wanted).cpu())


def test_dtypes_masks_and_no_elements(place):
    a, where = elements(place)
    for dtype in (torch.bool, torch.uint8, torch.int32, torch.float16, torch.complex64):
        b = torch.nan_to_num(a, 1).to(dtype)
        for name in ("sum", "prod", "any"):
            got, wanted = getattr(ops, name)(b, 1, where=where), alone(name, b, where, 1, False)
            assert got.dtype == (torch.bool if name == "any" else wanted.dtype)
            if name == "sum" and dtype != torch.float16:
                torch.testing.assert_close(got, wanted)
    assert ops.sum(a.nan_to_num(), 1, torch.float32, where=where).dtype == torch.float32
    row = where[0, 0]
    assert torch.equal(ops.sum(a.nan_to_num(), where=row), ops.sum(a.nan_to_num(), where=row.expand(a.shape)))
    none = torch.zeros_like(where)
    assert ops.sum(a, 1, where=none).eq(0).all() and ops.prod(a, where=none) == 1
    assert ops.mean(a, 1, where=none).isnan().all() and ops.all(a, where=none) and not ops.any(a, where=none)
    exact = ops.sum(a, where=where, exact=True)
    assert exact.item() == gpureduce.fsum(a[where].cpu().numpy(), device="sim")


@pytest.mark.parametrize("name", FLOATS)
def test_gradients_and_batches(name, place):
    a, where = elements(place, shape=(3, 2, 5))
    a = torch.where(where, a.clamp(-3, 3), 1.5).requires_grad_()
    function = lambda a: getattr(ops, name)(a, (0, 2), where=where)  # noqa: E731
    assert torch.autograd.gradcheck(function, (a,), check_forward_ad=True)
    if name != "prod":  # of which PyTorch's gradient has no batching rule
        assert torch.autograd.gradgradcheck(function, (a,))
    batch = torch.stack([a.detach(), 2 * a.detach()])
    torch.testing.assert_close(torch.vmap(function)(batch), torch.stack([function(b) for b in batch]))
    masks = torch.stack([where, ~where])
    both = torch.vmap(lambda a, where: getattr(ops, name)(a, 1, where=where))(batch, masks)
    wanted = [getattr(ops, name)(b, 1, where=mask) for b, mask in zip(batch, masks, strict=True)]
    torch.testing.assert_close(both, torch.stack(wanted), equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name, place):
    a, where = elements(place, torch.float32)
    a = a.nan_to_num().requires_grad_(name in FLOATS)
    torch.library.opcheck(getattr(torch.ops.gpureduce, f"masked_{name}").default, (a, where, [0, 1], True))


def test_errors_name_the_argument(place):
    a = torch.ones(2, 3, device=place)
    for where, error, message in (
        (True, TypeError, "where: expected a torch.Tensor, got bool"),
        (torch.ones(2, 3, device=place), TypeError, "where: expected torch.bool, got torch.float32"),
        (
            torch.ones(2, dtype=torch.bool, device=place),
            ValueError,
            "where: expected a shape that broadcasts",
        ),
        (
            torch.ones(2, 3, dtype=torch.bool, device="meta"),
            TypeError,
            "where: must be in the same memory as a",
        ),
    ):
        with pytest.raises(error, match=message):
            ops.sum(a, where=where)
    with pytest.raises(TypeError, match="exact: a mean of selected elements"):
        ops.mean(a, where=a > 0, exact=True)
