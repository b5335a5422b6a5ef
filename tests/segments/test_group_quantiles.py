"""Medians and quantiles of group_reduce and segment_reduce, compared with NumPy's of each group."""

import numpy as np
import pytest

import gpureduce
from tests.support.numpy_oracle import BFLOAT16

GROUPS = 6  # no row has label 5
SHAPES = (((200,), 0), ((50, 4), 0), ((4, 50), 1), ((3, 20, 4), 1))
FLOATS = ("float32", "float64", "float16", *(["bfloat16"] if BFLOAT16 is not None else []))
QUANTILES = (
    ("median", None),
    ("quantile", 0),
    ("quantile", 0.3),
    ("quantile", np.float32(0.75)),
    ("quantile", 1),
)


def drawn(shape, name, seed=1):
    """Numbers of which many are equal."""
    rng = np.random.default_rng(seed)
    dtype = BFLOAT16 if name == "bfloat16" else np.dtype(name)
    values = np.round(rng.standard_normal(shape) * 9, 1)
    return (np.abs(values) if dtype.kind in "bu" else values).astype(dtype)


def expected(a, labels, groups, q, axis, mask):
    """Return NumPy's quantiles in float64, NaN for no elements."""
    moved, chosen = (np.moveaxis(np.broadcast_to(each, a.shape), axis, 0) for each in (a, mask))
    result = np.full((groups, *moved.shape[1:]), np.nan)
    for column in np.ndindex(moved.shape[1:]):
        at = (slice(None), *column)
        for group in range(groups):
            rows = moved[at][(labels == group) & chosen[at]].astype(np.float64)
            if len(rows):
                result[(group, *column)] = np.median(rows) if q is None else np.quantile(rows, float(q))
    return np.moveaxis(result, 0, axis)


def put(array, device, on_device):
    return gpureduce.to_device(np.ascontiguousarray(array), device) if on_device else array


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", [*FLOATS, "int32", "uint8", "int64", "bool"])
def test_results(name, on_device, device):
    for shape, axis in SHAPES:
        a, length = drawn(shape, name), shape[axis]
        if name in FLOATS:
            a.reshape(-1)[11] = np.nan
        rng = np.random.default_rng(2)
        labels, offsets = rng.integers(-1, GROUPS - 1, length), np.array([2, 5, 5, length - 3, length - 1])
        segments = np.searchsorted(offsets, np.arange(length), "right") - 1
        segments[segments == len(offsets) - 1] = -1
        rows = [-1 if i == axis else 1 for i in range(len(shape))]
        for mask in (True, rng.random(shape) < 0.6, (rng.random(length) < 0.6).reshape(rows)):
            options = {"axis": axis, "device": device, "as_device": False}
            options |= {"where": mask if mask is True else put(mask, device, on_device)}
            there = put(a, device, on_device)
            for op, q in QUANTILES:
                for function, arguments, of_rows, count in (
                    (gpureduce.group_reduce, (put(labels, device, on_device), op, GROUPS), labels, GROUPS),
                    (gpureduce.segment_reduce, (put(offsets, device, on_device), op), segments, 4),
                ):
                    got = function(there, *arguments, q=q, **options)
                    assert got.dtype == (a.dtype if name in FLOATS else np.float64)
                    want = expected(a, of_rows, count, q, axis, mask)
                    tolerance = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-7}.get(name, 1e-15)
                    np.testing.assert_allclose(
                        got.astype(np.float64), want, tolerance, 1e-14, err_msg=f"{shape} {op} {q}"
                    )


def test_medians_are_exact(device):
    """Elements themselves, or the middle of two of them, for any order of the rows."""
    n = 20_001
    rng = np.random.default_rng(3)
    a, labels = rng.standard_normal(n).astype(np.float32), rng.integers(-1, 300, n)
    want = [np.median(a[labels == group].astype(np.float64)) for group in range(300)]
    for order in (np.arange(n), rng.permutation(n)):
        given = [gpureduce.to_device(each[order], device) for each in (a, labels)]
        got = gpureduce.group_reduce(given[0], given[1], "median", 300)
        assert got.numpy().tolist() == np.array(want).astype(np.float32).tolist()


