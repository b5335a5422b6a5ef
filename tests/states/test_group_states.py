"""States of groups: any parts of the rows, merged in any order, give what all rows give."""

import functools
import itertools
import operator
import pickle

import numpy as np
import pytest

import gpureduce
from tests.support.exact_reference import any_bits, exact_sum
from tests.support.numpy_oracle import BFLOAT16

GROUPS = 6  # no row has label 5
FLOATS = ("float32", "float64", "float16", *(["bfloat16"] if BFLOAT16 is not None else []))
OPS = (
    "sum",
    "mean",
    "min",
    "max",
    "any",
    "all",
    "count_nonzero",
    "prod",
    "bitwise_and",
    "bitwise_xor",
    "var",
)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def drawn(shape, name, seed=1):
    """Numbers that cancel and spread over exponents; small integers."""
    rng = np.random.default_rng(seed)
    dtype = BFLOAT16 if name == "bfloat16" else np.dtype(name)
    if dtype.kind in "biu":
        return rng.integers(0, 5, shape).astype(dtype)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    return (values + 1j * values[::-1] if dtype.kind == "c" else values).astype(dtype)


def drawn_labels(rows, seed=2):
    return np.random.default_rng(seed).integers(-1, GROUPS - 1, rows)


def expected(a, labels, op):
    """Return the exact sums or means of groups, rounded once."""
    groups = [a[labels == group] for group in range(GROUPS)]
    return np.array([exact_sum(rows, divisor=len(rows) if op == "mean" else 1) for rows in groups], a.dtype)


