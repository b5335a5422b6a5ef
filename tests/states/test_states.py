"""States: any parts, merged in any order and any grouping, give what the whole gives."""

import functools
import itertools
import json
import math
import operator
import pickle
import struct
import weakref
from fractions import Fraction
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import gpureduce
from gpureduce._reduce import exact_states as exact
from gpureduce._states import build, call, fields
from gpureduce._states.operators import OPERATORS
from tests.support import exact_reference as reference
from tests.support.exact_reference import DTYPES, dtype_of, exact_sum, same

BITS_OF = ("bitwise_and", "bitwise_or", "bitwise_xor")  # of integers
OPS = tuple(op for op in OPERATORS if op != "dot" and op not in BITS_OF)
PLACES = ("argmin", "argmax")
OTHERS = ("complex64", "int8", "uint64", "int32", "bool")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def merged(draw, states):
    """Merge states in a random order and grouping, some in place."""
    states = list(states)
    while len(states) > 1:
        i = draw(st.integers(0, len(states) - 1))
        one = states.pop(i)
        j = draw(st.integers(0, len(states) - 1))
        if draw(st.booleans()):
            one += states[j]
        else:
            one = states[j] + one
        states[j] = one
    return states[0]


def spread(array, ddof=0, root=False):
    """The variance by fractions, rounded once."""
    real = array.view(exact.real(array.dtype)) if array.dtype.kind == "c" else array
    dtype = real.dtype
    parts = [real[0::2], real[1::2]] if array.dtype.kind == "c" else [real]
    n = len(array)
    if n == 0 or not np.isfinite(real.astype(np.float64)).all():
        return dtype.type(math.nan)
    total = Fraction(0)
    for part in parts:
        values = [Fraction(float(x)) for x in part]
        total += n * sum(x * x for x in values) - sum(values) ** 2
    if n <= ddof:
        return dtype.type(math.inf if total else math.nan)
    value = total / (n * (n - ddof))
    if not root:
        return reference.rounded(value, dtype)
    # A root between two floats, and on which side of their middle, decided by integers.
    scale = 2**2400
    below = Fraction(math.isqrt(int(value * scale * scale)), scale)
    sticky = 0 if below * below == value else Fraction(1, scale * 4)
    return reference.rounded(below + sticky, dtype)


def whole(array, op, device):
    """What comes of all elements, by what has been tested without states."""
    if op in ("var", "std"):
        given = array if array.dtype.kind not in "biu" else array.astype(np.float64)
        return spread(given, 0, op == "std")
    exactly = {"exact": True} if op in ("sum", "mean") else {}
    return getattr(gpureduce, op)(array, device=device, **exactly)


@st.composite
def cases(draw):
    """An operator, elements, and where they are cut."""
    op = draw(st.sampled_from((*OPS, *BITS_OF)))
    name = draw(st.sampled_from([*OTHERS[1:], *(() if op in BITS_OF else (*DTYPES, "complex64"))]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, 40))
    if name in DTYPES:
        array = draw(st.sampled_from(reference.KINDS))(rng, n, dtype_of(name))
    elif name == "complex64":
        parts = [draw(st.sampled_from(reference.KINDS))(rng, 40, dtype_of("float32"))[:n] for _ in range(2)]
        array = np.array(parts).T.copy().view(np.complex64).reshape(-1)
    else:
        array = rng.integers(0, 256, n * np.dtype(name).itemsize, np.uint8).view(name)
        if array.dtype.itemsize == 8:
            array //= 64  # so that sums fit
    if op == "prod" and name in (*DTYPES, "complex64"):
        array = np.sign(array.real).astype(array.dtype)  # exact in any order
    cuts = sorted(draw(st.lists(st.integers(0, len(array)), max_size=4)))
    return op, array, cuts, draw


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_any_parts_in_any_order(case, device):
    op, array, cuts, draw = case
    edges = [0, *cuts, len(array)]
    states = []
    for start, stop in itertools.pairwise(edges):
        options = {"offset": start} if op in PLACES else {}
        options["as_device"] = draw(st.booleans())
        states.append(gpureduce.partial(array[start:stop], op, device=device, **options))
    states[0] = pickle.loads(pickle.dumps(states[0]))
    total = merged(draw, states)
    if op in ("min", "max", *PLACES) and len(array) == 0:
        with pytest.raises(ValueError, match="no elements"):
            total.result()
        return
    got, want = total.result(), whole(array, op, device)
    if op in ("min", "max") and array.dtype.kind == "c":
        assert np.array_equal(got, want, equal_nan=True), (got, want)
    elif op in ("min", "max"):
        assert got == want or (got != got and want != want)  # a zero may have either sign
    elif op == "prod":  # of complex numbers either part may be a zero of either sign
        assert np.array_equal(got, want, equal_nan=array.dtype.kind not in "biu")
    elif op in ("sum", "mean") and array.dtype.kind == "c":
        assert same(got.real, want.real) and same(got.imag, want.imag), (got, want)
    elif np.asarray(want).dtype.kind in "biu":
        assert got == want and np.asarray(got).dtype == np.asarray(want).dtype, (got, want)
    else:
        assert same(got, want), (got, want)


