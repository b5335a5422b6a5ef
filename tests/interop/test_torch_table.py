"""Every function of gpureduce.torch on meta tensors, compiled, in batches, differentiated, and in autocast.

`CALLS` is the table: one call of each function, and what it supports. The other tests of PyTorch compare
results and gradients; these show that no function lacks anything.
"""

import inspect
from pathlib import Path
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch", minversion="2.5")

import gpureduce.torch as ops  # noqa: E402
from gpureduce._torch import sharding  # noqa: E402
from tests.interop import (  # noqa: E402
    test_torch_catalogue,
    test_torch_groups,
    test_torch_masked,
    test_torch_normalize,
    test_torch_ops,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("error:There is a performance drop:UserWarning"),  # of vmap without a rule
    pytest.mark.filterwarnings("ignore:.torch.jit.script.:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]


class Call(NamedTuple):
    """A call on a tensor of shape (3, 4), and what it supports."""

    function: object
    gradient: bool = True


def labels(a):
    return torch.tensor([1, 0, 1], device=a.device)


def offsets(a):
    return torch.tensor([0, 1, 3], device=a.device)


def axis_call(name, **options):
    return Call(lambda a: getattr(ops, name)(a, 1), **options)


REDUCTIONS = ("sum", "prod", "mean", "max", "min", "norm", "logsumexp", "median", "var", "std", "moments")
NANS = ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nanmedian", "fmax", "fmin")
POSITIONS = ("argmax", "argmin", "nanargmax", "nanargmin", "all", "any", "count_nonzero")
LINES = ("cumsum", "cumprod", "nancumsum", "nancumprod", "cummax", "cummin", "sort", "softmax", "log_softmax")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
CALLS = {
    **{name: axis_call(name) for name in (*REDUCTIONS, *NANS, *LINES)},
    **{name: axis_call(name, gradient=False) for name in (*POSITIONS, "argsort")},
    **{
        name: Call(lambda a, name=name: getattr(ops, name)((a * 4).long(), 1), gradient=False)
        for name in BITS
    },
    "quantile": Call(lambda a: ops.quantile(a, [0.3, 0.5], 1)),
    "nanquantile": Call(lambda a: ops.nanquantile(a, [0.3, 0.5], 1)),
    "topk": Call(lambda a: ops.topk(a, 2, 0)),
    "dot": Call(lambda a: ops.dot(a[0], a[1])),
    "matmul": Call(lambda a: ops.matmul(a, a.mT)),
    "conv2d": Call(lambda a: ops.conv2d(a[None], a[None, None, :2, :2])),
    "rms_norm": Call(lambda a: ops.rms_norm(a, a[0], 0.1)),
    "layer_norm": Call(lambda a: ops.layer_norm(a, a[0], a[1], 0.1)),
    "index_add": Call(lambda a: ops.index_add(torch.zeros_like(a[:2]), 0, labels(a), a)),
    "scatter_add": Call(
        lambda a: ops.scatter_add(torch.zeros_like(a[:2]), 0, labels(a)[:, None].expand(3, 4), a)
    ),
    "scatter_reduce": Call(
        lambda a: ops.scatter_reduce(torch.zeros_like(a[:2]), 0, labels(a)[:, None].expand(3, 4), a, "mean")
    ),
    "segment_reduce": Call(lambda a: ops.segment_reduce(a, "sum", offsets=offsets(a), unsafe=True)),
    "group_softmax": Call(lambda a: ops.group_softmax(a, labels(a), 2)),
    "group_log_softmax": Call(lambda a: ops.group_log_softmax(a, labels(a), 2)),
    "bincount": Call(lambda a: ops.bincount(labels(a), a[:, 0], size=3), gradient=False),
    "histogram": Call(lambda a: ops.histogram(a, 3, (-3, 3)), gradient=False),
    "unique_counts": Call(lambda a: ops.unique_counts(a, size=5), gradient=False),
}
MASKED = tuple(name for name in CALLS if "where" in inspect.signature(getattr(ops, name)).parameters)
# Types of results, and functions that return no result of a tensor.
OTHERS = {"Cumulative", "Histogram", "Sorted", "batch_invariant", "clip_grad_norm_", "deterministic"}
HAVE_AXIS = ("segment_reduce", "group_softmax", "group_log_softmax")  # PyTorch's name, or no such function


PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pytorch-operators.md"


@pytest.fixture
def place(device):
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def elements(place, dtype=torch.float64):
    """Numbers that are not equal and not near zero."""
    return (torch.tensor([7, -3, 5, 10, 2, -6, 9, -8, 4, -1, 11, 12]).reshape(3, 4) / 5).to(place, dtype)


def tensors(result):
    """Return the tensors of a result."""
    if isinstance(result, torch.Tensor):
        return (result,)
    return tuple(each for each in result if isinstance(each, torch.Tensor))


def test_the_table_has_every_function():
    assert set(CALLS) == set(ops.__all__) - OTHERS
    assert set(MASKED) == set(test_torch_masked.NAMES)


def test_the_page_has_every_function():
    types = ("Cumulative", "Histogram", "Sorted")
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in ops.__all__ if f"`{name}" not in text and name not in types] == []


def test_opcheck_has_every_operator(place):
    """Operators that the tests of opcheck name, and two that are checked here."""
    a, b = elements(place, torch.float32).requires_grad_()[:2]
    torch.library.opcheck(torch.ops.gpureduce.exact_dot.default, (a, b))
    rows, residual = elements(place, torch.float32), elements(place, torch.float32)
    torch.library.opcheck(torch.ops.gpureduce.add_rms_norm.default, (rows, residual, None, 0.1))
    of_others = [*test_torch_ops.THEIRS, *test_torch_ops.ONE_AXIS, *test_torch_ops.BITS]
    of_others += ["dot", "matmul", "conv2d", "group_reduce", "gather_rows", "segment_reduce"]
    of_others += ["softmax", "log_softmax", "rms_norm", "layer_norm", "exact_sum", "exact_dot"]
    of_others += [f"masked_{name}" for name in test_torch_masked.NAMES]
    assert set(sharding._operators) == {*test_torch_catalogue.EVERY, *of_others}
    assert test_torch_groups.test_opcheck and test_torch_normalize.test_opcheck


@pytest.mark.parametrize("name", CALLS)
def test_meta_tensors(name, place):
    function = CALLS[name].function
    for dtype in (torch.float32, torch.float64):
        real = tensors(function(elements(place, dtype)))
        meta = tensors(function(torch.empty(3, 4, dtype=dtype, device="meta")))
        assert [(each.shape, each.dtype) for each in meta] == [(each.shape, each.dtype) for each in real]


def test_one_compiled_program_has_them_all(place):
    def program(a):
        results = [each for call in CALLS.values() for each in tensors(call.function(a))]
        return results + [getattr(ops, name)(a, 1, where=a < 1) for name in MASKED]

    torch._dynamo.reset()
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    a = elements(place)  # compiled gradients are tested with the functions
    torch.testing.assert_close(compiled(a), program(a), rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_batches(name, place):
    function = CALLS[name].function
    batch = torch.stack([elements(place), elements(place).flip(1) * 2])
    got = tensors(torch.vmap(lambda a: tensors(function(a)))(batch))
    for result, wanted in zip(got, zip(*(tensors(function(a)) for a in batch), strict=True), strict=True):
        torch.testing.assert_close(result, torch.stack(wanted), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in CALLS if CALLS[name].gradient])
def test_gradcheck(name, place):
    def floats(a):
        return tuple(each for each in tensors(CALLS[name].function(a)) if each.is_floating_point())

    assert torch.autograd.gradcheck(floats, (elements(place).requires_grad_(),))


@pytest.mark.parametrize("name", [name for name in CALLS if not CALLS[name].gradient])
def test_functions_without_gradients(name, place):
    assert not any(
        each.requires_grad for each in tensors(CALLS[name].function(elements(place).requires_grad_()))
    )


@pytest.mark.parametrize("name", CALLS)
def test_autocast_returns_pytorchs_dtypes(name, place):
    """A float16 result where nothing is cast, float32 where it is; no function lacks a kernel."""
    kind = torch.device(place).type
    a = elements(place, torch.float16)
    with torch.autocast(kind, torch.float16):
        results = tensors(CALLS[name].function(a))
    assert {each.dtype for each in results if each.is_floating_point()} <= {
        torch.float16,
        torch.float32,
        torch.float64,
    }


@pytest.mark.parametrize("name", CALLS)
def test_pytorchs_names_of_arguments(name, place):
    parameters = inspect.signature(getattr(ops, name)).parameters
    if "axis" not in parameters or name in HAVE_AXIS:
        return
    others = {"quantile": ([0.5],), "nanquantile": ([0.5],), "topk": (2,)}.get(name, ())
    a = elements(place).long() if name in BITS else elements(place)
    function = getattr(ops, name)
    kept = ({"keepdims": True}, {"keepdim": True}) if "keepdims" in parameters else ({}, {})
    wanted, got = function(a, *others, axis=0, **kept[0]), function(a, *others, dim=0, **kept[1])
    for one, other in zip(tensors(got), tensors(wanted), strict=True):
        assert one.shape == other.shape and torch.equal(one, other)
