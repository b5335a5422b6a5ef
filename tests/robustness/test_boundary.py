"""Hostile input at the boundary to Python: no crash, no hang, no wrong answer.

pytest tests/robustness/test_boundary.py --boundary-cases=240000 --timeout=0     (a million cases)

Objects that describe memory of a device are read on the simulator, whose memory is bounds-checked: what they
describe either lies in the array they were made for, and then NumPy says what comes out, or is refused.
"""

import contextlib
import ctypes
import math
import os
import random
import threading
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpureduce
from gpureduce import _core
from gpureduce._arrays import foreign
from tests.support.hostile_values import Index, integers, junk, mostly, shapes, small
from tests.support.interpreter import HAS_GIL
from tests.support.producers import CUDA, Exchange, Producer

# What a call may raise. A SystemError is a defect of the core, and so is a plain RuntimeError.
CLEAN = (
    TypeError,
    ValueError,
    OverflowError,
    MemoryError,
    BufferError,
    AttributeError,
    gpureduce.DeviceError,
)
CLEAN += (ZeroDivisionError, KeyError, UnicodeError)
MOST_ELEMENTS = 20000  # more would be right, too, but the simulator would take long

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def cases(pytestconfig):
    """Runs a test as often as the command line says."""
    return pytestconfig.getoption("boundary_cases")


GUIDED = 5000


def explore(cases, strategy, check):
    """Hypothesis chooses the first cases, and makes the others of random bytes, which is quicker."""
    options = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
    test = settings(max_examples=min(cases, GUIDED), **options)(given(strategy)(check))
    first = random.randrange(2**40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test()
        for seed in range(first, first + cases - GUIDED):
            try:
                test.hypothesis.fuzz_one_input(random.Random(seed).randbytes(500))
            except BaseException:
                print(f"seed {seed}")  # pytest shows it with the failure
                raise


# Device memory that lies: a base array on the simulator, and descriptions of parts of it, right and wrong

BASE = np.arange(1, 2049, dtype=np.uint8)
base = gpureduce.to_device(BASE, "sim")
typestrs = mostly(
    st.sampled_from(("<f4", "<i4", "|u1", "|i1", "<i8", "<u2", "|b1", ">f4", "<f2", "<c8", "<f8", "<c16")),
    st.one_of(
        st.sampled_from(("|O", "<V8", "<f16", "<U4", "f", "", "<M8[s]", "i4,f4", "(3,)f4", "|V0")), junk
    ),
)
offsets = mostly(st.one_of(st.integers(0, 256).map(lambda n: 8 * n), st.integers(-160, 2100)), integers)
near = mostly(st.one_of(st.integers(-5, 5).map(lambda n: 8 * n), st.integers(-40, 40)), integers)


@contextlib.contextmanager
def addresses_are_known(patch):
    """As on a machine with one CUDA device; what is taken there is read on the simulator instead."""
    with patch.context() as now:
        now.setattr(_core, "pointer_device", lambda address: 0)
        now.setattr(_core, "stream_wait", lambda kind, index, stream: None)
        yield


def wanted_elements(view):
    """The elements that a view describes if all lie in the base, by NumPy; None otherwise."""
    low = high = view._pointer - base._pointer
    for length, stride in zip(view.shape, view.strides, strict=True):
        low += min(0, (length - 1) * stride)
        high += max(0, (length - 1) * stride)
    if low < 0 or high + view.dtype.itemsize > BASE.size:
        return None
    start = BASE[view._pointer - base._pointer :][: view.dtype.itemsize].view(view.dtype)
    return np.lib.stride_tricks.as_strided(start, view.shape, view.strides)


def check_view(view):
    """Reads what a view describes, on the simulator."""
    assert isinstance(view.size, int) and all(length >= 0 for length in view.shape)
    # A bool of another byte than 0 and 1 is undefined, and NumPy has no array of more than 64 dimensions.
    most = math.prod(length for length in view.shape if length)  # of results, too
    if most > MOST_ELEMENTS or view.dtype.kind == "b" or view.ndim > 64:
        with contextlib.suppress(*CLEAN):
            _core.plan_general(view._view_tuple(), "max", tuple(range(view.ndim)), None)
        return
    wanted = wanted_elements(view) if view.size else np.zeros(view.shape, view.dtype)
    for axes in (tuple(range(view.ndim)), *((axis,) for axis in range(min(view.ndim, 2)))):
        try:
            got = _core.general(
                view._view_tuple(), "count_nonzero", axes, None, None, None, _core.SIM, 0, None
            )
        except CLEAN as error:
            refused = ("is not supported", "with such strides", "dimensions")
            assert wanted is None or any(text in str(error) for text in refused), error
        else:
            if wanted is not None:
                np.testing.assert_array_equal(got, np.count_nonzero(wanted, axis=axes))


def test_cuda_array_interfaces(cases, monkeypatch):
    entries = st.fixed_dictionaries(
        {
            "shape": shapes,
            "typestr": typestrs,
            "data": mostly(st.tuples(offsets, st.booleans()), junk),
            "version": mostly(st.sampled_from((2, 3)), st.one_of(integers, junk)),
        },
        optional={
            "strides": mostly(st.one_of(st.none(), st.lists(near, min_size=4, max_size=4)), junk),
            "stream": mostly(st.sampled_from((None, 1, 2, 7)), st.one_of(integers, junk)),
            "mask": mostly(st.none(), junk),
            "descr": junk,
        },
    )

    read = 0

    def check(drawn):
        given_entries, missing, whole = drawn
        if whole is not None:
            given_entries = whole
        else:
            given_entries = {key: value for key, value in given_entries.items() if key != missing}
            data = given_entries.get("data")
            if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], int):
                given_entries["data"] = (data[0] + base._pointer, data[1])
            shape, strides = given_entries.get("shape"), given_entries.get("strides")
            if isinstance(strides, list) and len(strides) == 4:  # those drawn for any shape
                given_entries["strides"] = tuple(strides[: len(shape) if isinstance(shape, tuple) else 4])
        thing = type("Thing", (), {"__cuda_array_interface__": given_entries})()
        try:
            view = foreign.as_view(thing)
        except CLEAN:
            return
        if view is not None:
            nonlocal read
            read += 1
            check_view(view)

    missing = mostly(st.none(), st.sampled_from(("shape", "typestr", "data", "version", "strides")))
    whole = mostly(st.none(), junk, 40)
    with addresses_are_known(monkeypatch):
        explore(cases, st.tuples(entries, missing, whole), check)
    assert read > cases / 100  # no test if all are refused; a run of 30 cases may read 3


