"""`gpureduce.testing.check_invariance`: it finds each broken promise, and public functions keep theirs."""

import numpy as np
import pytest

import gpureduce
from gpureduce.testing import check_invariance

pytestmark = pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow", "ignore:divide by zero")


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((12, 300)).astype(np.float32)


def unsteady():
    count = iter(range(1000))
    return lambda a: a.sum(axis=1) + next(count)


BROKEN = {
    "repeat": unsteady(),
    "batch": lambda a: a.sum(axis=1) if len(a) > 2 else a[:, ::-1].cumsum(axis=1)[:, -1],
    "place": lambda a: a.sum(axis=1) + np.float32(a.ctypes.data // 4 % 16),
    "order": lambda a: a.cumsum(axis=1)[:, -1],
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_function_that_breaks_a_promise_is_found(rows, promise):
    report = check_invariance(BROKEN[promise], rows, over=[promise], data=["given"])
    assert not report.passed and report.failed() == {promise}
    [difference] = report.differences
    assert difference.bits[0] != difference.bits[1] and 0 < difference.different <= difference.total
    assert f"{promise} (given data): " in str(report) and "kept: none" in str(report)


def test_the_place_of_a_row_is_found(rows):
    by_index = check_invariance(lambda a: a.max(axis=1) + np.arange(len(a)), rows, over=["place"])
    assert "rows at other indices" in by_index.differences[0].what


def test_the_example_is_small_and_still_fails(rows):
    fn = BROKEN["order"]
    [difference] = check_invariance(fn, rows, over=["order"], data=["given"]).differences
    [example] = difference.example
    assert example.shape[1] <= 20 and example.shape[0] <= 6
    assert (fn(example) != fn(example[:, ::-1])).any()


def test_the_example_stays_long_where_the_function_takes_one_length_only(rows):
    def first(a):
        if a.shape[1] != 300:
            raise RuntimeError("300 columns")
        return a[:, 0]

    [difference] = check_invariance(first, rows, over=["order"], data=["given"]).differences
    assert difference.example[0].shape[1] == 300


@pytest.mark.parametrize("kind", ["cancelling", "wide", "ties", "special"])
def test_kinds_of_data_find_what_given_data_hide(kind):
    """A fault that shows for one kind of data only."""
    seen = {
        "cancelling": lambda a: abs(a.astype(float).sum()) < 1e-3 * abs(a.astype(float)).max() > 1e3,
        "wide": lambda a: abs(a).max() > 1e9,
        "ties": lambda a: len(np.unique(a)) < 6,
        "special": lambda a: not np.isfinite(a).all(),
    }[kind]
    fn = lambda a: a.cumsum(axis=1)[:, -1] if seen(a) else a.max(axis=1)  # noqa: E731
    ones = np.ones((4, 50), np.float32)
    assert check_invariance(fn, ones, over=["order"], data=["given"]).passed
    if kind != "ties":  # sums of halves are exact in any order
        assert not check_invariance(fn, ones, over=["order"], data=[kind]).passed
    else:
        first = lambda a: np.signbit(a[:, 0]) * 1.0 if seen(a) else a.max(axis=1)  # noqa: E731
        assert not check_invariance(first, ones, over=["order"], data=[kind]).passed


def test_chunks_are_merged(rows):
    part = lambda a: gpureduce.partial(a, "mean", axis=1, device="sim")  # noqa: E731
    exact = lambda states: sum(states[1:], states[0]).result()  # noqa: E731
    assert check_invariance(lambda a: a.sum(axis=1), rows, over=["chunks"], merge=sum).failed() == {"chunks"}
    kinds = ["given", "wide", "cancelling"]
    assert check_invariance(part, rows, over=["chunks"], merge=exact, data=kinds).passed


def test_labels_are_permuted_with_their_rows():
    values = np.random.default_rng(1).standard_normal(500).astype(np.float32)
    labels = np.random.default_rng(2).integers(0, 7, 500)
    fn = lambda a, labels: gpureduce.group_reduce(a, labels, num_groups=7, device="sim")  # noqa: E731
    assert check_invariance(fn, values, labels, axis=None).passed
    sums = lambda a, labels: np.bincount(labels, a, 7)  # noqa: E731
    assert "order" in check_invariance(sums, values, labels, axis=None).failed()


def test_nans_are_equal_unless_their_bits_are_compared():
    a = np.full((3, 4), np.nan, np.float32)
    fn = lambda a: np.where(len(a) > 1, np.nan, -np.float32(np.nan)) * a.sum(axis=1)  # noqa: E731
    other = lambda a: np.full(len(a), np.nan if len(a) > 1 else -np.nan)  # noqa: E731
    assert check_invariance(fn, a, data=["given"]).passed
    assert check_invariance(other, a, over=["batch"], data=["given"]).passed
    assert not check_invariance(other, a, over=["batch"], data=["given"], nan_bits=True).passed


def test_wrong_arguments_are_named(rows):
    fn = lambda a: a.sum(axis=1)  # noqa: E731
    for words, message in [
        ({"over": ["luck"]}, "over: unknown promise 'luck'"),
        ({"over": ["chunks"]}, "over: 'chunks' needs merge="),
        ({"over": ["device"], "devices": ["sim"]}, "over: 'device' needs devices= with two devices"),
        ({"over": ["batch"], "axis": None}, "over: 'batch' needs axis="),
        ({"data": ["dull"]}, "data: unknown kind 'dull'"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_invariance(fn, rows, **words)
    with pytest.raises(ValueError, match="arrays: expected at least one"):
        check_invariance(fn)
    for args, words, error, message in [
        ((3, rows), {}, TypeError, "fn: expected a function, got int"),
        ((fn, [[1.0]]), {}, TypeError, "arrays: expected arrays, got list"),
        ((fn, rows), {"axis": 2}, IndexError, "axis 2 is out of bounds"),
        ((fn, rows), {"reduced": -3}, IndexError, "axis -3 is out of bounds"),
        ((lambda a: "text", rows), {}, TypeError, "fn: expected numbers as results, got str"),
        ((lambda a: None, rows), {}, TypeError, "fn: expected numbers as results, got NoneType"),
    ]:
        with pytest.raises(error, match=message):
            check_invariance(*args, **words)


def test_results_may_be_numbers_of_python(rows):
    assert check_invariance(lambda a: float(a.max()), rows, over=["order"], data=["given"]).passed


ORDER_FREE = {
    "exact sum": lambda a, device: gpureduce.sum(a, axis=1, exact=True, device=device),
    "exact mean": lambda a, device: gpureduce.mean(a, axis=1, exact=True, device=device),
    "exact std": lambda a, device: gpureduce.std(a, axis=1, exact=True, device=device),
    "exact norm": lambda a, device: gpureduce.norm(a, axis=1, exact=True, device=device),
    "max": lambda a, device: gpureduce.max(a + 0, axis=1, device=device) + 0,
    "median": lambda a, device: gpureduce.median(a, axis=1, device=device),
    "count_nonzero": lambda a, device: gpureduce.count_nonzero(a, axis=1, device=device),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ORDER_FREE)
def test_functions_that_promise_order_keep_it(name, dtype, device):
    a = np.random.default_rng(3).standard_normal((9, 700)).astype(dtype)
    report = check_invariance(lambda a: ORDER_FREE[name](a, device), a)
    assert report.passed and report.checked == ("repeat", "batch", "place", "order"), str(report)


def test_sums_of_columns_depend_on_the_batch_and_those_of_rows_do_not(device):
    """What promises.md says; the check has to see it."""
    a = np.random.default_rng(4).standard_normal((40, 131_072))
    rows, columns = (
        check_invariance(
            lambda a, axis=axis: gpureduce.sum(a, axis=axis, device=device),
            a if axis else np.ascontiguousarray(a.T),
            over=["batch"],
            data=["given"],
            axis=1 - axis,
        )
        for axis in (1, 0)
    )
    assert (rows.failed(), columns.failed()) == (set(), {"batch"})


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_torch_tensors_are_checked(dtype):
    torch = pytest.importorskip("torch")
    a = torch.randn(6, 200, dtype=getattr(torch, dtype))
    assert check_invariance(lambda a: a.amax(1), a).passed
    assert check_invariance(lambda a: a.double().cumsum(1)[:, -1].to(a.dtype), a, over=["repeat"]).passed
    assert not check_invariance(lambda a: a[:, 0], a, over=["order"]).passed


def test_device_arrays_are_checked(device):
    a = gpureduce.to_device(np.random.default_rng(5).standard_normal((5, 90)).astype(np.float32), device)
    assert check_invariance(lambda a: gpureduce.sum(a, axis=1, exact=True), a).passed
    both = check_invariance(
        lambda a: gpureduce.sum(a, axis=1, exact=True), a.numpy(), over=["device"], devices=("sim", device)
    )
    assert both.passed
