"""Statistics, scans and sorts as PyTorch operators: results, gradients, transforms, opcheck."""

import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.5")

import gpureduce.torch as public  # noqa: E402
from gpureduce._torch import catalogue, direct, statistics  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("error:There is a performance drop:UserWarning"),  # of vmap without a rule
    pytest.mark.filterwarnings("ignore:.torch.jit.(script|trace).:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning"),
]
OPS = torch.ops.gpureduce
QUANTILES = ("quantile", "nanquantile")
SEARCHES = ("nanargmax", "nanargmin")
EXTREMES = ("cummax", "cummin")
SCANS = ("cumsum", "cumprod", "nancumsum", "nancumprod")


@pytest.fixture
def place(device):
    return "cpu" if device == "sim" else torch.device("cuda", int(device.partition(":")[2] or 0))


def elements(shape, dtype=torch.float64, seed=1, nans=False):
    """Numbers that spread over some exponents, of which some are NaN."""
    draw = np.random.default_rng(seed)
    values = draw.standard_normal(shape) * 10.0 ** draw.integers(-2, 2, shape)
    if nans:
        values[draw.random(shape) < 0.2] = np.nan
    return torch.from_numpy(values).to(dtype)


def arguments(name, axis, keepdims):
    """The arguments of an operator after the tensor."""
    if name in QUANTILES:
        return [0.2, 0.75], axis, keepdims
    return axis, keepdims


def numpys(name, a, axis, keepdims):
    """The result of NumPy, or of gpureduce where NumPy has no such function."""
    a = a.cpu().double().numpy()
    axis = tuple(axis) if isinstance(axis, list) else axis
    if name in QUANTILES:
        return getattr(np, name)(a, [0.2, 0.75], axis=axis, keepdims=keepdims)
    if name in ("fmax", "fmin"):
        return getattr(np, name).reduce(a, axis=axis, keepdims=keepdims)
    if name == "norm":
        return np.sqrt(np.sum(a * a, axis=axis, keepdims=keepdims))
    if name == "logsumexp":
        return np.log(np.sum(np.exp(a), axis=axis, keepdims=keepdims))
    if name == "exact_mean":
        return np.mean(a, axis=axis, keepdims=keepdims)
    options = {"ddof": 1} if name.endswith(("var", "std")) else {}
    return getattr(np, name)(a, axis=axis, keepdims=keepdims, **options)


