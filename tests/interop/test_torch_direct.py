"""Calls of operators on GPU tensors that leave out PyTorch's dispatcher give what the operators give."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import gpureduce.torch  # noqa: E402
from gpureduce._torch import catalogue, direct, operators  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
REDUCTIONS = ("sum", "prod", "mean", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.uint8, torch.bool)
AXES = ((-1, False), (0, True), (None, False), ((0, 2), False))
ops = torch.ops.gpureduce


def elements(dtype, shape=(5, 3, 70)):
    """Elements that cancel and spread over exponents."""
    generator = torch.Generator().manual_seed(45)
    x = torch.randn(shape, generator=generator) * 2.0 ** torch.randint(-6, 7, shape, generator=generator)
    return x.to(dtype).cuda()


class Seen(TorchDispatchMode):
    """Counts the operators that are dispatched."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS + BITWISE)
def test_reductions(name, dtype):
    if name in BITWISE and dtype.is_floating_point:
        pytest.skip("of integers only")
    x, operator = elements(dtype), getattr(ops, name)
    for a in (x, x[:, ::2], x.transpose(0, 2)):
        for axis, keepdims in AXES[: 3 if name.startswith("arg") else 4]:
            got = getattr(gpureduce.torch, name)(a, axis, keepdims=keepdims)
            want = operator(a, axis, keepdims)
            assert got.dtype == want.dtype and got.shape == want.shape and got.device == want.device
            assert got.stride() == want.stride()
            assert torch.equal(got, want)


@pytest.mark.parametrize("name", [*catalogue._CORES, *catalogue._SCANS])
def test_statistics_and_scans(name):
    function = (catalogue.reductions | catalogue.scans)[name]
    operator = getattr(ops, name)
    dtypes = (torch.float32, torch.float16, torch.float64, torch.int32, torch.uint8)
    for dtype in dtypes[: 3 if name in ("logsumexp", "norm") else 5]:
        x = elements(dtype, (6, 5, 40))
        if dtype.is_floating_point and "nan" in name:
            x[x.abs() < 0.1] = torch.nan
        for a in (x, x[:, ::2], x.transpose(0, 2)):
            for axis in (0, 2):
                more = (True, 0.5) if name.endswith(("var", "std")) else ()
                got, want = function(a, axis, *more), operator(a, axis, *more)
                assert got.dtype == want.dtype and got.shape == want.shape
                assert torch.equal(got.nan_to_num(7), want.nan_to_num(7))
    r = elements(torch.float64, (3, 4)).abs().requires_grad_()
    if function(r, 1).requires_grad:
        assert torch.autograd.gradcheck(lambda a: function(a, 1), r)


@pytest.mark.parametrize("name", ["sum", "max", "nanmean", "any", "cumsum", "softmax", "sort", "topk"])
def test_names_of_pytorch(name):
    x, function = elements(torch.float64), getattr(gpureduce.torch, name)
    first = (3,) if name == "topk" else ()
    more = ({}, {"keepdim": True}) if name in ("sum", "max", "nanmean", "any") else ({},)
    for options in more:
        kept = {"keepdims": True} if options else {}
        found = []
        for named in ({"dim": 1, **options}, {"axis": 1, **kept}):
            r = x.clone().requires_grad_(name != "any")
            result = function(r, *first, **named)
            result = result[0] if isinstance(result, tuple) else result
            found.append((function(x, *first, **named), result))
            if result.requires_grad:
                result.square().sum().backward()
                found[-1] = (*found[-1], r.grad)
        for got, want in zip(*found, strict=True):
            pairs = zip(got, want, strict=True) if isinstance(got, tuple) else ((got, want),)
            assert all(torch.equal(*pair) for pair in pairs)
    with pytest.raises(TypeError, match=r"^dim: .* only one"):
        function(x, *first, axis=1, dim=1)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "any", "all"])