@pytest.mark.parametrize("name", DTYPES)
def test_dot(name, device):
    rng = np.random.default_rng(5)
    a, b = (reference.any_bits(rng, 90, dtype_of(name)) for _ in range(2))
    with np.errstate(all="ignore"):
        want = reference.exact_dot(a, b)
    parts = [gpureduce.partial(a[i::3], "dot", b=b[i::3], device=device) for i in range(3)]
    assert same(functools.reduce(operator.add, parts).result(), want)


@pytest.mark.parametrize("op", OPS)
def test_axes(op, device):
    """States of several results, in any layout, on the host and on the device."""
    rng = np.random.default_rng(8)
    array = rng.standard_normal((4, 6, 5)).astype(np.float32).transpose(2, 0, 1)
    if op == "prod":
        array = np.sign(array)
    axis = 1 if op in PLACES else (0, 2)
    cut = 1 if op in PLACES else 2
    for there in (False, True):
        parts = []
        for start, stop in ((0, 2), (2, 3), (3, array.shape[cut])):
            part = np.take(array, range(start, stop), cut)
            part = gpureduce.to_device(part, device) if there else np.asfortranarray(part)
            offset = {"offset": start} if op in PLACES else {}
            parts.append(gpureduce.partial(part, op, axis, keepdims=True, device=device, **offset))
        total = parts[2] + parts[0] + parts[1]
        if op in ("var", "std"):
            rows = np.moveaxis(array, 1, 0).reshape(4, -1)
            want = np.array([spread(row, 0, op == "std") for row in rows]).reshape(1, 4, 1)
        else:
            exactly = {"exact": True} if op in ("sum", "mean") else {}
            want = getattr(gpureduce, op)(array, axis=axis, keepdims=True, device=device, **exactly)
        got = total.result()
        assert got.dtype == want.dtype and np.array_equal(got, want) and total.shape == want.shape


@pytest.mark.parametrize("name", [*DTYPES, "complex64", "complex128"])
def test_many_results_of_few_elements(name, device):
    """A thread makes whole states by itself."""
    real = dtype_of({"complex64": "float32", "complex128": "float64"}.get(name, name))
    rng = np.random.default_rng(9)
    kinds = (reference.any_bits, reference.specials, reference.cancelling, reference.near_ties)
    array = np.array([kinds[i % 4](rng, 6, real)[:6] for i in range(72)])
    array = array.view(name) if name.startswith("complex") else array
    for there in (array, np.asfortranarray(array), gpureduce.to_device(array, device)):
        total = gpureduce.partial(there, "sum", 1, device=device).result()
        var = gpureduce.partial(there, "var", 1, device=device).result()
        for row, sum_of_row, var_of_row in zip(array, total, var, strict=True):
            parts = row.view(real).reshape(len(row), -1).T
            for part, got in zip(parts, np.array([sum_of_row]).view(real), strict=True):
                assert same(got, exact_sum(part)), row
            assert same(var_of_row, spread(row)), row


def test_positions_in_the_whole(device):
    array = np.random.default_rng(1).integers(0, 9, (6, 7, 4))
    parts = [
        gpureduce.partial(array[i : i + 3, j:k], op, offset=(i, j, 0), within=array.shape, device=device)
        for op in PLACES
        for i in (3, 0)
        for j, k in ((4, 7), (0, 4))
    ]
    assert functools.reduce(operator.add, parts[:4]).result() == array.argmin()
    assert functools.reduce(operator.add, parts[4:]).result() == array.argmax()


