"""Views of arrays on devices against NumPy's: indices, shapes, orders of axes; and what is done with them."""

import copy
import gc
import inspect
import pickle
import threading
import warnings

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._arrays.device_array import empty, to_device
from gpureduce._device.devices import resolve
from gpureduce._rules.dtypes import COVERAGE
from tests.support.producers import DTYPES, numbers

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

OPERATORS = tuple(COVERAGE)
ends = st.one_of(st.none(), st.integers(-7, 7), st.sampled_from([2**62, -(2**62), 2**70]))
steps = st.one_of(st.none(), st.integers(-3, 3).filter(bool), st.sampled_from([2**62, -(2**70)]))
parts = st.one_of(st.builds(slice, ends, ends, steps), st.integers(-3, 3), st.none(), st.just(Ellipsis))


def keys(ndim):
    """Indices, most of which fit an array of that many dimensions."""
    return st.lists(parts, max_size=ndim + 1).map(tuple)


@pytest.fixture
def in_use(device):
    """How many bytes of the device's memory somebody has."""
    if device != "sim":
        pytest.skip("the simulator counts them")
    gpureduce.free_memory()  # as a test does: tables of labels that other tests passed are kept until then
    gc.collect()
    first = bytes_left()
    return lambda: first - bytes_left()


def bytes_left():
    with pytest.raises(MemoryError) as refused:
        _core.device_alloc(_core.SIM, 0, 2**62)
    return int(str(refused.value).split("asked for, ")[1].split(" of ")[0])