kept = []


def wrap(value, bits):
    """The number that a field of that many bits holds."""
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value


class Known(str):
    """Names a table of functions."""


def test_dlpack_capsules(cases, monkeypatch):
    tables = {
        "plain": Exchange(),
        "stream": Exchange(stream=7),
        "stream fails": Exchange(refuses="current_stream"),
    }
    tables["older"] = Exchange(major=2, previous=tables["plain"])
    lengths = mostly(
        st.lists(small, max_size=4),
        st.one_of(st.lists(integers, max_size=4), st.integers(60, 70).map(range)),
        6,
    )
    fields = st.fixed_dictionaries(
        {
            "versioned": st.booleans(),
            "shape": lengths,
            "strides": st.one_of(st.none(), st.lists(near, min_size=4, max_size=4)),
            "data": mostly(offsets, st.none()),
            "code": mostly(st.sampled_from((0, 1, 2, 5)), st.integers(0, 255)),
            "bits": mostly(st.sampled_from((8, 16, 32, 64)), st.integers(0, 255)),
            "lanes": mostly(st.just(1), st.sampled_from((0, 2, 65535))),
            "byte_offset": mostly(st.integers(0, 8).map(lambda n: 8 * n), integers),
            "major": mostly(st.just(1), st.sampled_from((0, 2, 2**32 - 1))),
            "flags": mostly(st.just(0), st.integers(0, 2**64 - 1)),
            "ndim": mostly(st.none(), st.sampled_from((-1, 0, 65, 2**31 - 1, -(2**31)))),
            "shape_is_null": mostly(st.just(False), st.just(True)),
            "device": mostly(st.just((CUDA, 0)), st.one_of(st.tuples(integers, integers), junk)),
            "says": mostly(st.none(), junk),
            "gives": mostly(st.none(), junk),
            "name": mostly(
                st.none(), st.sampled_from((b"used_dltensor", b"", b"dltensor_versioned", b"dltensor"))
            ),
            "twice": mostly(st.just(False), st.just(True), 4),
            "table": mostly(st.none(), st.one_of(junk, st.sampled_from(list(tables)).map(Known)), 2),
        }
    )

    read = 0

    def check(f):
        shape = [wrap(length, 64) for length in f["shape"]]
        strides = None if f["strides"] is None else [wrap(s, 64) for s in f["strides"][: len(shape)]]
        if strides is not None and len(strides) < len(shape):
            strides = None
        device = f["device"] if isinstance(f["device"], tuple) and len(f["device"]) == 2 else (CUDA, 0)
        device = tuple(wrap(part, 32) if isinstance(part, int) else 0 for part in device)
        ndim = len(shape) if f["ndim"] is None else f["ndim"]
        if ndim > len(shape) and ndim <= 64:
            ndim = len(shape)  # the memory of the shape is the producer's: it cannot be checked
        producer = Producer(
            f["versioned"],
            None if f["shape_is_null"] else shape,
            strides,
            wrap(f["flags"], 64) % 2**64,
            f["major"],
            data=None if f["data"] is None else (f["data"] + base._pointer) % 2**64,
            device_type=device[0],
            device_id=device[1],
            ndim=ndim,
            code=f["code"],
            bits=f["bits"],
            lanes=f["lanes"],
            byte_offset=f["byte_offset"] % 2**64,
        )
        right = producer.name
        if f["name"] is not None and (f["name"] == right or not f["name"].startswith(b"dltensor")):
            producer.name = f["name"]  # a wrong name that is another right one is another structure
        capsule = producer.capsule()
        said = device if f["says"] is None else f["says"]
        given_capsule = capsule if f["gives"] is None else f["gives"]
        methods = {"__dlpack_device__": lambda self: said, "__dlpack__": lambda self, **_: given_capsule}
        table = tables[f["table"]].capsule if isinstance(f["table"], Known) else f["table"]
        if f["versioned"] or not isinstance(f["table"], Known):
            methods["__dlpack_c_exchange_api__"] = table
        thing = type("Thing", (), methods)()
        thing.producer = producer
        view = None
        try:
            for _ in range(1 + f["twice"]):
                with contextlib.suppress(*CLEAN):
                    view = foreign.as_view(thing)
            if view is not None:
                nonlocal read
                read += 1
                check_view(view)
        except BaseException:
            kept.append(producer)  # the traceback keeps the view
            raise
        del view
        assert producer.deleted <= (1 if f["table"] is None else 4)
        producer.managed.deleter = ctypes.cast(None, type(producer.managed.deleter))

    with addresses_are_known(monkeypatch):
        explore(cases, fields, check)
    assert read > cases / 100