def test_more_than_a_dtype_holds(device):
    """Integers as Python's, and floats whose parts overflow."""
    big = gpureduce.partial(np.full(4, 2**62), "sum", device=device)
    small = gpureduce.partial(np.full(3, -(2**62)), "sum", device=device)
    assert (big + small).result() == 2**62
    with pytest.raises(OverflowError, match=f"{2**64} does not fit int64"):
        big.result()
    assert gpureduce.partial(np.full(4, 2**64 - 1, np.uint64), "mean", device=device).result() == 2.0**64
    large = np.full(3, 1e308)
    total = gpureduce.partial(large, "sum", device=device) + gpureduce.partial(-large, "sum", device=device)
    assert total.result() == 0 and gpureduce.partial(large, "sum", device=device).result() == math.inf
    assert gpureduce.partial(large, "var", device=device).result() == 0


def test_infinities_in_any_part(device):
    inf, nan = math.inf, math.nan
    for values, total in (
        ([1, inf], inf),
        ([1, -inf], -inf),
        ([inf, -inf], nan),
        ([nan, 1], nan),
        ([1, nan, inf], nan),
        ([-0.0, -0.0], 0),
    ):
        for op in ("sum", "mean", "var"):
            parts = [gpureduce.partial(np.array([x], np.float32), op, device=device) for x in values]
            want = np.float32((nan if total else 0) if op == "var" else total)
            for some in (parts, parts[::-1]):
                assert same(functools.reduce(operator.add, some).result(), want), (op, values)


def test_ddof(device):
    state = gpureduce.partial(np.array([1.0, 2.0, 4.0], np.float32), "var", device=device)
    assert state.result() == spread(np.array([1, 2, 4], np.float32)) and state.result().dtype == np.float32
    assert state.result(ddof=1) == spread(np.array([1, 2, 4], np.float32), 1)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        assert state.result(ddof=3) == math.inf
    with pytest.raises(TypeError, match="ddof"):
        gpureduce.partial([1.0], "sum", device=device).result(ddof=1)


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_a_mask_leaves_out_elements(case, device):
    """To the byte, of what is finite: a state knows nothing of what does not count."""
    op, array, cuts, draw = case
    mask = np.array(draw(st.lists(st.booleans(), min_size=len(array), max_size=len(array))), bool)
    for at in cuts[:1]:
        mask[:at] = draw(st.booleans())
    state = gpureduce.partial(array, op, where=mask, device=device)
    if op in PLACES and mask.any():
        chosen = gpureduce.partial(array[mask], op, device=device)
        assert state.result() == np.flatnonzero(mask)[chosen.result()]
        assert np.array_equal(
            state._fields["value"], chosen._fields["value"], equal_nan=array.dtype.kind not in "biu"
        )
        return
    chosen = gpureduce.partial(array[mask], op, device=device)
    if op in ("min", "max", "prod") and array.dtype.kind not in "biu":  # the sign of a zero, and which NaN
        name, fields = "value", (state._fields, chosen._fields)
        assert np.array_equal(*(each[name] for each in fields), equal_nan=True)
    elif not np.isfinite(array[mask].astype(np.complex128)).all():  # finite parts next to them are anything
        assert np.array_equal(state.result(), chosen.result(), equal_nan=True)
    else:
        assert state.to_bytes() == chosen.to_bytes()


def test_masks_of_any_shape(device):
    a = np.random.default_rng(4).standard_normal((6, 40, 5)).astype(np.float32)
    mask = np.random.default_rng(5).random((40, 1)) < 0.4
    given, chosen = (a, gpureduce.to_device(a, device)), a[:, mask[:, 0]]
    for op in OPS:
        for each in given[: 1 if op in ("var", "std") else 2]:
            for axis in (1,) if op in PLACES else (1, (0, 1)):
                state = gpureduce.partial(each, op, axis, where=mask, keepdims=True, device=device)
                want = gpureduce.partial(chosen, op, axis, keepdims=True, device=device).result()
                if op in PLACES:
                    want = np.flatnonzero(mask)[want]
                got = state.result()
                assert got.dtype == want.dtype
                if op == "prod":
                    np.testing.assert_allclose(got, want, rtol=1e-4)
                else:
                    assert np.array_equal(got, want), (op, axis)
    none = gpureduce.partial(a, "argmax", 1, where=False, device=device)
    assert none.to_bytes() == gpureduce.partial(a[:, :0], "argmax", 1, device=device).to_bytes()
    one = gpureduce.partial(a[:, :20], "mean", 1, where=mask[:20], device=device)
    one += gpureduce.partial(a[:, 20:], "mean", 1, where=mask[20:], device=device)
    assert np.array_equal(one.result(), gpureduce.mean(a, axis=1, where=mask, exact=True, device=device))