def test_masks(name):
    function, operator = getattr(gpureduce.torch, name), getattr(ops, f"masked_{name}")
    for dtype in (torch.float32, torch.float64, torch.int32, torch.uint8):
        x = elements(dtype)
        for a, where in ((x, x > 0), (x[:, ::2], x[:, ::2] > 1), (x, x[:, :1] > 0), (x, x > 1e9)):
            mask = where.expand(a.shape)
            for axis, keepdims in AXES:
                got, want = (
                    function(a, axis, keepdims=keepdims, where=where),
                    operator(a, mask, axis, keepdims),
                )
                assert got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
                torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    r, where = elements(torch.float64, (3, 4)).requires_grad_(), elements(torch.float64, (3, 4)) > -1
    if function(r, 1, where=where).requires_grad:
        assert torch.autograd.gradcheck(lambda a: function(a, 1, where=where), r)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_corrections(name):
    function, operator = getattr(gpureduce.torch, name), getattr(ops, name)
    for dtype in (torch.float32, torch.bfloat16, torch.int32):
        x = elements(dtype)
        assert torch.equal(function(x, 1), operator(x, 1, False, 1.0))
        for correction in (0, 1, 2.5, 0.0):
            assert torch.equal(
                function(x, 1, correction=correction), operator(x, 1, False, float(correction))
            )
        assert function(x[:1], 0).isnan().all()
    r = elements(torch.float64, (3, 5)).requires_grad_()
    assert torch.autograd.gradcheck(lambda a: function(a, 1, correction=2), r)
    with pytest.raises(TypeError, match=r"^correction:"):
        function(x, 1, correction=None)


def test_masks_that_the_core_does_not_take():
    x = elements(torch.float32)
    for where in (True, np.ones(x.shape, bool), gpureduce.to_device(np.ones(x.shape, bool))):
        with pytest.raises(TypeError, match=r"^where:"):
            gpureduce.torch.sum(x, where=where)
    with pytest.raises(TypeError, match=r"^exact:"):
        gpureduce.torch.mean(x, exact=True, where=x > 0)
    with pytest.raises(TypeError, match=r"^where:"):
        gpureduce.torch.sum(x, where=(x > 0).cpu())
    assert torch.equal(gpureduce.torch.sum(x, where=None), gpureduce.torch.sum(x))


def test_the_core_takes_plain_calls_and_no_others():
    x = elements(torch.float32)
    if direct._guards is None:
        pytest.skip("this PyTorch has no C functions for DLPack")
    function = direct.core_call("sum", ("a", "axis", "keepdims"), {"float32": torch.float32})
    assert torch.equal(function(x, 1, False), ops.sum(x, 1, False))
    with Seen() as seen:
        assert function(x, 1, False) is NotImplemented
        gpureduce.torch.sum(x, 1)
    assert seen.count == 1
    with torch.profiler.profile() as profile:
        gpureduce.torch.sum(x, 1)
    assert any(event.key == "gpureduce::sum" for event in profile.key_averages())
    with torch.autocast("cuda"):
        assert function(x, 1, False) is NotImplemented
    with torch.autograd.forward_ad.dual_level():
        assert function(x, 1, False) is NotImplemented
    assert function(x.cpu(), 1, False) is NotImplemented
    assert function(torch.nn.Parameter(x), 1, False) is NotImplemented
    assert function(x.clone().requires_grad_(), 1, False) is NotImplemented
    assert function(x.to(torch.complex64).conj(), 1, False) is NotImplemented
    with torch.no_grad():
        assert torch.equal(function(x.clone().requires_grad_(), 1, False), function(x, 1, False))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "min", "max"])
def test_gradients(name):
    x = elements(torch.float64, (3, 4, 5))
    operator, function = getattr(ops, name), getattr(gpureduce.torch, name)
    for axis, keepdims in ((1, False), (None, True), ((0, 2), False)):
        grads = []
        for call in (operator, function):
            r = x.clone().requires_grad_()
            result = call(r, axis=axis, keepdims=keepdims)
            assert result.requires_grad and result.grad_fn is not None
            (result * torch.arange(result.numel(), device="cuda").reshape(result.shape)).sum().backward()
            grads.append(r.grad)
        assert torch.equal(*grads)
    assert torch.autograd.gradcheck(lambda r: function(r, 1), x.requires_grad_())