# Arguments of the public functions

ARRAYS = {
    "row": np.arange(1, 61, dtype=np.int32),
    "block": (np.arange(1, 61) * 7919 % 23 - 11).reshape(3, 4, 5).astype(np.float64),
    "empty": np.zeros((3, 0), np.int64),
    "none": np.array(7, np.int16),
    "swapped": np.arange(12, dtype=">i4").reshape(3, 4),
    "negative": np.arange(60, dtype=np.int64).reshape(5, 12)[::-2, ::-3],
    "bools": np.arange(12).reshape(3, 4) % 3 == 0,
}
# Arrays on the device, for out= and where= of arrays there.
THERE = {
    name: gpureduce.to_device(array, "sim")
    for name, array in {
        "place": np.zeros((), np.float64),
        "places": np.zeros((3, 5)),
        "integers": np.zeros((), np.int64),
        "flags": np.zeros((3, 1), bool),
        "mask": ARRAYS["block"] > 0,
    }.items()
}
placed = st.sampled_from(list(THERE)).map(Known)
NAMES = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero")
axes = mostly(st.one_of(st.integers(-4, 4), st.lists(st.integers(-4, 4), max_size=4).map(tuple)), junk, 4)


def same(got, wanted):
    wanted = np.asarray(wanted)
    got = np.asarray(got)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (got, wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_arguments(cases):
    options = st.fixed_dictionaries(
        {},
        optional={
            "axis": axes,
            "keepdims": mostly(st.booleans(), junk, 4),
            "dtype": mostly(st.sampled_from((None, "f4", "f8", "i8", "u1", "?", complex)), junk, 4),
            "initial": mostly(st.integers(-3, 3), junk, 4),
            "where": mostly(st.one_of(st.booleans(), placed), junk, 4),
            "out": mostly(st.one_of(st.none(), placed), junk, 2),
            "variant": mostly(st.sampled_from(("auto", "v1", "v8", "atomic")), junk, 4),
            "block_size": junk,
            "grid_size": junk,
            "stream": junk,
            "as_device": junk,
            "progress": mostly(st.none(), junk, 4),
        },
    )
    few = st.lists(st.sampled_from(("axis", "keepdims", "dtype", "initial", "where", "out")), max_size=2)

    def check(drawn):
        name, array, all_options, kept, odd, there = drawn
        a = ARRAYS[array].copy() if odd is None else odd
        options = {k: v for k, v in all_options.items() if k in kept} if kept else all_options
        if options.get("progress") is True or callable(options.get("progress")):
            options["progress"] = None
        ours = {
            k: options[k]
            for k in ("variant", "block_size", "grid_size", "stream", "as_device", "progress")
            if k in options
        }
        theirs = {k: v for k, v in options.items() if k not in ours}
        before = a.copy() if isinstance(a, np.ndarray) else a
        given = a
        if there and isinstance(a, np.ndarray):
            given = gpureduce.to_device(a, "sim")
            options = {k: THERE[v] if isinstance(v, Known) else v for k, v in options.items()}
        try:
            got = getattr(gpureduce, name)(given, device="sim", **options)
        except CLEAN:
            return
        except RuntimeError as error:
            assert type(error) is not RuntimeError, error
            return
        if isinstance(got, gpureduce.DeviceArray):
            got = got.numpy()
        if not isinstance(a, np.ndarray) or "out" in theirs or "variant" in ours:
            return
        if any(isinstance(value, Known) for value in theirs.values()):
            return  # tests/reductions/test_operators.py says what comes out
        # NumPy takes the truth of these, by its own lights: mean divides by where=2, argmin has no use for 0.
        if not isinstance(theirs.get("where", True), (bool, np.ndarray)) or isinstance(
            theirs.get("keepdims"), Index
        ):
            return
        np.testing.assert_array_equal(a, before)
        with contextlib.suppress(TypeError, ValueError, OverflowError, AttributeError, KeyError, MemoryError):
            wanted = getattr(np, name)(before, **theirs)
            with contextlib.suppress(TypeError):
                np.asarray(wanted).astype(np.complex128)
                same(got, wanted)

    drawn = st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(tuple(ARRAYS)),
        options,
        few,
        st.one_of(st.none(), st.none(), junk),
        st.booleans(),
    )
    explore(cases, drawn, check)