@pytest.mark.parametrize("op", ["sum", "mean", "dot", "var", "std"])
def test_pieces(op, device, monkeypatch):
    """Large host arrays go to the device in pieces; short ones at once, which has the same bytes."""
    rng, made, there = np.random.default_rng(7), [], gpureduce._core.exact_states
    a, b = (reference.plain(rng, 1001, np.dtype(np.float32)).reshape(7, 13, 11) for _ in range(2))
    mask = rng.random(a.shape) < 0.7
    given = {"b": b.reshape(-1)} if op == "dot" else {}
    a = a.reshape(-1) if op == "dot" else a
    masked = {} if op == "dot" else {"where": mask}
    want = [gpureduce.partial(a, op, device=device, **given, **options) for options in ({}, masked)]
    monkeypatch.setattr(build, "single_launch_state", lambda *_: None)
    monkeypatch.setattr(fields, "_PIECE_BYTES", dict.fromkeys(fields._PIECE_BYTES, 400))
    monkeypatch.setattr(gpureduce._core, "exact_states", lambda *args: made.append(args) or there(*args))
    for options, state in zip(({}, masked), want, strict=True):
        made.clear()
        got = gpureduce.partial(a, op, device=device, **given, **options)
        assert got.to_bytes() == state.to_bytes()
        assert len(made) >= 11
    for axis in () if op == "dot" else (0, (0, 1)):
        assert len(gpureduce.partial(a, op, axis, device=device).result()) > 1


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("step", [1, 2])
def test_many_blocks_hand_one_state_over(name, step, device):
    """In the window's slots and, of elements with gaps, through memory that counts the blocks."""
    a = reference.plain(np.random.default_rng(8), 30_000, dtype_of(name))[::step]
    for op in ("sum", "mean", "var"):
        state = gpureduce.partial(a, op, device=device)
        parts = [gpureduce.partial(part, op, device=device) for part in np.array_split(a, 60)]
        assert state.to_bytes() == functools.reduce(operator.add, parts).to_bytes()
    assert same(gpureduce.partial(a, "sum", device=device).result(), exact_sum(a))


def test_pieces_are_on_the_device_one_at_a_time(device, monkeypatch):
    """The device need not hold all of them."""
    alive, most, there = weakref.WeakSet(), [], call.to_device

    def placed(*args):
        alive.add(array := there(*args))
        most.append(len(alive))
        return array

    monkeypatch.setattr(build, "single_launch_state", lambda *_: None)
    monkeypatch.setattr(fields, "_PIECE_BYTES", dict.fromkeys(fields._PIECE_BYTES, 400))
    monkeypatch.setattr(call, "to_device", placed)
    a = reference.plain(np.random.default_rng(7), 1001, np.dtype(np.float32))
    for op in ("var", "std"):
        gpureduce.partial(a, op, device=device, where=a > 0)
    assert len(most) >= 22 and max(most) == 1