def states_of(a, op, labels, order, device, on_device, axis=0):
    """Return the states of four parts of permuted rows."""

    def put(array):
        return gpureduce.to_device(np.ascontiguousarray(array), device) if on_device else array

    states = []
    for part in np.array_split(order, [0, len(order) // 7, len(order) // 2]):
        rows = np.take(a, part, axis)
        states.append(
            gpureduce.partial(put(rows), op, axis, labels=put(labels[part]), num_groups=GROUPS, device=device)
        )
    return states


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", FLOATS)
def test_sums_and_means_are_exact(name, on_device, device):
    n = 2000
    a, labels = drawn(n, name), drawn_labels(n)
    a[:100:2] = -0.0
    labels[:100:2] = 3
    for op in ("sum", "mean"):
        want = expected(a, labels, op)
        found = set()
        for order in (np.arange(n), np.random.default_rng(3).permutation(n)):
            total = functools.reduce(operator.add, states_of(a, op, labels, order, device, on_device))
            assert (total.op, total.dtype, total.shape) == (op, a.dtype, (GROUPS,))
            assert total.result().tobytes() == want.tobytes()
            found.add(total.to_bytes())
        assert len(found) == 1
        one = gpureduce.group_reduce(a, labels, op, GROUPS, device=device)
        assert one.tobytes() == want.tobytes()


def test_special_values(device):
    inf, nan = np.inf, np.nan
    a = np.array([inf, 1, -inf, inf, nan, 1e38, -0.0, -0.0, 0.0, 3e38, 3e38, -3e38], np.float32)
    labels = np.array([0, 0, 1, 1, 2, 3, 4, 5, 5, 3, 3, 3])
    parts = [slice(0, 3), slice(3, 8), slice(8, 10), slice(10, 12)]
    total = functools.reduce(
        operator.add,
        (gpureduce.partial(a[p], "sum", labels=labels[p], num_groups=7, device=device) for p in parts),
    )
    result = total.result()
    np.testing.assert_array_equal(result, [inf, nan, nan, inf, -0.0, 0, 0])
    assert not np.signbit(result[4:]).any()  # a sum of states is never -0


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("op", OPS)
def test_every_operator_and_layout(op, on_device, device):
    """The states of a group are those of its rows alone, the bytes included."""
    names = ("int32", "uint64", "int64", "bool", "float32", "complex64", "float64")
    for name in names:
        if (op.startswith("bitwise") and name[0] in "fc") or (op in ("min", "max") and name[0] == "c"):
            continue
        if op == "var" and on_device and name[0] not in "fc":
            continue  # integers on a device are not converted
        for shape, axis in (((120,), 0), ((40, 3), 0), ((3, 50), 1), ((2, 30, 2), 1)):
            a, labels = drawn(shape, name), drawn_labels(shape[axis])
            order = np.random.default_rng(4).permutation(shape[axis])
            if op == "prod" and name[0] in "fc":  # depends on the order
                order = np.arange(shape[axis])
            total = functools.reduce(operator.iadd, states_of(a, op, labels, order, device, on_device, axis))
            for group in range(GROUPS):
                rows = np.compress(labels == group, a, axis)
                one = gpureduce.partial(rows, op, axis, device=device)
                index = tuple(slice(group, group + 1) if i == axis else slice(None) for i in range(a.ndim))
                part = total._at(index)._reshaped(one.shape)
                if op == "prod" and name[0] in "fc":
                    np.testing.assert_allclose(part.result(), one.result(), rtol=1e-5)
                else:
                    assert part.to_bytes() == one.to_bytes(), (name, shape, group)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_positions(op, on_device, device):
    """Of parts with their offsets, merged in any order: the first of equal elements, and of NaNs."""
    rng = np.random.default_rng(6)
    find = getattr(np, op)
    for name, shape, axis in (("float32", (90,), 0), ("int64", (40, 3), 0), ("float64", (2, 50, 2), 1)):
        a, labels = rng.integers(-3, 4, shape).astype(name), drawn_labels(shape[axis])
        if name[0] == "f":
            a.reshape(-1)[rng.integers(0, a.size, 3)] = np.nan
        cuts = [0, shape[axis] // 5, shape[axis] // 2, shape[axis]]
        states = []
        for first, last in itertools.pairwise(cuts):
            rows = np.ascontiguousarray(np.take(a, range(first, last), axis))
            given = [rows, labels[first:last]]
            given = [gpureduce.to_device(each, device) for each in given] if on_device else given
            states.append(
                gpureduce.partial(
                    given[0], op, axis, labels=given[1], num_groups=GROUPS, offset=first, device=device
                )
            )
        totals = [
            functools.reduce(operator.add, [states[i] for i in order]) for order in ((0, 1, 2), (2, 0, 1))
        ]
        assert totals[0].to_bytes() == totals[1].to_bytes()
        with pytest.raises(ValueError, match=f"^{op}: no elements"):  # of the last group
            totals[0].result()
        index = tuple(slice(None, GROUPS - 1) if i == axis else slice(None) for i in range(a.ndim))
        got = totals[0]._at(index).result()
        for group in range(GROUPS - 1):
            rows = np.flatnonzero(labels == group)
            np.testing.assert_array_equal(
                np.take(got, group, axis), rows[find(np.take(a, rows, axis), axis)], name
            )


def test_zeros_have_the_states_of_their_rows_alone(device):
    a = np.array([-0.0, -0.0, 0.0, -0.0, 1.0, -1.0], np.float32)
    labels = np.array([0, 0, 1, 1, 2, 2])
    for values in (a, a.astype(np.complex64) * 1j, a.astype(np.float64)):
        for op in ("sum", "mean"):
            state = gpureduce.partial(values, op, labels=labels, num_groups=3, device=device)
            for group in range(3):
                one = gpureduce.partial(values[labels == group], op, device=device)
                assert state._at((slice(group, group + 1),))._reshaped(()).to_bytes() == one.to_bytes()


@pytest.mark.parametrize("name", [*FLOATS, "complex128"])
def test_squares_of_all_exponents(name, device):
    """Squares have the states of the rows alone; with infinities and NaNs, the results."""
    rng = np.random.default_rng(7)
    real = np.dtype("float64") if name == "complex128" else drawn(1, name).dtype
    for special in ([], [np.inf], [-np.inf, np.nan]):
        values = any_bits(rng, 400, real)
        values[~np.isfinite(values.astype(np.float64))] = real.type(1)
        values[:4] = [0, -0.0, 0, -0.0]
        values[: len(special)] = special
        a = (values + 1j * values[::-1]).astype(name) if name == "complex128" else values
        labels = rng.integers(-1, GROUPS - 1, len(a))
        for place in (np.asarray, functools.partial(gpureduce.to_device, device=device)):
            parts = [
                gpureduce.partial(
                    place(a[part]), "std", labels=place(labels[part]), num_groups=GROUPS, device=device
                )
                for part in (slice(150, 400), slice(0, 150))
            ]
            total = parts[0] + parts[1]
            for group in range(GROUPS):
                one = gpureduce.partial(a[labels == group], "std", device=device)
                state = total._at((slice(group, group + 1),))._reshaped(())
                if not special:
                    assert state.to_bytes() == one.to_bytes(), (name, group)
                for field in ("sum", "squares"):  # an infinity alone is no NaN
                    nan = [each._fields[field][..., -1].reshape(-1) & 1 for each in (state, one)]
                    np.testing.assert_array_equal(*nan, f"{name} {special} {field}")
                results = [np.float64(each.result(ddof=1)) for each in (state, one)]
                np.testing.assert_array_equal(*results, f"{name} {special} {group}")


def test_integers_that_need_more_than_64_bits(device):
    a, labels = np.full(6, 2**63 - 1), [0, 0, 0, 1, 1, -1]
    total = gpureduce.partial(a, "sum", labels=labels, num_groups=2, device=device)
    with pytest.raises(OverflowError, match="27670116110564327421"):
        total.result()
    total += gpureduce.partial(-a, "sum", labels=labels, num_groups=2, device=device)
    assert total.result().tolist() == [0, 0]


def test_copies_bytes_and_devices(device):
    a, labels = drawn((50, 2), "float32"), drawn_labels(50)
    given = {"labels": labels, "num_groups": GROUPS, "device": device}
    state = gpureduce.partial(a, "mean", 0, **given)
    there = gpureduce.partial(a, "mean", 0, **given, as_device=True)
    assert state.device is None and there.device is not None
    there += state
    state = pickle.loads(pickle.dumps(state))
    state += state
    assert state.to_bytes() == there.to_bytes()
    empty = gpureduce.partial(a[:0], "sum", 0, labels=labels[:0], num_groups=GROUPS, device=device)
    assert (empty + empty).result().tolist() == [[0, 0]] * GROUPS
    none = gpureduce.partial(a[:3], "sum", 0, labels=[-1] * 3, num_groups=0, device=device)
    assert none.shape == (0, 2) and none.result().shape == (0, 2)
    wide = gpureduce.partial(a[:, 0], "sum", dtype="float64", **given)
    assert wide.dtype == np.float64 and wide.shape == (GROUPS,)


def test_errors_name_the_argument(device):
    a, labels = np.ones((4, 2), np.float32), [0, 1, 0, 1]
    given = {"labels": labels, "num_groups": 2}
    for error, message, options in (
        (TypeError, "num_groups: missing", {"labels": labels}),
        (TypeError, "labels: missing", {"num_groups": 2}),
        (TypeError, "num_groups: ", {"labels": labels, "num_groups": 2.5}),
        (ValueError, "num_groups: expected 0 or more", {"labels": labels, "num_groups": -1}),
        (ValueError, "labels: expected up to 0, got 1", {"labels": labels, "num_groups": 1}),
        (ValueError, "labels: expected negative labels alone", {"labels": labels, "num_groups": 0}),
        (ValueError, "labels: expected 4, one for each row, got 3", {"labels": labels[:3], "num_groups": 2}),
        (TypeError, "labels: expected integers", {"labels": np.ones(4), "num_groups": 2}),
        (TypeError, "axis: expected an integer", {**given, "axis": None}),
        (TypeError, "axis: expected an integer", {**given, "axis": (0, 1)}),
        (TypeError, "where: not supported with labels=", {**given, "where": a > 0}),
        (TypeError, "keepdims: not supported with labels=", {**given, "keepdims": True}),
        (ValueError, "offset: expected 0 for sum, got 3", {**given, "offset": 3}),
        (TypeError, "offset: expected an integer", {**given, "offset": (3,)}),
        (TypeError, "within: not supported with labels=", {**given, "within": (4, 2)}),
        (TypeError, "b: not supported with labels=", {**given, "b": a}),
    ):
        with pytest.raises(error, match=f"^{message}"):
            gpureduce.partial(a, "sum", **{"axis": 0, "device": device, **options})
    with pytest.raises(ValueError, match=r"^offset: expected 0 or more, got -1"):
        gpureduce.partial(a, "argmin", 0, device=device, **given, offset=-1)
    with pytest.raises(TypeError, match=r"^dtype: not supported for max"):
        gpureduce.partial(a, "max", 0, device=device, **given, dtype="float64")
    with pytest.raises(TypeError, match=r"^op: dot has no states of groups"):
        gpureduce.partial(a, "dot", 0, device=device, **given)
    with pytest.raises(ValueError, match=r"^labels: not supported with several devices"):
        gpureduce.partial(a, "sum", 0, **given, device=[device, device])
    state = gpureduce.partial(a, "sum", 0, device=device, **given)
    with pytest.raises(ValueError, match="cannot be merged"):
        state += gpureduce.partial(a, "sum", 0, labels=labels, num_groups=3, device=device)