RECORDED = {
    "sum": (1,),
    "mean": ((0, 1),),
    "logsumexp": (1,),
    "nansum": (0,),
    "fmax": (1,),
    "median": (1,),
    "norm": (1,),
    "var": (1,),
    "nanstd": (0, True),
    "softmax": (0,),
    "log_softmax": (),
    "cumsum": (1,),
    "cumprod": (-1,),
    "topk": (3,),
    "sort": (-1, True),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_calls_are_those_of_the_operator(name):
    x, args = elements(torch.float32, (6, 40)), RECORDED[name]
    function, operator = getattr(gpureduce.torch, name), getattr(ops, name)
    found = []
    for call in (function, operator):
        r = x.clone().requires_grad_()
        results = call(r, *args)
        first = results[0] if isinstance(results, tuple) else results
        assert first.requires_grad
        first.backward(torch.arange(first.numel(), device="cuda").view(first.shape).float())
        found.append((first.detach(), r.grad))
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_indices_of_tensors_that_require_gradients_have_none():
    r = elements(torch.float32, (6, 40)).requires_grad_()
    for name in ("argmax", "any", "count_nonzero", "argsort"):
        got = getattr(gpureduce.torch, name)(r, 1)
        assert not got.requires_grad
        assert torch.equal(got, getattr(ops, name)(r.detach(), 1))


def test_sorted_lines():
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int32, torch.uint8, torch.bool):
        x = elements(dtype)
        for a, axis in ((x, -1), (x, 1), (x[..., ::2], 2)):
            pairs = [(gpureduce.torch.topk(a, 2, axis), ops.topk(a, 2, axis, True, True))]
            for down in (False, True):
                pairs.append((gpureduce.torch.sort(a, axis, down), ops.sort(a, axis, down)))
                assert torch.equal(gpureduce.torch.argsort(a, axis, down), ops.argsort(a, axis, down))
            for got, want in pairs:
                assert torch.equal(got.values, want[0])
                assert torch.equal(got.indices, want[1])
    for name in ("cumsum", "cumprod"):
        for axis in (0, 1, 2):
            x = elements(torch.int32)
            assert torch.equal(getattr(gpureduce.torch, name)(x, axis), getattr(ops, name)(x, axis))


def test_rows_are_added_and_segments_reduced():
    x, index = elements(torch.float32, (40, 6)), (torch.arange(40, device="cuda") * 7) % 5
    offsets = torch.tensor([0, 3, 3, 40], device="cuda")
    start = elements(torch.float32, (5, 6))
    want = start + ops.group_reduce(x, index, "sum", 5, 0)
    assert torch.equal(gpureduce.torch.index_add(start, 0, index, x), want)
    assert torch.equal(gpureduce.torch.index_add(start.T, -1, index, x.T), want.T)
    r = start.clone().requires_grad_()
    gpureduce.torch.index_add(r, 0, index, x).sum().backward()
    assert torch.equal(r.grad, torch.ones_like(r))
    for wrong in (start[:, :5], start.double(), start.cpu()):
        with pytest.raises((TypeError, ValueError)):
            gpureduce.torch.index_add(wrong, 0, index, x)
    for reduce in ("sum", "mean", "max", "min", "prod"):
        got = gpureduce.torch.segment_reduce(x, reduce, offsets=offsets, unsafe=True)
        assert torch.equal(got.nan_to_num(9), ops.segment_reduce(x, offsets, reduce, 0).nan_to_num(9))
    with pytest.raises(ValueError, match="reduce"):
        gpureduce.torch.segment_reduce(x, "any", offsets=offsets, unsafe=True)