def test_no_elements_run_no_kernel(monkeypatch):
    monkeypatch.setattr(gpureduce._core, "exact_states", None)
    monkeypatch.setattr(gpureduce._core, "general", None)
    for op in OPS:
        state = gpureduce.partial(np.empty((0, 3)), op, 0, device="sim")
        assert state.shape == (3,)
    assert gpureduce.partial(np.empty((3, 0)), "sum", 0, device="sim").result().shape == (0,)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: gpureduce.partial([1], "median"), "unknown operator 'median'"),
        (lambda: gpureduce.partial([1], "dot"), "b: missing for dot"),
        (lambda: gpureduce.partial([1], "sum", b=[1]), "b: only for dot"),
        (lambda: gpureduce.partial([1], "dot", b=[1], device="sim"), "dot: states require floating-point"),
        (lambda: gpureduce.partial([1.0], "max", dtype=float), "dtype: not supported for max"),
        (lambda: gpureduce.partial(np.empty(0), "bitwise_or", device="sim"), "takes bool and integers"),
        (lambda: gpureduce.partial([1.0], "var", dtype=int, device="sim"), "needs a floating-point"),
        (lambda: gpureduce.partial([1.0], "mean", dtype=int, device="sim"), "needs a floating-point"),
        (lambda: gpureduce.partial([1.0], "sum", dtype=bool, device="sim"), "exact sums of float64 cannot"),
        (lambda: gpureduce.partial([1.0], "argmax", offset=-1, device="sim"), "expected 0 or more"),
        (
            lambda: gpureduce.partial([1.0], "dot", b=[1.0], where=[True], device="sim"),
            "where: not supported for dot",
        ),
        (
            lambda: gpureduce.partial([1.0], "sum", where=[True], device=["sim"]),
            "where: not supported with several devices",
        ),
        (
            lambda: gpureduce.partial(gpureduce.to_device([1.0], "sim"), "var", where=[True]),
            "where: not supported for var of a device array",
        ),
        (lambda: gpureduce.partial([[1.0]], "argmax", 0, within=(3,), device="sim"), "within"),
        *[
            (
                lambda op=op, given=given, device=device: gpureduce.partial(
                    [1.0, 2.0], op, **given, device=device
                ),
                error,
            )
            for op in ("sum", "argmax")
            for device in ("sim", ["sim"])
            for given, error in [
                ({"offset": np.array([1, None], object)}, "offset: expected an integer"),
                ({"offset": np.zeros(2, "i4,f4")}, "offset: expected an integer"),
                ({"offset": (1, "2"), "within": (4,)}, "offset: expected a tuple of integers"),
                ({"within": 4}, "within: expected a tuple of integers"),
                ({"within": ("4",)}, "within: expected a tuple of integers"),
            ]
        ],
        (
            lambda: gpureduce.partial([1.0], "argmax", offset=(0,), device="sim"),
            "offset: .* as within is None",
        ),
        (lambda: gpureduce.State(), "use gpureduce.partial"),
        (lambda: gpureduce.partial([1], "sum", device="sim") + 1, "unsupported operand"),
    ],
)
def test_refused(call, error):
    with pytest.raises((TypeError, ValueError), match=error):
        call()


def test_states_of_different_reductions(device):
    one = gpureduce.partial([1.0], "sum", device=device)
    for other in (
        gpureduce.partial([1.0], "mean", device=device),
        gpureduce.partial([1], "sum", device=device),
        gpureduce.partial([[1.0]], "sum", 0, device=device),
    ):
        with pytest.raises(ValueError, match="different reductions"):
            one += other
    assert one.result() == 1


# Bytes

BITS = {exact.NARROW: 160, exact.WIDE: 1088, exact.WIDEST: 2176, exact.WHOLE: 0}
LENGTHS = {exact.NARROW: 56, exact.WIDE: 280, exact.WIDEST: 568, exact.WHOLE: 16}
F32, F64, I64, BOOL = 11, 12, 4, 0


def head(op, held, dtype, *shape):
    return struct.pack(f"<4sHBBBBH{len(shape)}Q", b"gred", 1, op, held, dtype, len(shape), 0, *shape)


def sum_of(size, value, flags=8):
    return bytes([flags]) + int(value * 2 ** BITS[size]).to_bytes(LENGTHS[size], "little", signed=True)