def test_special_values(device):
    inf, nan = np.inf, np.nan
    a = np.array([inf, 1, -inf, -inf, nan, 3, inf, inf, -inf, inf, 1e308, 1e308], np.float64)
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6])
    got = gpureduce.group_reduce(a, labels, "median", 8, device=device)
    np.testing.assert_array_equal(got, [inf, -inf, nan, inf, inf, nan, 1e308, nan])
    wide = gpureduce.group_reduce([-1e308, 1e308, -inf, inf], [0, 0, 1, 1], "median", device=device)
    np.testing.assert_array_equal(wide, [0, nan])
    few = gpureduce.group_reduce([-inf, 2.0, inf], [0] * 3, "quantile", q=0.5, device=device)
    assert few.tolist() == [2]


def test_results_in_out_and_no_elements(device):
    a, labels = drawn((30, 2), "float32"), np.arange(30) % 3
    want = expected(a, labels, 3, None, 0, True)
    out = gpureduce.to_device(np.empty((3, 2), np.float32), device)
    there = gpureduce.to_device(a, device)
    assert gpureduce.group_reduce(there, gpureduce.to_device(labels, device), "median", 3, out=out) is out
    np.testing.assert_allclose(out.numpy(), want, 1e-7)
    host = np.empty((3, 2))
    assert gpureduce.group_reduce(a, labels, "median", out=host, device=device) is host
    np.testing.assert_allclose(host, want, 1e-7)
    none = gpureduce.group_reduce(a[:0], labels[:0], "median", 2, device=device)
    assert np.isnan(none).all() and none.shape == (2, 2)
    assert gpureduce.segment_reduce(a, [0], "median", device=device).shape == (0, 2)


def test_errors_name_the_argument(device):
    a, labels = np.ones(4, np.float32), [0, 1, 0, 1]
    for error, message, op, options in (
        (TypeError, "q: missing for quantile", "quantile", {}),
        (TypeError, "q: only for quantile, not for median", "median", {"q": 0.5}),
        (TypeError, "q: only for quantile, not for sum", "sum", {"q": 0.5}),
        (TypeError, "q: expected a number from 0 to 1, got str", "quantile", {"q": "0.5"}),
        (ValueError, "q: expected 0 to 1, got 1.5", "quantile", {"q": 1.5}),
        (ValueError, "q: expected 0 to 1, got nan", "quantile", {"q": np.nan}),
        (TypeError, "weights: only for sum and mean, not for median", "median", {"weights": a}),
        (TypeError, "ddof: ", "median", {"ddof": 1}),
        (TypeError, "exact: only for sum and mean, not for median", "median", {"exact": True}),
    ):
        for call in (
            lambda: gpureduce.group_reduce(a, labels, op, 2, device=device, **options),  # noqa: B023
            lambda: gpureduce.segment_reduce(a, [0, 4], op, device=device, **options),  # noqa: B023
        ):
            with pytest.raises(error, match=f"^{message}"):
                call()
    with pytest.raises(TypeError, match=r"^a: median takes real numbers"):
        gpureduce.group_reduce(a * 1j, labels, "median", 2, device=device)
    with pytest.raises(ValueError, match=r"^op: expected one of"):
        gpureduce.reduceat(a, [0, 2], "median", device=device)


@pytest.mark.gpu
def test_a_captured_call(device):
    torch = pytest.importorskip("torch")
    a = torch.randn((5000, 2), device="cuda")
    labels = torch.from_numpy(np.random.default_rng(3).integers(0, 9, 5000)).cuda()
    out = torch.empty((9, 2), device="cuda")

    def call():
        gpureduce.group_reduce(a, labels, "median", 9, out=out)

    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    for _ in range(2):
        a.normal_()
        graph.replay()
        found = out.clone()
        call()
        assert torch.equal(found, out) and out.abs().sum() > 0
        for group in range(9):
            want = np.median(a[labels == group].cpu().numpy().astype(np.float64), axis=0)
            assert out[group].cpu().numpy().tolist() == want.astype(np.float32).tolist()