def test_host_tensors_have_gradients_beside_a_gpu():
    for name in ("sum", "max"):
        x = elements(torch.float64, (3, 4)).cpu().requires_grad_()
        assert torch.autograd.gradcheck(lambda r, name=name: getattr(gpureduce.torch, name)(r, 1), x)
    x, y = (elements(torch.float64, shape).cpu().requires_grad_() for shape in ((3, 4), (4, 2)))
    assert torch.autograd.gradcheck(gpureduce.torch.matmul, (x, y))


def test_gradients_of_pairs():
    x, y = elements(torch.float64, (6, 7)).requires_grad_(), elements(torch.float64, (7, 5))
    assert torch.autograd.gradcheck(gpureduce.torch.matmul, (x, y.requires_grad_()))
    assert torch.autograd.gradcheck(gpureduce.torch.dot, (x[0], y[:, 0]))
    result = gpureduce.torch.matmul(x.detach(), y)
    assert result.requires_grad


def test_normalized_rows():
    x = elements(torch.float16, (6, 5, 64))
    weight, bias = (torch.nn.Parameter(elements(torch.float16, (64,))) for _ in range(2))
    pairs = (
        (gpureduce.torch.softmax(x, 1), ops.softmax(x, 1)),
        (gpureduce.torch.log_softmax(x), ops.log_softmax(x, -1)),
        (gpureduce.torch.rms_norm(x, weight), ops.rms_norm(x, weight, 1e-6)),
        (gpureduce.torch.layer_norm(x, weight, bias), ops.layer_norm(x, weight, bias, 1e-5)),
    )
    for got, want in pairs:
        assert torch.equal(got, want)
        assert got.requires_grad == want.requires_grad
    with torch.no_grad():
        sums = [x.flip(0).contiguous() for _ in range(2)]
        version = sums[0]._version
        got = gpureduce.torch.rms_norm(x, weight, residual=sums[0])
        assert sums[0]._version == version + 1
        assert torch.equal(got, ops.add_rms_norm(x, sums[1], weight, 1e-6))
        assert torch.equal(*sums)
    grads = []
    for call in (gpureduce.torch.layer_norm, ops.layer_norm):
        inputs = [each.detach().double().requires_grad_() for each in (x, weight, bias)]
        call(*inputs, 1e-5).pow(2).sum().backward()
        grads.append([each.grad for each in inputs])
    assert all(torch.equal(*pair) for pair in zip(*grads, strict=True))


def test_groups_and_segments():
    for dtype in (torch.float32, torch.bfloat16, torch.uint8, torch.int32):
        x = elements(dtype, (40, 6))
        labels = (torch.arange(40, device="cuda") * 7) % 5 - 1
        offsets = torch.tensor([0, 3, 3, 40], device="cuda")
        for op in ("sum", "mean", "max", "count_nonzero"):
            pairs = (
                (operators.group_reduce(x, labels, op, 4, 0), ops.group_reduce(x, labels, op, 4, 0)),
                (operators.segment_reduce(x, offsets, op, 0), ops.segment_reduce(x, offsets, op, 0)),
            )
            for got, want in pairs:
                assert got.dtype == want.dtype
                assert torch.equal(got.nan_to_num(9), want.nan_to_num(9))


def test_convolutions():
    x, w = elements(torch.float16, (2, 8, 9, 9)), elements(torch.float16, (4, 8, 3, 3))
    bias = elements(torch.float16, (4,))
    for options in ({}, {"stride": 2}, {"padding": (1, 2)}, {"padding": "same"}, {"bias": bias}):
        got = gpureduce.torch.conv2d(x, w, **options)
        padding = options.get("padding", 0)
        same = padding == "same"
        rest = (options.get("stride", 1), 0 if same else padding, 1, 1, "NCHW", same)
        want = ops.conv2d(x, w, options.get("bias"), *rest)
        assert got.shape == want.shape
        assert torch.equal(got, want)