BY_HAND = {
    "sum": (head(0, F32, F32) + sum_of(exact.NARROW, Fraction(5, 2)), np.float32(2.5)),
    "sum of integers": (head(0, I64, I64) + sum_of(exact.WHOLE, -7), np.int64(-7)),
    "infinity": (head(0, F64, F64) + sum_of(exact.WIDE, 0, 8 | 2), np.float64(math.inf)),
    "NaN": (head(0, F64, F64) + sum_of(exact.WIDE, 0, 8 | 2 | 4), np.float64(math.nan)),
    "mean": (head(1, F64, F64) + struct.pack("<Q", 3) + sum_of(exact.WIDE, -1), np.float64(-1 / 3)),
    "dot": (head(2, F64, F64) + sum_of(exact.WIDEST, 12), np.float64(12)),
    "var": (
        head(3, F32, F32) + struct.pack("<Q", 2) + sum_of(exact.NARROW, 6) + sum_of(exact.WIDE, 20),
        np.float32(1),
    ),
    "std": (
        head(4, F64, F64) + struct.pack("<Q", 2) + sum_of(exact.WIDE, 6) + sum_of(exact.WIDEST, 26),
        np.float64(2),
    ),
    "max": (head(6, F32, F32) + struct.pack("<Qf", 9, 1.5), np.float32(1.5)),
    "argmax": (head(8, F64, I64) + struct.pack("<Qdq", 9, 1.5, 4), np.int64(4)),
    "any": (head(9, BOOL, BOOL) + b"\1", np.True_),
    "counts": (head(11, I64, I64, 2) + struct.pack("<2q", 5, 6), np.array([5, 6])),
    "prod": (head(12, F64, F64, 1, 2) + struct.pack("<2d", 5, 6), np.array([[5.0, 6.0]])),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_bytes_by_hand(name):
    data, want = BY_HAND[name]
    state = gpureduce.State.from_bytes(data)
    got = state.result()
    assert np.array_equal(got, want, equal_nan=True) and got.dtype == want.dtype
    assert state.to_bytes() == data


WIRE_FORMAT = json.loads((Path(__file__).parents[1] / "data" / "states.json").read_text())["states"]


@pytest.mark.parametrize("row", WIRE_FORMAT, ids=lambda row: f"{row['op']}-{row['dtype']}-{row['axis']}")
def test_bytes_of_committed_states_stay_as_they_are(row):
    """tests/tools/make_state_bytes.py wrote them; version 1 of the wire format never changes."""
    dtype = np.dtype(row["dtype"]).newbyteorder("<")
    arrays = [np.frombuffer(bytes.fromhex(text), dtype).reshape(row["shape"]) for text in row["elements"]]
    other = arrays[1] if row["op"] == "dot" else None
    built = gpureduce.partial(arrays[0], row["op"], row["axis"], b=other, device="sim")
    assert built.to_bytes().hex() == row["state"]
    read = gpureduce.State.from_bytes(bytes.fromhex(row["state"]))
    assert (read.op, read.dtype, read.shape) == (built.op, built.dtype, built.shape)
    assert np.asarray(read.result()).tobytes().hex() == row["result"]
    assert read.to_bytes().hex() == row["state"]


@pytest.mark.parametrize("op", OPS)
def test_bytes_there_and_back(op, device):
    array = np.random.default_rng(2).standard_normal((3, 4))
    state = gpureduce.partial(array, op, 1, device=device)
    data = state.to_bytes()
    back = gpureduce.State.from_bytes(data)
    assert back.to_bytes() == data and (back.op, back.dtype, back.shape) == (op, state.dtype, (3,))
    assert np.array_equal(back.result(), state.result())
    back += state
    assert (back.to_bytes() != data or op in ("any", "all")) and state.to_bytes() == data  # nothing is shared


def test_equal_sums_are_equal_bytes(device):
    """The parts and their order leave no trace."""
    array = reference.any_bits(np.random.default_rng(4), 60, np.dtype(np.float64))
    want = gpureduce.partial(array, "var", device=device).to_bytes()
    parts = [gpureduce.partial(array[i::7], "var", device=device) for i in range(7)]
    assert functools.reduce(operator.add, reversed(parts)).to_bytes() == want


def test_sizes_are_those_of_the_core(device):
    for name in (*DTYPES, "complex64", "complex128"):
        dtype = np.dtype(name) if name.startswith("complex") else dtype_of(name)
        one = np.ones(3, dtype)
        for op, size in (("sum", exact.size_of_sum(dtype)), ("dot", exact.size_of_products(dtype))):
            place = gpureduce.to_device(np.zeros(1), device)
            second = one if op == "dot" else None
            words = gpureduce._core.exact_states(one, op, (0,), second, place._kind, place._index, 0)
            assert words.shape == (1, exact.parts(dtype), size.words) and LENGTHS[size] == 4 * size.digits


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(BY_HAND)), st.data())
def test_hostile_bytes(name, data):
    """ValueError, or a state that can be merged and asked for its result."""
    given_bytes = bytearray(BY_HAND[name][0])
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(given_bytes) - 1))
        given_bytes[at] = data.draw(st.sampled_from([0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF]))
    end = data.draw(st.one_of(st.just(len(given_bytes)), st.integers(0, len(given_bytes) + 9)))
    given_bytes = (bytes(given_bytes) + bytes(9))[:end]
    try:
        state = gpureduce.State.from_bytes(given_bytes)
    except ValueError:
        return
    assert state.to_bytes() == given_bytes and state.op in OPERATORS
    try:
        (state + state).result()
        state.result(ddof=1 if state.op in ("var", "std") else 0)
    except (ValueError, OverflowError):
        pass


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"gred",
        bytes(64),
        BY_HAND["sum"][0] + b"\0",
        BY_HAND["sum"][0][:-1],
        b"gred\2\0" + BY_HAND["sum"][0][6:],
        head(0, F32, F64) + sum_of(exact.NARROW, 1),
        head(0, F32, F32) + sum_of(exact.NARROW, 1, 16),
        head(1, F64, F64) + struct.pack("<Q", 2**63) + sum_of(exact.WIDE, 1),
        head(9, BOOL, BOOL) + b"\2",
        head(8, F64, I64) + struct.pack("<Qdq", 9, 1.5, -4),
        head(6, F32, F32, *[2**62] * 3),
        head(6, F32, F32, 0, 2**63),
        head(6, F32, F32, 0, *[2**40] * 3),
    ],
)
def test_refused_bytes(data):
    with pytest.raises(ValueError):
        gpureduce.State.from_bytes(data)