def lengths(size):
    """Shapes of that many elements, with a -1 now and then."""
    found = [(size,), (-1,), (1, size), (size, 1), (-1, 1), (size + 1,), (-1, -1), (0, -1)]
    found += [(n, size // n) for n in range(1, size + 1) if size % n == 0]
    found += [(a, b, -1) for a in range(1, 5) for b in range(1, 5) if size % (a * b) == 0]
    return st.sampled_from(found)


def indexed(a, key):
    """What an index asks for, as an array also where NumPy gives a scalar."""
    if isinstance(a, np.ndarray) and Ellipsis not in key:
        key = (*key, Ellipsis)
    return a[key]


def changes(array):
    """Something that both NumPy's arrays and ours can do, as (what, function)."""
    ndim = array.ndim
    axes = st.integers(-ndim - 1, ndim)
    index = keys(ndim).map(lambda key: (f"[{key}]", lambda a: indexed(a, key)))
    return st.one_of(
        index,
        index,
        lengths(array.size).map(lambda n: (f"reshape{n}", lambda a: a.reshape(n))),
        lengths(array.size).map(lambda n: (f"reshape{n} F", lambda a: a.reshape(*n, order="F"))),
        st.permutations(range(ndim)).map(lambda order: (f"T{order}", lambda a: a.transpose(*order))),
        st.tuples(axes, axes).map(lambda two: (f"swap{two}", lambda a: a.swapaxes(*two))),
        st.one_of(st.none(), axes).map(lambda axis: (f"squeeze({axis})", lambda a: a.squeeze(axis))),
        st.just(("T", lambda a: a.T)),
        st.just(("ravel", lambda a: a.ravel())),
        st.just(("ravel F", lambda a: a.ravel("F"))),
    )


def outcome(function, *given):
    try:
        return function(*given), None
    except (IndexError, ValueError, TypeError) as error:
        return None, type(error)


def assert_like(ours, theirs):
    """The same elements, in the same order in memory."""
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype and ours.ndim == theirs.ndim
    taken = [pair for n, *pair in zip(theirs.shape, ours.strides, theirs.strides, strict=True) if n > 1]
    assert not theirs.size or all(one == other for one, other in taken)
    back = ours.numpy()
    assert back.shape == theirs.shape and back.dtype == theirs.dtype
    assert back.tobytes() == theirs.tobytes()


@st.composite
def views(draw):
    """An array of NumPy's, and a few things to do with it, the last of which may be refused."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    host = np.asarray(numbers(tuple(draw(st.lists(st.integers(0, 5), max_size=4))), dtype))
    made, theirs, failed = [], host, None
    for _ in range(draw(st.integers(1, 4))):
        if failed is None:
            made.append(draw(changes(theirs)))
            theirs, failed = outcome(made[-1][1], theirs)
    return host, made


@pytest.fixture
def drawing(exhaustive, thin):
    """Decorates a test with Hypothesis: a number of cases, ten times as many where there is time."""

    def drawing(cases, *strategies):
        count = -(-cases // 6) if thin else cases * (10 if exhaustive else 1)
        settings = hypothesis.settings(max_examples=count, deadline=None, derandomize=True, database=None)
        return lambda function: settings(hypothesis.given(*strategies)(function))

    return drawing


def test_views_are_numpys(device, drawing):
    seen = {"view": 0, "copy": 0, "refused": 0}

    @drawing(300, views())
    def check(case):
        theirs, made = case
        ours = to_device(theirs, device)
        for what, change in made:
            hypothesis.note(what)
            before, theirs_before = ours, theirs
            (ours, failed), (theirs, wanted) = outcome(change, before), outcome(change, theirs_before)
            if wanted is not None:
                assert failed is not None and issubclass(wanted, failed)
                seen["refused"] += 1
                return
            assert failed is None
            assert_like(ours, theirs)
            shared = ours.base is not None and any(ours.base is one for one in (before, before.base))
            if theirs.size:
                assert shared == np.shares_memory(theirs, theirs_before)
                seen["view" if shared else "copy"] += 1

    check()
    assert all(seen.values()), seen


NUMPYS = ("sum", "prod", "min", "max", "mean", "any", "all", "count_nonzero", "argmin", "argmax")


def test_reductions_of_views(device, drawing):
    """They are NumPy's of the same elements."""
    reduced = []

    @drawing(30, views(), st.integers(-2, 3), st.booleans())
    def check(case, axis, method):
        host, made = case
        host = np.where(host > 0, 1, -1).astype(host.dtype)  # nothing is rounded
        ours = to_device(host, device)
        for _, change in made:
            (new, _), (changed, failed) = outcome(change, ours), outcome(change, host)
            if failed is None:
                ours, host = new, changed
        axis = axis if -host.ndim <= axis < host.ndim else None
        for op in NUMPYS:
            if op in ("min", "max", "argmin", "argmax", "mean") and not all(host.shape):
                continue
            wanted = getattr(np, op)(host, axis=axis)
            got = getattr(ours, op)(axis=axis) if method else getattr(gpureduce, op)(ours, axis=axis)
            assert isinstance(got, gpureduce.DeviceArray) == (axis is not None)
            got = got if axis is None else got.numpy()
            assert np.shape(got) == np.shape(wanted) and got.dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(got, wanted, rtol=1e-3 if op == "mean" else 0)
            reduced.append(op)

    check()
    assert set(reduced) == set(NUMPYS)


# Indices


@pytest.mark.parametrize("key", [[0], np.array([0, 1]), np.ones(4, bool), True, np.True_, 1.0, "0", (0, [1])])
def test_advanced_indices_name_where_they_work(key, device):
    array = to_device(numbers((4, 4), "int32"), device)
    with pytest.raises(IndexError, match=r"torch\.from_dlpack"):
        array[key]
    with pytest.raises(IndexError, match="single ellipsis"):
        array[..., ...]


def test_integers_of_all_kinds_are_indices(device):
    host = numbers((4, 3), "int16")
    array = to_device(host, device)
    for one in (1, np.int8(1), np.array(1), to_device(1, device)):
        assert array[one].tolist() == host[1].tolist() and array[one, one].item() == host[1, 1]


def test_no_element_is_set(device):
    array = to_device([1.0, 2.0], device)
    with pytest.raises(TypeError, match="does not support item assignment"):
        array[0] = 3.0


def test_iteration(device):
    host = numbers((3, 2), "float32")
    array = to_device(host, device)
    assert [row.tolist() for row in array] == host.tolist()
    assert all(row.base is array for row in array) and list(to_device([], device)) == []
    for refused in (iter, len, list):
        with pytest.raises(TypeError, match="0-d array"):
            refused(to_device(1.0, device))


def test_more_axes_than_a_kernel_takes(device):
    host = numbers((3,) * 6, "complex128")
    for change in (lambda a: a[::2, ::2, ::2, ::2, ::2, ::2], lambda a: a[::-1, :2, ::2, 1:, :2, ::2].T):
        view, wanted = change(to_device(host, device)), change(host)
        assert view.copy().numpy().tobytes() == wanted.tobytes() == view.numpy().tobytes()
        with pytest.raises(ValueError, match="copy it to C order first"):
            view.sum()
        assert view.copy().sum() == wanted.sum()


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_keep_every_bit(dtype, device):
    bits = np.random.default_rng(1).integers(
        0, 2 if dtype == "bool" else 256, 6 * 5 * np.dtype(dtype).itemsize
    )
    host = bits.astype(np.uint8).view(dtype).reshape(6, 5)
    array = to_device(host, device)
    for change in (lambda a: a, lambda a: a[::-1, ::3], lambda a: a.T, lambda a: a[:, 1], lambda a: a[2:2]):
        view, wanted = change(array), change(host)
        for twin in (view.copy(), copy.copy(view), copy.deepcopy(view), pickle.loads(pickle.dumps(view))):
            assert twin.base is None and twin.strides == np.ascontiguousarray(wanted).strides
            assert twin.numpy().tobytes() == wanted.tobytes()
            assert twin.stream == view.stream and (twin._pointer != view._pointer or not wanted.size)


def test_few_elements_of_many_are_gathered_where_they_lie(device, monkeypatch):
    array = to_device(np.arange(40000.0).reshape(200, 200), device)
    read = []

    def device_read(kind, index, pointer, out, *stream, real=_core.device_read):
        read.append(out.nbytes)
        real(kind, index, pointer, out, *stream)

    monkeypatch.setattr(_core, "device_read", device_read)
    assert array[:, 3].tolist() == list(range(3, 40000, 200)) and read == [200 * 8]


@pytest.mark.parametrize("order", ["C", "F"])
def test_ravelled_elements_lie_side_by_side(order, device):
    host = numbers((6, 4), "int16")
    array = to_device(host, device)
    for change in (lambda a: a, lambda a: a.T, lambda a: a[::-1, 0], lambda a: a[::2], lambda a: a[2]):
        ours, theirs = change(array).ravel(order), change(host).ravel(order)
        assert_like(ours, theirs)
        assert (ours.base is array) == np.shares_memory(theirs, host)
    with pytest.raises(ValueError, match="order"):
        array.ravel("K")


def test_shapes_that_are_none(device):
    array = to_device(np.ones((2, 6)), device)
    assert array.T.reshape(3, 4, copy=True).base is not array
    assert array.reshape((12,), copy=False).base is array
    for shape, options, said in (
        ((5,), {}, "cannot reshape array of size 12"),
        ((-1, 5), {}, "cannot reshape array of size 12"),
        ((-1, -1), {}, "one unknown"),
        ((-2, 6), {}, "negative"),
        ((12,), {"order": "K"}, "order"),
    ):
        with pytest.raises(ValueError, match=said):
            array.reshape(shape, **options)
    with pytest.raises(ValueError, match="unable to avoid a copy"):
        array.T.reshape(12, copy=False)
    with pytest.raises(ValueError, match="undefined"):
        _ = array[0].mT
    assert array.mT.shape == (6, 2)


@pytest.mark.parametrize(
    "given", [((2, 3), (24, 8), 8), ((2, 3), (24, 8), -8), ((3,), (-8,), 0), ((2,), (3,), 0)]
)
def test_the_core_makes_no_view_that_leaves_its_array(given, device):
    array = to_device(np.ones((2, 3)), device)
    with pytest.raises(ValueError, match="leaves its array"):
        _core.array_view(array, *given)
    with pytest.raises(ValueError, match="leaves its array"):
        _core.array_view(array[1], (4,), (8,), 0)
    with pytest.raises(ValueError, match="one an axis"):
        _core.array_view(array, (2, 3), (8,), 0)


# astype


@pytest.mark.parametrize("to", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_astype_saturates_and_makes_0_of_nan(to, device):
    limits = np.iinfo(to)
    ends = [float(end) * factor for end in (limits.min, limits.max) for factor in (0.999, 1, 1.001, 2, -1)]
    for dtype in ("float16", "float32", "float64", "complex64", "complex128"):
        values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.75, -0.75, 99.5, -127.5, 3e38, -3e38, *ends]
        with np.errstate(all="ignore"):
            a = np.array(values).astype(dtype)
        # int() is exact, and cuts towards 0.
        whole = [0 if x != x else int(np.clip(x, -1e30, 1e30)) for x in a.real.astype(np.float64).tolist()]
        expected = np.array([min(max(x, limits.min), limits.max) for x in whole], to)
        np.testing.assert_array_equal(
            gpureduce.to_device(a, device).astype(to).numpy(), expected, err_msg=dtype
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(dtype, device):
    host = numbers((4, 6), "int16") % 7
    array = to_device(host, device)
    for change in (lambda a: a, lambda a: a.T, lambda a: a[::-2]):
        got = change(array).astype(dtype)
        assert got.dtype == dtype and got.device == array.device and got.base is None
        np.testing.assert_array_equal(got.numpy(), change(host).astype(dtype))
        back = got.astype(dtype)
        assert back is not got and got.astype(dtype, copy=False) is got


def extremes(dtype):
    """Numbers at the ends of a dtype, and those that other dtypes round."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        more = [info.min, info.max, info.max // 3, 0, 1, 2 ** min(info.bits - 2, 53) + 1, 2049, 257]
        return np.array([value for value in more if value <= info.max], dtype)
    near = [0.0, -0.0, 1.5, -2.5, 0.1, 65504.0, 6.1e-5, 5e-8, np.inf, -np.inf, np.nan, 2.0**20 + 0.4, 1 / 3]
    with np.errstate(all="ignore"):
        found = np.array(near).astype(dtype)
        return found - 1j * found[::-1] if dtype.kind == "c" else found


@pytest.mark.parametrize("source", DTYPES)
def test_conversions_are_numpys(source, device):
    """Bit by bit, but for NaNs, and where a float is no integer of the dtype."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = extremes(source)
    array = to_device(host, device)
    for dtype in (*DTYPES, ml_dtypes.bfloat16):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted, held = host.astype(dtype), np.ones(host.shape, bool)
            if np.dtype(dtype).kind in "iu" and host.dtype.kind in "fc":
                info = np.iinfo(dtype)
                whole = np.trunc(host.real.astype(np.float64))
                held = (whole >= info.min) & (whole <= info.max - (info.bits > 50) * 2**11)
        got = array.astype(dtype).numpy()
        assert got.dtype == wanted.dtype
        as_numbers = [each[held].astype("c16").view("f8") for each in (got, wanted)]
        np.testing.assert_array_equal(*as_numbers, err_msg=str(dtype))
        signs = [np.signbit(each)[~np.isnan(as_numbers[1])] for each in as_numbers]
        assert np.array_equal(*signs)


def test_conversions_of_bfloat16(device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = extremes("float32").astype(ml_dtypes.bfloat16)
    array = to_device(host, device)
    for dtype in ("float16", "float32", "float64", "complex64", "bool"):
        np.testing.assert_array_equal(array.astype(dtype).numpy(), host.astype(dtype))


def test_conversions_of_many(device):
    """More elements than the threads of a grid take at once, and more axes than the kernel does."""
    host = np.arange(3000 if device == "sim" else 3_000_000, dtype=np.int32)
    np.testing.assert_array_equal(to_device(host, device).astype("f8").numpy(), host.astype("f8"))
    deep = numbers((3,) * 6, "int16")
    view = to_device(deep, device)[::2, ::2, ::2, ::2, ::2, ::2]
    np.testing.assert_array_equal(view.astype("f4").numpy(), deep[::2, ::2, ::2, ::2, ::2, ::2].astype("f4"))
    assert to_device(deep, device)[:0].astype("f4").shape == (0, 3, 3, 3, 3, 3)


def test_astype_refuses_unsafe_and_unknown_dtypes(device):
    array = to_device([1.5, 2.5], device)
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        array.astype("int8", casting="safe")
    with pytest.raises(TypeError, match="not supported"):
        array.astype("U3")


# Numbers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_is_a_number(dtype, shape, device):
    host = np.full(shape, 5, dtype)
    array = to_device(host, device)
    assert array.item() == host.item() and type(array.item()) is type(host.item())
    assert bool(array) is True and bool(to_device(np.zeros(shape, dtype), device)) is False
    assert complex(array) == complex(host.item())
    if np.dtype(dtype).kind != "c":
        assert (int(array), float(array)) == (int(host.item()), float(host.item()))
    if np.dtype(dtype).kind in "iu" and not shape:
        assert list(range(10))[array] == 5
    else:
        with pytest.raises(TypeError, match="scalar index"):
            range(10)[array]


def test_the_answer_of_any_is_true_or_false(device):
    array = to_device([0.0, 0.0, 2.0], device)
    assert bool(gpureduce.any(array, axis=0)) and not bool(gpureduce.all(array, axis=0))
    assert f"{array.max(axis=0):.2f}" == "2.00"


def test_items(device):
    host = numbers((3, 4), "int64")
    array = to_device(host, device)
    for index in ((5,), (-1,), (2, 3), (-1, -4), ((1, 2),)):
        assert array.item(*index) == host.item(*index)
    for index in ((12,), (3, 0)):
        with pytest.raises(IndexError):
            array.item(*index)
    with pytest.raises(ValueError, match="incorrect number"):
        array.item(0, 0, 0)
    for several in (array, array[:0]):
        with pytest.raises(ValueError, match="size 1"):
            several.item()
        with pytest.raises(ValueError, match="ambiguous"):
            bool(several)
        for number in (int, float, complex):
            with pytest.raises(TypeError, match="one element"):
                number(several)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a + 1, lambda a: 1 - a, lambda a: a * a, lambda a: np.ones(2) / a, lambda a: a // 2,
        lambda a: a % 2, lambda a: 2**a, lambda a: -a, lambda a: abs(a), lambda a: ~a, lambda a: a & 1,
        lambda a: a << 1, lambda a: a < 1, lambda a: a == 1, lambda a: a != a, lambda a: np.float64(1) >= a,
        lambda a: divmod(a, 2), lambda a: a.__iadd__(1) if hasattr(a, "__iadd__") else a + 1,
    ],
)  # fmt: skip
def test_arithmetic_is_for_others(call, device):
    with pytest.raises(TypeError, match=r"torch\.from_dlpack\(a\)"):
        call(to_device([1.0, 2.0], device))


def test_arrays_are_told_apart(device):
    """As keys they are what they are, whatever their elements."""
    one, other = to_device([1.0], device), to_device([1.0], device)
    assert {one: 1, other: 2}[one] == 1 and hash(one) == hash(one)


def test_products_with_an_operator(device):
    one, other = numbers((3, 4), "float32"), numbers((4, 2), "float32")
    a, b = to_device(one, device), to_device(other, device)
    assert (a @ b).numpy().tolist() == (one @ other).tolist() == (b.T @ a.T).T.numpy().tolist()


def test_numpys_functions_find_the_methods(device):
    host = numbers((3, 4), "float64")
    array = to_device(host, device)
    for name in ("sum", "prod", "max", "min", "mean", "any", "all", "argmin", "argmax"):
        got = getattr(np, name)(array, axis=0)
        assert isinstance(got, gpureduce.DeviceArray)
        np.testing.assert_allclose(got.numpy(), getattr(np, name)(host, axis=0))
    assert np.transpose(array).base is array and np.reshape(array, (2, 6)).base is array


def test_all_functions_of_an_array_are_methods():
    first = {name: next(iter(inspect.signature(getattr(gpureduce, name)).parameters)) for name in OPERATORS}
    assert set(first.values()) == {"a"}
    for name in OPERATORS:
        assert getattr(gpureduce.DeviceArray, name) is getattr(gpureduce, name)


# Text


def test_large_arrays_are_shown_by_their_ends(device, monkeypatch):
    host = np.arange(250000.0).reshape(500, 10, 50)
    array = to_device(host, device)
    sizes = []
    real = _core.device_read
    monkeypatch.setattr(_core, "device_read", lambda *given: [sizes.append(given[3].nbytes), real(*given)])
    text = repr(array)
    assert text.splitlines()[0] == repr(host).replace("array(", "DeviceArray(").splitlines()[0]
    as_numpy = "".join(repr(host).split()).removeprefix("array(")
    assert "".join(text.split()).startswith(f"DeviceArray({as_numpy.split('],shape')[0].rstrip(')')}"[:-1])
    assert text.endswith(f"shape=(500, 10, 50), dtype=float64, device={array.device!r})")
    assert str(array) == str(host)
    html = array._repr_html_()
    assert "shape (500, 10, 50)" in html and "2,000,000 bytes" in html and "..." in html
    assert sum(sizes) < host.nbytes // 10


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (4,), (2, 3), (7, 7, 7, 7)])
def test_text_is_numpys(shape, device):
    host = numbers(shape, "float32")
    array = to_device(host, device)
    assert str(array) == str(host)
    if host.size:
        body = np.array2string(host, separator=", ", prefix="DeviceArray(", suffix=",")
        assert repr(array).startswith(f"DeviceArray({body},")
    assert (f"shape={shape}" in repr(array)) == (shape in ((0, 3), (7, 7, 7, 7)))
    assert repr(array).endswith(f"dtype=float32, device={array.device!r})")