def test_transforms():
    x = elements(torch.float32, (4, 6))
    total = gpureduce.torch.sum
    assert torch.equal(torch.func.vmap(total)(x), total(x, 1))
    want = torch.func.grad(lambda a: (a * a).sum())(x)
    assert torch.equal(torch.func.grad(lambda a: total(a * a))(x), want)
    compiled = torch.compile(lambda a: total(a, 1) * 2, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), total(x, 1) * 2)
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda a: total(a, 1))(x)
    assert any(node.target is ops.sum.default for node in graph.graph.nodes)


def test_streams_and_graphs():
    x = elements(torch.float32, (512, 1024))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x.clone()
        torch.cuda._sleep(10_000_000)
        y.mul_(2)
        result = gpureduce.torch.sum(y, 1)
    side.synchronize()
    assert torch.equal(result, gpureduce.torch.sum(x, 1) * 2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = gpureduce.torch.max(y, 0)
    y.copy_(x)
    graph.replay()
    assert torch.equal(result, gpureduce.torch.max(x, 0))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: gpureduce.nanmedian(a, axis=1),
        lambda a: gpureduce.nanmedian(a, axis=0),
        lambda a: gpureduce.moments(a, axis=1)[1:],
        lambda a: gpureduce.moments(a, axis=0, nan_policy="omit", bias=False)[1:],
        lambda a: gpureduce.nanquantile(a, 0.3, axis=1),
        lambda a: gpureduce.nanpercentile(a, [5, 40.0, 100.0], axis=0),
        lambda a: gpureduce.nancumsum(a, 1),
        lambda a: gpureduce.nancumprod(a[:, ::2], 0),
        lambda a: gpureduce.reduceat(a, [0, 7, 50], axis=1),
        lambda a: gpureduce.group_reduce(a, np.arange(300) % 7),
        lambda a: gpureduce.segment_reduce(a, [0, 20, 300], "max"),
        lambda a: gpureduce.bincount((a[:, 0] * 4).nan_to_num().int(), size=20),
    ],
)
def test_functions_that_stay_on_the_device_can_be_captured(call):
    x = elements(torch.float32, (300, 90))
    x[x.abs() < 0.05] = torch.nan
    first = x.clone()
    call(first)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = call(first)
    first.copy_(x.flip(0) * 3)
    graph.replay()
    torch.cuda.synchronize()
    want = call(x.flip(0) * 3)
    for got, expected in zip(results, want, strict=True) if isinstance(results, tuple) else [(results, want)]:
        assert got.numpy().tobytes() == expected.numpy().tobytes()


def test_a_graph_keeps_the_offsets_that_no_call_had_before():
    x = elements(torch.float32, (300, 90))
    want = [np.add.reduceat(x.cpu().numpy(), [0, first], axis=0) for first in range(1, 40)]
    graph, results = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for first in range(1, 40):
            results.append(gpureduce.reduceat(x, [0, first], axis=0))
    graph.replay()
    torch.cuda.synchronize()
    for got, expected in zip(results, want, strict=True):
        assert np.allclose(got.numpy(), expected, rtol=1e-4, atol=1e-3)


def test_results_are_memory_of_pytorch():
    """Its allocator owns them: the memory of a result that was freed is used again."""
    x = elements(torch.float32, (64, 256))
    gpureduce.torch.sum(x, 1)
    before = torch.cuda.memory_allocated()
    result = gpureduce.torch.sum(x, 1)
    assert torch.cuda.memory_allocated() - before == 512
    result.record_stream(torch.cuda.Stream())
    del result
    assert torch.cuda.memory_allocated() == before


def test_errors_are_those_of_the_operators():
    x = elements(torch.float32)
    for call in (
        lambda: gpureduce.torch.sum(x, 3),
        lambda: gpureduce.torch.sum(x, (0, 0)),
        lambda: gpureduce.torch.max(x[:0], 0),
        lambda: gpureduce.torch.bitwise_or(x, 1),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)):
            call()


def test_operators_are_registered():
    assert operators._GRADIENTS.keys() >= {"sum", "matmul"}
    assert torch.library.opcheck(ops.sum.default, (elements(torch.float32), [1], False))