def test_a_sum_beyond_a_state():
    top = gpureduce.State.from_bytes(head(0, F64, F64) + b"\x08" + b"\xff" * 279 + b"\x7f")
    before = top.to_bytes()
    with pytest.raises(OverflowError):
        top += top
    assert top.to_bytes() == before
    assert top.result() == math.inf
    with pytest.raises(OverflowError, match="elements"):
        gpureduce.State.from_bytes(head(6, F32, F32) + struct.pack("<Qf", 2**62, 1.5)) + (
            gpureduce.State.from_bytes(head(6, F32, F32) + struct.pack("<Qf", 2**62, 1.5))
        )


OVERFLOWING = [
    ("mean", [1.0, 3.0], "float64"),
    ("mean", [1, 3], "int64"),
    ("sum", [2**59, 2**59], "int64"),
    ("sum", [-(2**59), -(2**59)], "int64"),
    ("sum", [1.5, -1e300], "float64"),
    ("sum", [1.5, 3.0], "float32"),
    ("var", [1.0, 2.0], "float64"),
    ("std", [1.0, 2.0], "float32"),
    ("min", [1.0, 2.0], "float64"),
    ("max", [1, 2], "int32"),
    ("argmin", [1.0, 2.0], "float64"),
    ("argmax", [1, 2], "int16"),
    ("count_nonzero", [1, 1], "int64"),
]


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize(("op", "elements", "dtype"), OVERFLOWING)
def test_an_overflow_is_told_of_however_many_merges_later(op, elements, dtype, place, device):
    """Two thousand doublings: whatever wrapped would be 0 by then."""
    state = gpureduce.partial(np.array(elements, dtype), op, device=device, as_device=place == "device")
    fine = None
    with pytest.raises(OverflowError):
        for i in range(1200 if op == "sum" else 200):
            state = state + state
            if place == "host" or i < 2:
                fine = state.result()
        state.result()
    assert fine is not None
    if place == "device":
        with pytest.raises(OverflowError):
            state.to_bytes()
        fresh = gpureduce.partial(np.array(elements, dtype), op, device=device, as_device=True)
        with pytest.raises(OverflowError):
            (fresh + state).to_host()


def test_bytes_of_a_count_below_0_are_refused(device):
    data = bytearray(gpureduce.partial([1, 0, 2], "count_nonzero", device=device).to_bytes())
    data[-1] |= 0x80
    with pytest.raises(ValueError, match="below 0"):
        gpureduce.State.from_bytes(bytes(data))