def test_html_says_what_it_is(device):
    array = to_device(np.array([[1, 2], [3, 4]], np.int8), device)
    html = array._repr_html_()
    assert "[[1, 2]" in html and "int8" in html and array.device in html and "a view" not in html
    assert "a view" in array[0]._repr_html_()


def test_text_of_what_cannot_be_read(device, monkeypatch):
    array = to_device([1.0, 2.0], device)

    def captured(*given):
        raise ValueError("stream: a result that is captured into a graph cannot be read on the host")

    monkeypatch.setattr(_core, "device_read", captured)
    assert repr(array) == f"DeviceArray(shape=(2,), dtype=float64, device={array.device!r})"
    assert "float64" in array._repr_html_()


# Lives


def test_views_keep_memory(in_use, device):
    array = to_device(numbers((30, 20), "float64"), device)
    taken = in_use()
    view = array[3:, ::2].T[1]
    again = view[::-1]
    assert view.base is array and again.base is array and in_use() == taken
    wanted = array.numpy()[3:, ::2].T[1]
    del array
    gc.collect()
    assert in_use() == taken and view.numpy().tolist() == wanted.tolist()
    del view
    assert again.sum() == wanted.sum() and in_use() == taken
    del again
    assert in_use() == 0


def test_what_others_use_is_told_to_the_base(in_use, device):
    """The memory waits for a synchronisation then, whichever of the arrays goes last."""
    for others_use in (False, True):
        array = to_device(np.ones((40, 4)), device)
        taken, view = in_use(), array[1:, ::2]
        if others_use:
            view._share()
        del array
        assert in_use() == taken
        del view
        assert in_use() == (taken if others_use else 0)
    gpureduce.free_memory()
    assert in_use() == 0


