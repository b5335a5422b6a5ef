"""weights= of group_reduce and segment_reduce: exact sums of products, means, layouts, errors."""

from fractions import Fraction

import numpy as np
import pytest

import gpureduce
from tests.support import exact_reference as reference
from tests.support.numpy_oracle import BFLOAT16

GROUPS = 4
SHAPES = (((300,), 0), ((50, 4), 0), ((4, 50), 1), ((3, 20, 4), 1))
RESULTS = {"float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64"}
DTYPES = [name for name in RESULTS if name != "bfloat16" or BFLOAT16 is not None]


def drawn(shape, name, seed, spread=6):
    """Numbers that cancel and spread over exponents."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    return values.astype(reference.dtype_of(name))


def totals(a, weights, labels, groups, axis, mask=True):
    """Return the exact sums of products, and of weights, as fractions, with rows first."""
    if weights.shape != a.shape:
        weights = weights.reshape([-1 if i == axis else 1 for i in range(a.ndim)])
    a, weights, mask = (np.moveaxis(np.broadcast_to(each, a.shape), axis, 0) for each in (a, weights, mask))
    shape = (groups, *a.shape[1:])
    products, sums = (np.full(shape, Fraction(0), object) for _ in range(2))
    for row, label in enumerate(labels.tolist()):
        for column in np.ndindex(a.shape[1:]) if 0 <= label < groups else ():
            if mask[(row, *column)]:
                weight = Fraction(float(weights[(row, *column)]))
                products[(label, *column)] += weight * Fraction(float(a[(row, *column)]))
                sums[(label, *column)] += weight
    return products, sums


def check(got, op, products, sums, axis):
    """Compare with the exact results: a sum is rounded once."""
    got = np.moveaxis(got, axis, 0)
    assert got.shape == products.shape
    relative = Fraction(3, 2**53) if got.dtype == np.float64 else Fraction(1, 2**24) + Fraction(3, 2**53)
    for at in np.ndindex(got.shape):
        if op == "sum":
            assert got[at] == reference.rounded(products[at], got.dtype)
        elif sums[at] == 0:
            assert np.isnan(got[at])
        else:
            mean = products[at] / sums[at]
            assert abs(Fraction(float(got[at])) - mean) <= relative * abs(mean) * Fraction(1001, 1000)


def put(array, device, on_device):
    return gpureduce.to_device(np.ascontiguousarray(array), device) if on_device else array


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("op", ["sum", "mean"])
@pytest.mark.parametrize("name", DTYPES)
def test_results(name, op, on_device, device):
    for shape, axis in SHAPES:
        a, length = drawn(shape, name, 1), shape[axis]
        rng = np.random.default_rng(2)
        labels, offsets = rng.integers(-1, GROUPS - 1, length), np.array([2, 9, 9, length - 3, length - 1])
        segments = np.searchsorted(offsets, np.arange(length), "right") - 1
        segments[segments == len(offsets) - 1] = -1
        rows = [-1 if i == axis else 1 for i in range(len(shape))]
        masks = (True, rng.random(shape) < 0.6, (rng.random(length) < 0.6).reshape(rows))
        for weights in (drawn(shape, name, 3), drawn(length, name, 4)):
            for mask in masks:
                options = {"axis": axis, "device": device, "as_device": False}
                options |= {"weights": put(weights, device, on_device)}
                options |= {"where": mask if mask is True else put(mask, device, on_device)}
                there = put(a, device, on_device)
                for function, arguments, of_rows in (
                    (gpureduce.group_reduce, (put(labels, device, on_device), op, GROUPS), labels),
                    (gpureduce.segment_reduce, (put(offsets, device, on_device), op), segments),
                ):
                    got = function(there, *arguments, **options)
                    assert got.dtype == RESULTS[name]
                    check(got, op, *totals(a, weights, of_rows, GROUPS, axis, mask), axis)


@pytest.mark.parametrize("op", ["sum", "mean"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_order_of_the_rows_has_no_effect(name, op, device):
    """On bits of sums whose products cancel but for their rounding errors."""
    n, spread = 6000, 12
    a, weights = drawn(n, name, 5, spread), drawn(n, name, 6, spread)
    a[n // 2 :], weights[n // 2 :] = -a[: n // 2], weights[: n // 2]
    a[0] += a[0] * np.finfo(name).eps
    labels = np.resize(np.random.default_rng(7).integers(-1, GROUPS, n // 2), n)
    found = set()
    for order in (np.arange(n), np.random.default_rng(8).permutation(n)):
        given = [gpureduce.to_device(each[order], device) for each in (a, labels, weights)]
        got = gpureduce.group_reduce(given[0], given[1], op, GROUPS, weights=given[2]).numpy()
        found.add(got.tobytes())
        if op == "sum":
            check(got, op, *totals(a, weights, labels, GROUPS, 0), 0)
            assert np.count_nonzero(got) <= 1
    assert len(found) == 1


def test_dtypes_of_results(device):
    """Those of NumPy's rules, but at least float32."""
    labels = [0, 0, 1]
    for first, second, expected in (
        ("float32", "float64", "float64"),
        ("float32", "int64", "float64"),
        ("int64", "int64", "float64"),
        ("int32", "float32", "float64"),
        ("bool", "float32", "float32"),
        ("float16", "int8", "float32"),
        ("bool", "bool", "float64"),
    ):
        a, weights = np.array([1, 0, 1]).astype(first), np.array([1, 1, 1]).astype(second)
        for there in (False, True):
            given = [put(each, device, there) for each in (a, weights)]
            for op, want in (("sum", [1, 1]), ("mean", [0.5, 1])):
                options = {"weights": given[1], "device": device, "as_device": False}
                got = gpureduce.group_reduce(given[0], labels, op, 2, **options)
                assert got.dtype == expected and got.tolist() == want