# The core itself, which trusts the package but must not be brought down by it

CORE = (
    *(
        "reduce",
        "time",
        "general",
        "exact",
        "exact_states",
        "exact_merge",
        "exact_round",
        "exact_variances",
        "exact_carry",
        "exact_sharded",
        "sharded",
        "state_begin",
        "state_merge",
        "fast_path",
        "array_class",
        "array_empty",
        "array_view",
        "convert",
        "stream_handle",
        "stream_order",
        "keep_alive_until_done",
        "stream_wait",
        "plan_general",
        "time_general",
        "custom_load",
        "custom_run",
        "profile_device",
        "profile_launches",
    ),
    *(
        "parse_ptx",
        "kernel_params",
        "device_free",
        "device_write",
        "device_read",
        "dlpack_import",
        "dlpack_export",
    ),
    *("devices", "variants", "open_registry", "pointer_device", "call_on", "runs"),
)


def test_calls_of_the_core(cases):
    plain = np.arange(1, 41, dtype=np.float32)
    views = st.tuples(
        offsets.map(lambda n: (base._pointer + n) % 2**64),
        st.one_of(st.lists(small, max_size=3).map(tuple), shapes),
        st.one_of(st.lists(near, max_size=3).map(tuple), shapes),
        st.sampled_from(("float32", "int8", "bool", "float16", "complex128", "x")),
    )
    things = st.one_of(
        st.just(plain),
        st.just(plain.reshape(5, 8)),
        st.sampled_from(("sum", "max", "dot", "argmin", "v2", "v9")),
        st.sampled_from((_core.SIM, 0, 1, None, (0,), (0, 1), (1,))),
        views,
        junk,
    )
    room = gpureduce.to_device(np.zeros(64, np.int64), "sim")
    placed = {
        "results": 2,
        "merge_op": _core.STATE_ARGMIN,
        "dtype": "float32",
        "has": 7,
        "value_at": 0,
        "count_at": 16,
        "index_at": 32,
        "sum_at": 0,
        "squares_at": 0,
        "sum_result_words": 0,
        "sum_words": 0,
        "square_words": 0,
    }
    begun = {"first": None, "high": None, "integer_sums": False, "elements": 3}
    begun |= {"start": 0, "extents": (2,), "strides": (1,)}
    likely = {
        "reduce": (plain, "sum", "v2", None, None, _core.SIM, 0),
        "time": (plain, "sum", "v2", None, None, _core.SIM, 0, (1, 1, 1)),
        "general": (plain.reshape(5, 8), "sum", (0,), None, None, None, _core.SIM, 0, None),
        "exact": (plain.reshape(5, 8), "sum", (0,), None, None, None, _core.SIM, 0, 0, 1, 2),
        "exact_states": (plain.reshape(5, 8), "sum", (0,), None, _core.SIM, 0, 0),
        "exact_merge": (np.zeros((2, 16), np.int64), np.zeros((2, 16), np.int64)),
        "exact_round": (np.zeros((2, 16), np.int64), np.ones(2, np.uint64), 160, 24, 8),
        "exact_variances": (
            np.ones(2, np.uint64),
            np.zeros((2, 16), np.int64),
            np.zeros((2, 72), np.int64),
            1,
            160,
            1088,
            24,
            8,
            0,
            True,
        ),
        "exact_carry": (np.full((2, 16), 2**63 - 1),),
        "exact_sharded": ((base, base), None, False),
        "sharded": ((base, base), None, ("sum", "dot"), True),
        "state_begin": (room, placed, begun, _core.SIM, 0, 1),
        "state_merge": (room, room, placed, _core.SIM, 0, 1),
        "fast_path": ("sum", ("a", "axis"), ("out",)),
        "array_empty": ((2, 3), "float32", _core.SIM, 0, 1),
        "array_view": (base, (2, 3), (12, 4), 0),
        "convert": (plain, "int8", (None, _core.SIM, 0, 1)),
        "stream_handle": (1,),
        "stream_order": (_core.SIM, 0, 1, 2),
        "stream_wait": (_core.SIM, 0, 1),
        "keep_alive_until_done": (_core.SIM, 0, 1, plain),
        "plan_general": (plain, "sum", (0,), None),
        "time_general": (
            ((0, (1,), (4,), "float32"),),
            "sum",
            (0,),
            ((0, (), (), "float32"),),
            _core.SIM,
            0,
            1,
            1,
        ),
        "custom_load": ("x", ".version 7.0", _core.SIM, 0),
        "custom_run": ({}, (plain,), False, True, False, False, (0,), (np.zeros(()),)),
        "profile_device": (True, 0, 0),
        "profile_launches": (_core.profile_device(True, 0, 0),),
        "parse_ptx": (".version 7.0",),
        "kernel_params": (_core.parse_ptx(".version 7.0"), "x"),
        "device_free": (_core.SIM, 0, 16),
        "device_write": (_core.SIM, 0, base._pointer - 4096, plain),
        "device_read": (_core.SIM, 0, base._pointer - 4096, plain.copy()),
        "dlpack_export": (plain, 16, (2, 3), "float32", 1, 0, True, False),
    }

    kinds = {"reduce": 5, "time": 5, "general": 6, "exact": 6, "exact_states": 4, "time_general": 4}
    kinds |= {
        "array_empty": 2,
        "state_begin": 3,
        "state_merge": 3,
        "stream_order": 0,
        "stream_wait": 0,
        "device_free": 0,
        "device_write": 0,
        "device_read": 0,
    }

    def check(drawn):
        name, places, values, cut = drawn
        arguments = list(likely.get(name, values[:1]))
        for place, value in zip(places, values, strict=False):
            if arguments:
                at = place % len(arguments)
                if isinstance(arguments[at], dict) and arguments[at] and not isinstance(value, bytes):
                    value = arguments[at] | {list(arguments[at])[place % len(arguments[at])]: value}
                arguments[at] = value
        # A GPU knows no bounds: a wild address would be the end of its context, and of all tests that follow.
        if name in kinds and _core.cuda_problem() is None:
            arguments[kinds[name]] = _core.SIM
        if name == "device_write" and not isinstance(arguments[2], int):
            arguments[2] = 16
        reads = ("general", "exact", "exact_states", "reduce", "plan_general", "convert")
        if name in reads and isinstance(arguments[0], tuple):
            sizes = arguments[0][1] if len(arguments[0]) > 1 else ()
            numbers = [n for n in sizes if isinstance(n, int)] if isinstance(sizes, tuple) else []
            if abs(math.prod(numbers)) > MOST_ELEMENTS:
                arguments[0] = plain
        try:
            made = getattr(_core, name)(*arguments[: len(arguments) - cut])
            if name == "fast_path":
                made(*values, device="sim")
        except (*CLEAN, RuntimeError, OSError):
            return
        assert (base.numpy() == BASE).all()

    drawn = st.tuples(
        st.sampled_from(CORE),
        st.lists(st.integers(0, 9), max_size=3),
        st.lists(things, min_size=3, max_size=3),
        st.sampled_from((0, 0, 0, 0, 1)),
    )
    explore(cases, drawn, check)
    gpureduce.free_memory()