def test_views_belong_to_the_stream_of_their_array(device):
    array = empty((4, 4), "f4", *resolve(device), 1 if device.startswith("cuda") else 0x5550)
    assert array[1:].T.stream == array.stream


def test_threads_make_and_drop_views(device):
    array = to_device(np.arange(64.0).reshape(8, 8), device)
    wanted = [float(array.numpy()[i, ::2].sum()) for i in range(8)]
    failed = []

    def work():
        for turn in range(40):
            i = turn % 8
            if array[i, ::2].sum() != wanted[i] or array.T[::2, i].copy().sum() != wanted[i]:
                failed.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_results_go_into_views(device):
    array = to_device(np.zeros((3, 4)), device)
    host = numbers((4, 5), "float64")
    assert gpureduce.sum(to_device(host, device), axis=1, out=array[1]).base is array
    assert array.tolist() == [[0] * 4, host.sum(axis=1).tolist(), [0] * 4]
    with pytest.raises(ValueError, match="C-contiguous"):
        gpureduce.sum(to_device(host, device), axis=1, out=array.T[:, 0].reshape(1, 4)[0, ::-1])


def test_views_of_six_axes_in_any_order(device):
    """Positions and running sums need C order: a view with more strides than kernels take is copied."""
    host = np.random.default_rng(5).permutation(np.arange(768.0)).reshape(2, 4, 2, 2, 4, 6)
    array = to_device(host, device)
    for axes in ((5, 3, 1, 4, 0, 2), (0, 5, 1, 4, 2, 3), (3, 2, 1, 0, 5, 4)):
        expected, view = host.transpose(axes), array.transpose(axes)
        for name in ("argmax", "argmin", "nanargmax", "nanargmin"):
            for axis in (None, 0, 3, -1):
                found = getattr(gpureduce, name)(view, axis=axis)
                found = found.numpy() if isinstance(found, gpureduce.DeviceArray) else found
                np.testing.assert_array_equal(found, getattr(np, name)(expected, axis=axis))
        for axis in range(6):
            found = gpureduce.cumulative_sum(view, axis=axis).numpy()
            np.testing.assert_array_equal(found, np.cumsum(expected, axis=axis))