def test_special_values(device):
    """Infinities, NaNs, overflows and zeros of products are those of NumPy's."""
    inf, nan = np.inf, np.nan
    a = np.array([inf, 1.0, nan, 3e38, -0.0, -0.0, 0.0, 2.0, inf], np.float32)
    weights = np.array([2, 3, 1, 10, 1, 5, -3, 0, 0], np.float32)
    labels = np.array([0, 0, 1, 2, 3, 3, 4, 5, 6])
    got = gpureduce.group_reduce(a, labels, weights=weights, device=device)
    np.testing.assert_array_equal(got, [inf, nan, inf, -0.0, -0.0, 0, nan])
    assert np.signbit(got).tolist()[2:6] == [False, True, True, False]
    mean = gpureduce.group_reduce(a, labels, "mean", weights=weights, device=device)
    np.testing.assert_allclose(mean, [inf, nan, 3e38, -0.0, 0.0, nan, nan], rtol=1e-6)


def test_layouts_on_a_device(device):
    """Transposed and reversed arrays, and a result in `out`."""
    a, weights = drawn((6, 50, 4), "float32", 1), drawn((6, 50, 4), "float32", 2)
    labels = np.random.default_rng(3).integers(-1, GROUPS, 50)
    there, factors, at = (gpureduce.to_device(each, device) for each in (a, weights, labels))
    for axes, step, op in (((0, 1, 2), -1, "sum"), ((2, 1, 0), 1, "mean"), ((1, 2, 0), -1, "mean")):
        axis, part = axes.index(1), (slice(None, None, step),) * 3
        exact = totals(a.transpose(axes)[part], weights.transpose(axes)[part], labels[::step], GROUPS, axis)
        out = gpureduce.to_device(np.empty(np.moveaxis(exact[0], 0, axis).shape, np.float32), device)
        got = gpureduce.group_reduce(
            there.transpose(axes)[part], at[::step], op, GROUPS, axis=axis, out=out,
            weights=factors.transpose(axes)[part],
        )  # fmt: skip
        assert got is out
        check(out.numpy(), op, *exact, axis)


def test_no_elements(device):
    for there in (False, True):
        a = put(np.zeros((0, 3), np.float32), device, there)
        options = {"weights": a, "device": device, "as_device": False}
        assert gpureduce.group_reduce(a, [], "sum", 2, **options).tolist() == [[0] * 3] * 2
        assert np.isnan(gpureduce.group_reduce(a, [], "mean", 2, **options)).all()
        assert gpureduce.group_reduce(a, [], "mean", 0, **options).shape == (0, 3)


def test_errors_name_the_argument(device):
    a, labels, ones = np.ones((4, 3), np.float32), [0, 1, 0, 1], np.ones(4, np.float32)
    there = gpureduce.to_device(ones, device)
    for error, message, given, op, options in (
        (TypeError, "weights: only for sum and mean, not for max", a, "max", {"weights": ones}),
        (TypeError, "ddof: ", a, "mean", {"weights": ones, "ddof": 1}),
        (
            ValueError,
            r"weights: expected shape \(4, 3\) or \(4,\), got \(3,\)",
            a,
            "sum",
            {"weights": ones[:3]},
        ),
        (TypeError, "weights: expected real numbers", a, "sum", {"weights": ones * 1j}),
        (TypeError, "a: expected real numbers", a * 1j, "sum", {"weights": ones}),
        (TypeError, "weights: on a device, but a is in host memory", a, "sum", {"weights": there}),
    ):
        with pytest.raises(error, match=f"^{message}"):
            gpureduce.group_reduce(given, labels, op, 2, device=device, **options)
        if op != "mean":
            with pytest.raises(error, match=f"^{message}"):
                gpureduce.segment_reduce(given, [0, 4], op, device=device, **options)
    with pytest.raises(ValueError, match=r"^weights: only with variant='auto'"):
        gpureduce.group_reduce(ones, labels, num_groups=2, weights=ones, variant="g3", device=device)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_a_captured_call(op, name, device):
    torch = pytest.importorskip("torch")
    a, weights = (torch.from_numpy(drawn((3000, 2), name, seed)).cuda() for seed in (1, 2))
    labels = torch.from_numpy(np.random.default_rng(3).integers(0, 9, 3000)).cuda()
    offsets = torch.from_numpy(np.array([0, 100, 3000])).cuda()
    outs = [torch.empty((rows, 2), dtype=a.dtype, device="cuda") for rows in (9, 2)]

    def calls():
        gpureduce.group_reduce(a, labels, op, 9, weights=weights, out=outs[0])
        gpureduce.segment_reduce(a, offsets, op, weights=weights[:, 0], out=outs[1])

    calls()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        calls()
    for seed in (4, 5):
        a.copy_(torch.from_numpy(drawn((3000, 2), name, seed)))
        graph.replay()
        found = [each.clone() for each in outs]
        calls()
        for one, other in zip(found, outs, strict=True):
            assert torch.equal(one, other) and one.abs().sum() > 0