# Arrays that change while they are looked at


def test_arrays_resized_under_us(cases):
    def check(drawn):
        name, size, more, where, fill = drawn
        array = np.arange(1, size + 1, dtype=np.float64)

        def change():
            # NumPy refuses while somebody holds a view; without refcheck it looks at nothing else.
            with contextlib.suppress(ValueError):
                array.resize(more, refcheck=False)
                if (
                    more != size
                ):  # of its old length it may be in use: to write there is a race like any other
                    array[...] = fill

        evil = Index(0, change)

        class Mask:
            def __array__(self, dtype=None, copy=None):
                change()
                return np.ones(size, bool)

        options = {
            "axis": {"axis": evil},
            "axes": {"axis": (evil,)},
            "keepdims": {"keepdims": evil},
            "block_size": {"variant": "v2", "block_size": Index(64, change)},
            "grid_size": {"variant": "v8", "grid_size": Index(2, change)},
            "where": {"where": Mask()},
            "stream": {"stream": Index(1, change)},
            "progress": {"progress": lambda done, total: change()},
        }[where]
        if name == "dot":
            options = {"progress": lambda done, total: change()}
        try:
            arguments = (array, array) if name == "dot" else (array,)
            got = getattr(gpureduce, name)(*arguments, device="sim", **options)
        except CLEAN:
            return
        seen = [np.arange(1.0, size + 1), np.full(more, fill)]
        values = [float(np.dot(s, s)) if name == "dot" else s.sum() if s.size else 0.0 for s in seen]
        assert float(np.asarray(got).reshape(-1)[0]) in values, (got, values, where)

    places = ("axis", "axes", "keepdims", "block_size", "grid_size", "where", "stream", "progress")
    sizes = st.sampled_from((1, 40, 200, 5000))
    drawn = st.tuples(
        st.sampled_from(("sum", "dot")), sizes, sizes, st.sampled_from(places), st.integers(-3, 3).map(float)
    )
    before = os.environ.get("GPUREDUCE_CHUNK_BYTES")
    os.environ["GPUREDUCE_CHUNK_BYTES"] = "256"
    try:
        explore(max(cases // 4, 100), drawn, check)
    finally:
        del os.environ["GPUREDUCE_CHUNK_BYTES"]
        if before is not None:
            os.environ["GPUREDUCE_CHUNK_BYTES"] = before
        gpureduce.free_memory()


def test_a_progress_callback_cannot_take_elements_away(monkeypatch):
    """It used to end in a segmentation fault in a copying thread."""
    monkeypatch.setenv("GPUREDUCE_CHUNK_BYTES", "256")
    array, refused = np.arange(3e5), []

    def shrink(done, total):
        try:
            array.resize(10, refcheck=False)
        except ValueError:
            refused.append(done)

    assert gpureduce.sum(array, device="sim", progress=shrink) == np.arange(3e5).sum()
    assert refused
    array.resize(10, refcheck=False)  # nothing is held afterwards


def test_a_progress_callback_may_call_us(monkeypatch):
    monkeypatch.setenv("GPUREDUCE_CHUNK_BYTES", "256")
    array, found = np.arange(1e5), []

    def call(done, total):
        found.append(gpureduce.sum(array[:1000], device="sim"))
        gpureduce.free_memory()

    assert gpureduce.sum(array, device="sim", progress=call) == array.sum()
    assert found and set(found) == {499500.0}


def test_an_array_cannot_change_its_shape_under_us():
    """Results were counted for the first shape, and those of the second were written past their end."""
    shape = (2, 3) * 8  # of these axes too many stay apart, so that the array is copied at the end
    array = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)

    def change():
        array.shape = shape[::-1]

    with pytest.raises(ValueError, match="another shape"):
        _core.general(
            array, "sum", (Index(0, change), *range(2, 16, 2)), None, None, None, _core.SIM, 0, None
        )


SPIN = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 data)
{
    .reg .b64 %a;
    .reg .b32 %i;
    .reg .pred %p;
    mov.u32 %i, 20000;
again:
    sub.u32 %i, %i, 1;
    setp.ne.u32 %p, %i, 0;
    @%p bra again;
    ret;
}
"""
MANY = 2**20
READERS = {
    "whole": lambda a: gpureduce.sum(a, device="sim"),
    "axis": lambda a: gpureduce.sum(a.reshape(-1, 64), axis=1, device="sim"),
    "variant": lambda a: gpureduce.sum(a, variant="v2", device="sim"),
    "dot": lambda a: gpureduce.dot(np.ones(MANY), a, device="sim"),
    "where": lambda a: gpureduce.sum(np.ones(8 * MANY), where=a.view(bool), device="sim"),
    "profile": lambda a: gpureduce.profile(a[: MANY // 8], "v2"),
    "to_device": lambda a: gpureduce.to_device(a, "sim"),
    "simulate": lambda a: gpureduce.simulate(SPIN, "spin", 1, 32, [a]),
}


@pytest.mark.skipif(not HAS_GIL, reason="between the look and the resize the reader may be done")
@pytest.mark.parametrize("reader", READERS)
def test_no_thread_can_take_elements_away(reader):
    """NumPy would free them under a reader that has let go of the GIL."""
    array, over, refused = np.arange(MANY) % 256 * 0.0, threading.Event(), []

    def take():
        while not over.is_set() and not refused:
            if weakref.getweakrefcount(array):
                try:
                    array.resize(1, refcheck=False)
                except ValueError:
                    refused.append(True)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        for _ in range(100):
            READERS[reader](array)
            if refused:
                break
    finally:
        over.set()
        thread.join()
    assert refused and array.size == MANY
    assert not weakref.getweakrefcount(array)