@pytest.mark.parametrize("name", statistics.ROWS)
def test_results_are_numpys(name, place):
    operator = getattr(OPS, name)
    nans = name.startswith(("nan", "fm"))
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5), (torch.float16, 2e-3)):
        a = elements((5, 7, 6), dtype, nans=nans).to(place).transpose(0, 1)[::2]
        for axis, keepdims in ((None, False), (1, True), (2, False)) + (
            () if name in SEARCHES else (((0, 2), True), ((), False))
        ):
            if axis == () and name.endswith(("var", "std")):
                continue
            axis = list(axis) if isinstance(axis, tuple) else axis
            got = operator(a, *arguments(name, axis, keepdims))
            wanted = np.asarray(numpys(name, a, axis, keepdims))
            assert got.dtype == (torch.int64 if name in SEARCHES else dtype)
            assert got.device == a.device and tuple(got.shape) == wanted.shape
            np.testing.assert_allclose(got.cpu().double().numpy(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", statistics.ROWS)
def test_integers_and_bools(name, place):
    a = elements((4, 5), seed=3).mul(3).round()
    dtypes = (torch.int32, torch.uint8) if name in QUANTILES else (torch.int32, torch.uint8, torch.bool)
    for dtype in dtypes:
        values = (a.abs() if dtype == torch.uint8 else a).to(dtype)
        got = getattr(OPS, name)(values.to(place), *arguments(name, 1, False))
        row = statistics.ROWS[name]
        plain = None if row.whole is None else getattr(OPS, row.whole)(values.to(place), 1)
        if plain is not None:
            assert torch.equal(got, plain)
        else:
            assert got.dtype == torch.float64
            wanted = numpys(name, values, 1, False)
            np.testing.assert_allclose(got.cpu().numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", SCANS)
def test_scans_are_numpys(name, place):
    nans = name.startswith("nan")
    for dtype, tolerance in (
        (torch.float64, 1e-12),
        (torch.float32, 1e-5),
        (torch.int16, 0),
        (torch.bool, 0),
    ):
        a = elements((4, 5, 6), nans=nans and dtype.is_floating_point).clamp(-2, 2).to(dtype)
        for axis in (0, -1, 1):
            got = getattr(OPS, name)(a.to(place), axis)
            wanted = getattr(np, name)(a.numpy(), axis)
            assert got.dtype == torch.from_numpy(wanted).dtype
            np.testing.assert_allclose(got.cpu().numpy(), wanted, rtol=tolerance, atol=tolerance)
    assert getattr(OPS, name)(torch.tensor(3.0, device=place), 0).item() == 3.0


def test_sorts_and_moments(place):
    a = elements((6, 50), torch.float32, nans=True).to(place)
    for axis in (0, 1):
        for descending in (False, True):
            values, indices = OPS.sort(a, axis, descending)
            wanted = torch.sort(a, dim=axis, descending=descending, stable=True)
            torch.testing.assert_close(values, wanted[0], equal_nan=True, rtol=0, atol=0)
            assert torch.equal(indices, OPS.argsort(a, axis, descending))
            assert torch.equal(a.gather(axis, indices).isnan(), values.isnan())
            torch.testing.assert_close(a.gather(axis, indices), values, equal_nan=True, rtol=0, atol=0)
        values, indices = OPS.topk(a, 3, axis, False)
        torch.testing.assert_close(values, torch.topk(a, 3, axis, False)[0], rtol=0, atol=0)
        torch.testing.assert_close(a.gather(axis, indices), values, rtol=0, atol=0)
    for axis in (0, 1):
        for name in ("cummax", "cummin"):
            rounded = a.round()  # with equal elements
            values, indices = getattr(OPS, name)(rounded, axis)
            wanted = getattr(torch, name)(rounded.cpu(), axis)
            torch.testing.assert_close(values.cpu(), wanted[0], equal_nan=True, rtol=0, atol=0)
            assert torch.equal(indices.cpu(), wanted[1])
    a = elements((6, 50), torch.float64).to(place)
    got = OPS.moments(a, [1], True, 1)
    var, mean = torch.var_mean(a, 1, correction=1, keepdim=True)
    m2, m3, m4 = (((a - mean) ** power).mean(1, keepdim=True) for power in (2, 3, 4))
    for one, other in zip(got, (mean, var, m3 / m2**1.5, m4 / m2**2 - 3), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


# Gradients and transforms


def differentiable():
    """Return functions of a tensor of three rows and four elements, by name."""
    cases = {
        name: lambda a, name=name: getattr(OPS, name)(a, *arguments(name, [1], False))
        for name in statistics.ROWS
        if name not in SEARCHES
    }
    cases |= {name: lambda a, name=name: getattr(OPS, name)(a, 1) for name in SCANS}
    for order in (0.0, 0.5, 1.0, 3.0, float("inf"), float("-inf")):
        cases[f"norm of order {order}"] = lambda a, order=order: OPS.norm(a, [1], True, order)
    cases |= {
        "sort": lambda a: OPS.sort(a, 1)[0],
        "topk": lambda a: OPS.topk(a, 2, 0)[0],
        "cummax": lambda a: OPS.cummax(a, 1)[0],
        "cummin": lambda a: OPS.cummin(a, 0)[0],
        "moments": lambda a: torch.stack(OPS.moments(a, [1], False, 1)),
        "midpoint": lambda a: OPS.quantile(a, [0.3], [1], False, "midpoint"),
    }
    return cases


CASES = differentiable()
FORWARD = [
    name
    for name in CASES
    if name not in ("cumprod", "nancumprod", "moments", "midpoint", *QUANTILES)
    and name != "norm of order 0.0"
]


def distinct(place, nans=False, shape=(3, 4)):
    """Numbers far enough from each other, and from zero, for differences."""
    size = int(np.prod(shape))
    order = torch.from_numpy(np.random.default_rng(7).permutation(size) - size / 2.0)
    a = (order.reshape(shape) / 3 + 0.1).to(place)
    if nans:
        a[..., 1, 2] = float("nan")
    return a


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_derivatives(name, place):
    a = distinct(place).requires_grad_()
    forward = {"check_forward_ad": True} if name in FORWARD else {}
    assert torch.autograd.gradcheck(CASES[name], (a,), check_batched_grad="cumprod" not in name, **forward)
    if name not in ("norm of order 0.0", "nancumprod"):
        assert torch.autograd.gradgradcheck(CASES[name], (a,))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("nan", "fm"))])
def test_gradients_leave_out_nans(name, place):
    """The gradient of a NaN is 0; those of other elements are as without it."""
    a = distinct(place, nans=True).requires_grad_()
    (gradient,) = torch.autograd.grad(CASES[name](a).nansum(), a)
    assert gradient[1, 2] == 0 and not gradient.isnan().any()
    if "cum" not in name:
        row = a.detach()[1:2, [0, 1, 3]].clone().requires_grad_()
        (wanted,) = torch.autograd.grad(CASES[name](row).sum(), row)
        torch.testing.assert_close(gradient[1, [0, 1, 3]], wanted[0])


@pytest.mark.parametrize("name", CASES)
def test_vmap_and_grad(name, place):
    batch = torch.stack([distinct(place), distinct(place).flip(1) * 2])
    function = CASES[name]
    wanted = torch.stack([function(a) for a in batch])
    torch.testing.assert_close(torch.vmap(function)(batch), wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(torch.vmap(function, 1)(batch.movedim(0, 1)), wanted, rtol=1e-12, atol=1e-12)
    if name == "cumprod" or name == "nancumprod":
        return  # PyTorch's gradient has no batching rule
    gradient = torch.func.grad(lambda a: function(a).pow(2).sum())
    wanted = torch.stack([gradient(a) for a in batch])
    torch.testing.assert_close(torch.vmap(gradient)(batch), wanted, rtol=1e-10, atol=1e-10)


# What PyTorch asks of an operator


def samples(name, place):
    a = elements((3, 4, 5), torch.float32).to(place).requires_grad_()
    if name in (*SCANS, *EXTREMES):
        return [(a, 1)]
    if name in ("sort", "argsort"):
        return [(a, 1, True), (a.detach().transpose(0, 2),)]
    if name == "topk":
        return [(a, 2, 1)]
    if name == "moments":
        return [(a, [0, 2], True, 1.0)]
    if name in SEARCHES:
        return [(a,), (a.transpose(0, 2), 1, True)]
    return [(a, *arguments(name, None, False)), (a.transpose(0, 2), *arguments(name, [0, -1], True))]


EVERY = [*statistics.ROWS, *SCANS, *EXTREMES, "sort", "argsort", "topk", "moments"]


@pytest.mark.parametrize("name", EVERY)
def test_opcheck(name, place):
    for sample in samples(name, place):
        torch.library.opcheck(getattr(OPS, name).default, sample)


def test_every_operator_is_checked():
    single = {"sort", "argsort", "topk", "moments"}
    assert set(EVERY) == {*catalogue.reductions, *catalogue.scans, *catalogue.extremes, *single}


def test_a_compiled_function(place):
    def statistics_of(a):
        centered = a - OPS.median(a, [1], True)
        scale = OPS.std(centered, [1], True)
        values, _ = OPS.topk(centered / scale, 2, 1)
        return OPS.logsumexp(values) + OPS.cumsum(a, 1).mean() + OPS.quantile(a, [0.3], [1]).sum()

    torch._dynamo.reset()
    compiled = torch.compile(statistics_of, fullgraph=True, backend="aot_eager")
    for count in (6, 9):
        a, b = (distinct(place, shape=(count, 5)).requires_grad_() for _ in range(2))
        results = compiled(a), statistics_of(b)
        for result in results:
            result.backward()
        torch.testing.assert_close(*results, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-10, atol=1e-10)


# What is refused, and what needs no kernel


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors", "ignore:.*quantize")
def test_tensors_that_are_not_dense_are_refused(place):
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    refused = {
        "one of layout torch.jagged": torch.nested.nested_tensor(parts, layout=torch.jagged),
        "a nested one": torch.nested.nested_tensor(parts),
        "a quantized one": torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.quint8),
    }
    calls = {name: () for name in public.__all__ if name not in ("Cumulative", "Histogram", "Sorted")}
    calls |= {
        **dict.fromkeys(("quantile", "nanquantile"), (0.5,)),
        **dict.fromkeys(("dot", "matmul", "conv2d"), (torch.ones(3, 3),)),
        **dict.fromkeys(("group_softmax", "group_log_softmax"), (torch.zeros(2, dtype=torch.int64),)),
        **dict.fromkeys(
            ("index_add", "scatter_add"), (0, torch.zeros(2, dtype=torch.int64), torch.ones(2, 3))
        ),
        "scatter_reduce": (0, torch.zeros(2, dtype=torch.int64), torch.ones(2, 3), "sum"),
        "segment_reduce": ("sum",),
        "topk": (1,),
        "histogram": (3,),
    }
    for name in ("batch_invariant", "clip_grad_norm_", "deterministic"):
        del calls[name]
    for name, others in calls.items():
        for text, tensor in refused.items():
            with pytest.raises(TypeError, match=rf"^\w+: expected a dense tensor, got {text}"):
                getattr(public, name)(tensor, *others)
    for parameters in (3, [1.0], None):
        with pytest.raises(TypeError, match="parameters: expected a tensor"):
            public.clip_grad_norm_(parameters, 1.0)


def test_distributed_tensors_without_a_strategy_are_refused(place):
    class Sharded(torch.Tensor):
        device_mesh = None

    a = torch.ones(3).as_subclass(Sharded)
    for function in (public.unique_counts, public.bincount, public.histogram):
        with pytest.raises(
            TypeError, match=r"^\w+: a DTensor, for whose shards there are no rules; .*to_local"
        ):
            function(a)
    with pytest.raises(TypeError, match=r"^residual: a DTensor"):
        public.rms_norm(torch.ones(3), residual=a)


def test_meta_tensors_have_the_shapes_of_results():
    a = torch.empty(3, 4, device="meta")
    assert public.quantile(a, [0.1, 0.2], dim=0).shape == (2, 4)
    assert public.sort(a, 0).indices.dtype == torch.int64
    assert public.var(a, dim=1, keepdim=True).shape == (3, 1)
    assert public.moments(a, 0).kurtosis.shape == (4,) and public.moments(a, 0).count == 3


def test_torchscript_calls_the_operators(place):
    def summed(a: torch.Tensor):
        return torch.ops.gpureduce.sum(a, [0], False)

    a = torch.ones(3, 4, device=place)
    assert torch.equal(torch.jit.script(summed)(a), a.sum(0))
    with pytest.raises(torch.jit.frontend.NotSupportedError, match="keyword-only"):
        torch.jit.script(public.sum)


def test_traces_keep_the_operators(place):
    def statistics(a):
        return public.var(a, 0) + public.max(a, 0)

    a = elements((3, 4)).to(place)
    traced = torch.jit.trace(statistics, (a,))
    assert all(f"gpureduce::{name}" in str(traced.graph) for name in ("var", "max"))
    assert torch.equal(traced(2 * a), statistics(2 * a))


# The public functions


def test_names_of_pytorch_and_of_numpy(place):
    a = elements((3, 4), torch.float32).to(place)
    for name in ("sum", "nanmax", "var", "norm", "median", "logsumexp", "all", "argmax"):
        function = getattr(public, name)
        assert torch.equal(function(a, dim=1, keepdim=True), function(a, axis=1, keepdims=True))
        with pytest.raises(TypeError, match=r"^dim: .* only one"):
            function(a, 0, dim=1)
        with pytest.raises(TypeError, match=r"^keepdim: .* only one"):
            function(a, keepdims=True, keepdim=True)
    for name in ("cumsum", "cummax", "sort", "argsort"):
        function = getattr(public, name)
        one, other = function(a, dim=0), function(a, 0)
        assert all(map(torch.equal, one, other)) if isinstance(one, tuple) else torch.equal(one, other)
        with pytest.raises(TypeError, match=r"^axis: "):
            function(a, (0, 1))
    torch.testing.assert_close(public.cumsum(a), a.flatten().cumsum(0))
    assert torch.equal(
        public.quantile(a, 0.5, dim=1, interpolation="nearest"),
        public.quantile(a, [0.5], 1, method="nearest")[0],
    )
    torch.testing.assert_close(
        public.quantile(a, torch.tensor([0.25, 0.5])),
        torch.quantile(a, torch.tensor([0.25, 0.5], device=place)),
    )


def test_exact_sums_and_means(place):
    a = torch.tensor([[1e8, 1.0, -1e8], [2.0, 3.0, 5.0]], device=place)
    assert public.sum(a, 1, exact=True).tolist() == [1.0, 10.0]
    torch.testing.assert_close(public.mean(a, 1, exact=True).cpu(), torch.tensor([1 / 3, 10 / 3]))
    assert torch.equal(public.sum(a.int(), exact=True), public.sum(a.int()))


def test_wrong_arguments_of_statistics_are_named(place):
    a = torch.ones(2, 3, device=place)
    for call, error, name in (
        (lambda: public.quantile(a, 1.5), ValueError, "q"),
        (lambda: public.quantile(a, "x"), TypeError, "q"),
        (lambda: public.quantile(a, 0.5, method="best"), ValueError, "method"),
        (lambda: public.quantile(a, 0.5, method="lower", interpolation="lower"), TypeError, "interpolation"),
        (lambda: public.var(a, correction="1"), TypeError, "correction"),
        (lambda: public.norm(a, ord=None), TypeError, "ord"),
        (lambda: public.topk(a, 4), ValueError, "k"),
        (lambda: public.topk(a, 1.5), TypeError, "k"),
        (lambda: public.sort(a * 1j), TypeError, "a"),
        (lambda: public.median(a * 1j), TypeError, "a"),
        (lambda: public.cumsum(a, 2), ValueError, "axis"),
    ):
        with pytest.raises(error, match=rf"^{name}: "):
            call()


def test_distinct_elements_are_pytorchs(place):
    a = elements((30, 40), torch.float32, nans=True).round().to(place)
    for values in (a, a.nan_to_num(1.0).int(), a > 1):
        got = public.unique_counts(values)
        wanted = torch.unique(values.cpu(), return_counts=True)
        torch.testing.assert_close(got.values.cpu(), wanted[0], equal_nan=True, rtol=0, atol=0)
        assert torch.equal(got.counts.cpu(), wanted[1])
        few, many = public.unique_counts(values, size=1), public.unique_counts(values, size=2000)
        assert torch.equal(few.values, got.values[:1]) and torch.equal(few.counts, got.counts[:1])
        n = len(got.counts)
        assert torch.equal(many.counts[:n], got.counts) and many.counts[n:].sum() == 0
        assert (many.values[n:] == got.values[0]).all()
    assert public.unique_counts(a[:0]).values.shape == (0,)
    with pytest.raises(ValueError, match=r"^size: "):
        public.unique_counts(a, size=-1)


def test_distinct_elements_of_a_size_are_compiled(place):
    torch._dynamo.reset()
    compiled = torch.compile(lambda a: public.unique_counts(a, size=3), fullgraph=True, backend="aot_eager")
    a = torch.tensor([5, 2, 5, 7], device=place)
    assert [each.tolist() for each in compiled(a)] == [[2, 5, 7], [1, 2, 1]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_histograms_are_numpys(dtype, place):
    a = elements((20, 30), dtype, seed=2, nans=True).clamp(-3, 3).to(place)
    host, weights = a.cpu().numpy(), elements((20, 30), torch.float64, seed=4)
    for bins, limits in ((7, (-2.0, 1.5)), (1, (0.0, 3.0)), (np.array([-3, -0.5, 0, 0.25, 3]), None)):
        given = torch.from_numpy(bins).to(dtype).to(place) if isinstance(bins, np.ndarray) else bins
        got = public.histogram(a, given, limits)
        wanted = np.histogram(host, bins, limits)
        assert got.hist.dtype == torch.int64 and got.hist.tolist() == wanted[0].tolist()
        np.testing.assert_allclose(got.bin_edges.cpu().numpy(), wanted[1], rtol=1e-6, atol=1e-6)
        got = public.histogram(a, given, limits, weights.to(place))
        wanted = np.histogram(host, bins, limits, weights=weights.numpy())
        np.testing.assert_allclose(got.hist.cpu().numpy(), wanted[0], rtol=1e-9, atol=1e-9)
        got = public.histogram(a, given, limits, density=True)
        wanted = np.histogram(host, bins, limits, density=True)
        np.testing.assert_allclose(got.hist.cpu().numpy(), wanted[0], rtol=1e-5)
    whole = torch.tensor([1.0, 2.0, 1.0, 4.0, 4.0], dtype=dtype, device=place)
    assert public.histogram(whole, 3).hist.tolist() == [2, 1, 2]
    assert public.histogram(torch.full((3,), 2.0, device=place), 4).hist.sum().item() == 3
    none = public.histogram(whole[:0], 2)
    assert none.hist.tolist() == [0, 0] and none.bin_edges.tolist() == [0, 0.5, 1]


def test_histograms_name_wrong_arguments(place):
    a = torch.ones(3, device=place)
    for call, error, name in (
        (lambda: public.histogram(a.int()), TypeError, "a"),
        (lambda: public.histogram(a, 0), ValueError, "bins"),
        (lambda: public.histogram(a, a[:1]), ValueError, "bins"),
        (lambda: public.histogram(a, 2, (1.0,)), ValueError, "range"),
        (lambda: public.histogram(a, a, (0.0, 1.0)), TypeError, "range"),
        (lambda: public.histogram(a, 2, weights=a[:2]), ValueError, "weights"),
    ):
        with pytest.raises(error, match=rf"^{name}: "):
            call()


def test_exact_dot_products(place):
    a, b = torch.tensor([1e8, 1.0, -1e8], device=place), torch.ones(3, device=place)
    assert public.dot(a, b, exact=True).item() == 1.0
    torch.library.opcheck(OPS.exact_dot.default, (a.requires_grad_(), b))
    assert torch.autograd.gradcheck(
        lambda x: public.dot(x, x, exact=True), (distinct(place)[0].requires_grad_(),)
    )


def test_indices_of_nothing_but_nans(place):
    """A result on a GPU cannot raise without a wait."""
    a = torch.tensor([[float("nan")] * 2, [1.0, 2.0]], device=place)
    if place == "cpu":
        with pytest.raises(ValueError, match="All-NaN"):
            public.nanargmax(a, 1)
    else:
        assert public.nanargmax(a, 1).tolist() == [-1, 1]


RECORDED = {
    "sum": [(1,), (1, None, True)],
    "logsumexp": [(), (0, True)],
    "cumsum": [(1,)],
    "topk": [(2,), (2, None, False)],
    "sort": [(), (0, True)],
    "softmax": [(0,)],
}


@pytest.mark.parametrize(("name", "args"), [(name, args) for name in RECORDED for args in RECORDED[name]])
def test_results_of_the_core_are_recorded_as_those_of_operators(name, args, place):
    """The nodes get their results from calls without autograd."""
    function, x = getattr(public, name), distinct(place).requires_grad_()
    parameters = tuple(inspect.signature(function).parameters)
    apply, defaults, shared, record = direct.recorder(direct.recordings[name], parameters)
    for options in ({}, dict(zip(parameters[1:], args, strict=False))):
        want = function(x, *(() if options else args), **options)
        with torch.no_grad():
            result = function(x, *args)
        if options:
            got = record(result, x, **options)
        elif len(args) < shared:  # as the core calls it
            got = apply(x, *args, *defaults[1 + len(args) :], [result])
        else:
            got = record(result, x, *args)
        got, want = (each[0] if isinstance(each, tuple) else each for each in (got, want))
        assert torch.equal(got, want)
        weights = torch.arange(1, got.numel() + 1, dtype=got.dtype).view(got.shape).to(place)
        assert torch.equal(*[torch.autograd.grad(each, x, weights)[0] for each in (got, want)])


def test_operators_without_gradients_return_no_floats():
    """Their results need no node although an argument requires a gradient."""
    without = {name for name, recording in direct.recordings.items() if recording is None}
    assert without > {"argmax", "argsort", "nanargmin", "any"}
    for name in without - {"add_rms_norm"}:
        x = torch.ones(2, 3, dtype=torch.int32 if name.startswith("bitwise") else torch.float32)
        others = (x > 0, 1) if name.startswith("masked") else (1,)
        assert not getattr(torch.ops.gpureduce, name)(x, *others).is_floating_point()
