"""Every entry point of the package as calls without arguments, successful and failing, on the simulator.

What runs them watches something else: memory (test_leaks.py) or a failing allocator (test_faults.py).
"""

import contextlib
import ctypes
import functools
import pickle
import threading
from types import SimpleNamespace as Stream
from unittest import mock

import numpy as np

import gpureduce
from gpureduce import _core, numpy_like
from gpureduce._arrays import device_array, foreign
from gpureduce._device.ptx import KERNEL_DIR
from gpureduce._profiles.from_core import observe
from tests.support.producers import CUDA, Carrier, Exchange, Exporter, Interface
from tests.support.thread_count import join_to_its_end

SIM = {"device": "sim"}
ON_SIM = (None, _core.SIM, 0, 0)
ERRORS = (
    TypeError,
    ValueError,
    OverflowError,
    IndexError,
    MemoryError,
    BufferError,
    AttributeError,
    gpureduce.DeviceError,
)

TWICE = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 data)
{
    .reg .b64 %a, %i;
    .reg .b32 %r;
    ld.param.u64 %a, [data];
    mov.u32 %r, %tid.x;
    mul.wide.u32 %i, %r, 4;
    add.u64 %a, %a, %i;
    ld.global.u32 %r, [%a];
    add.u32 %r, %r, %r;
    st.global.u32 [%a], %r;
    ret;
}
"""

# What calls are given; nothing may keep a reference to any of it.
vector = (np.arange(1, 301) * 37 % 101 - 50).astype(np.float32)
matrix = (np.arange(1, 1201) * 7919 % 23 - 11).reshape(30, 40).astype(np.int64)
swapped = vector.astype(vector.dtype.newbyteorder())
wide = np.arange(1.0, 4097.0)  # several chunks where chunks are small
mask = matrix > 0
words = np.arange(64, dtype=np.uint32)
objects = np.array([1, None], object)
pictures, filters = np.resize(vector, (2, 5, 6, 4)), np.resize(vector, (4, 3, 3, 4))
pictures_on_device, filters_on_device = (gpureduce.to_device(each, "sim") for each in (pictures, filters))
results_on_device = gpureduce.to_device(np.zeros_like(pictures), "sim")
on_device = gpureduce.to_device(matrix, "sim")
floats_on_device = gpureduce.to_device(vector.reshape(15, 20), "sim")
mask_on_device = gpureduce.to_device(mask, "sim")
row = np.zeros(40, np.int64)
row_on_device = gpureduce.to_device(row, "sim")
frozen = np.zeros((), np.float32)
frozen.flags.writeable = False
watched = (vector, matrix, swapped, wide, mask, words, objects, on_device, mask_on_device, row, row_on_device)
watched += (frozen, TWICE, vector.dtype, matrix.dtype, np.float32, np.dtype(np.int64), gpureduce.DeviceError)


STATE = gpureduce.partial(vector[:0], "mean", device="sim")
PLACED = STATE.to_device("sim")
LARGEST = gpureduce.State.from_bytes(  # as docs/reference/state-format.md has it
    gpureduce.partial(wide[:0], "sum", device="sim").to_bytes()[:12] + b"\x08" + b"\xff" * 279 + b"\x7f"
)
SUM = _core.fast_path("sum", ("a",), ("axis", "out", "where"))
QUICK, IN_A_STREAM, REFUSES = Exchange(), Exchange(stream=7), Exchange(refuses="current_stream")


class Liar:
    def __array__(self, dtype=None, copy=None):
        raise gpureduce.DeviceError("on purpose")


def stop(done, total):
    raise RuntimeError("on purpose")


def drop_interface_view():
    entries = {"data": (0x7000, False), "shape": (2**62, 4)}
    foreign.as_view(Interface(**entries))


def drop_capsule(versioned):
    """A capsule that we made and no library consumes; and one of somebody else's, whose deleter runs."""
    on_device.__dlpack__(dl_device=(1, 0), max_version=(1, 0) if versioned else None)
    producer = Exporter(versioned=versioned).producer
    view = _core.dlpack_import(producer.capsule())
    del view
    assert producer.deleted == 1
    producer.managed.deleter = ctypes.cast(None, type(producer.managed.deleter))


def simulate(**changes):
    arguments = {"source": TWICE, "kernel": "twice", "grid": 1, "block": 64, "args": [words.copy()]}
    return gpureduce.simulate(**(arguments | changes))


@functools.cache
def own_call():
    rung = gpureduce.course.ladder(gpureduce.kernels.ptx("v0", "sum", "float32"), "v0_sum_f32", block_size=64)
    return rung._call(vector, 64, gpureduce.devices()[-1])


def own_run(**changes):
    return _core.user_rung_run(own_call() | changes, np.zeros(1, np.float32))


def both():
    return norm(out_params="T y, int64 z", reduce_type="double", post_map_expr="y = a; z = a")


@functools.cache
def norm(**changes):
    options = {"in_params": "T x", "out_params": "T y", "map_expr": "x * x", "reduce_expr": "a + b"}
    options |= {"post_map_expr": "y = a", "identity": "0", "name": "norm"}
    return gpureduce.ReductionKernel(**(options | changes))


@functools.cache
def profiled():
    return gpureduce.profile(vector, "v2")


def as_text():
    """All that a profile shows of itself."""
    found = profiled()
    drawn, against = found.timeline(), found.compare(found)
    for thing in (found, drawn, against, against.sources()):
        str(thing), thing._repr_html_()
    return found.annotate(), found.annotate(ptx=True), found.lines(), found.findings, drawn.conflict


def ladder():
    """One call of each rung that runs here."""
    calls = {}
    for variant in gpureduce.variants("reduction"):
        if "sim" in variant.backends:
            calls[f"sum {variant.name}"] = functools.partial(
                gpureduce.sum, vector, variant=variant.name, **SIM
            )
    return calls


def operators():
    calls = {}
    for name in ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "count_nonzero"):
        function = getattr(gpureduce, name)
        calls[name] = functools.partial(function, vector, **SIM)
        calls[f"{name} axis"] = functools.partial(function, matrix, axis=1, **SIM)
        calls[f"{name} on device"] = functools.partial(function, on_device)
        calls[f"{name} axis on device"] = functools.partial(function, on_device, axis=0)
        options = {"initial": None} if name in ("sum", "prod", "min", "max") else {}
        calls[f"{name} of nothing"] = functools.partial(function, vector[:0], **options, **SIM)
        calls[f"{name} bad axis"] = functools.partial(function, matrix, axis=7, **SIM)
        calls[f"{name} bad dtype"] = functools.partial(function, objects, **SIM)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        calls[name] = functools.partial(getattr(gpureduce, name), matrix, axis=0, **SIM)
        calls[f"{name} bad dtype"] = functools.partial(getattr(gpureduce, name), vector, **SIM)
    return calls


def in_a_thread():
    found = []
    worker = threading.Thread(target=lambda: found.append(gpureduce.sum(vector, **SIM)))
    worker.start()
    join_to_its_end(worker)
    return found[0] if found else gpureduce.DeviceError


def options():
    call = functools.partial
    total, copy = gpureduce.sum, gpureduce.to_device
    return {
        "swapped": call(total, swapped, **SIM),
        "strided": call(total, matrix[::2, ::-3], axis=0, **SIM),
        "repacked": call(total, np.arange(256.0).reshape((2,) * 8)[:, ::-1], axis=(1, 3, 5), **SIM),
        "stream": call(total, wide, **SIM),
        "stream with progress": call(total, wide, progress=lambda done, total: None, **SIM),
        "progress raises": call(total, wide, progress=stop, **SIM),
        "progress of wrong type": call(total, wide, progress=3, **SIM),
        "where": call(total, matrix, axis=0, where=mask, **SIM),
        "where on device": call(total, on_device, axis=0, where=mask_on_device),
        "where of wrong shape": call(total, matrix, where=mask[:3, :7], **SIM),
        "where of wrong dtype": call(total, matrix, where=matrix, **SIM),
        "where elsewhere": call(total, matrix, where=mask_on_device, **SIM),
        "initial": call(total, matrix, initial=5, **SIM),
        "initial of wrong type": call(total, matrix, initial="x", **SIM),
        "out": call(total, matrix, axis=0, out=row, **SIM),
        "out on device": call(total, on_device, axis=0, out=row_on_device),
        "out of wrong shape": call(total, matrix, axis=1, out=row, **SIM),
        "out read-only": call(total, vector, out=frozen, **SIM),
        "out of wrong type": call(total, matrix, out=[1], **SIM),
        "dot": call(gpureduce.dot, vector, vector[::-1], **SIM),
        "dot of other length": call(gpureduce.dot, vector, vector[1:], **SIM),
        "exact": call(gpureduce.fsum, vector, **SIM),
        "exact mean": call(gpureduce.mean, wide, exact=True, **SIM),
        "exact dot": call(gpureduce.dot, vector, vector[::-1], exact=True, **SIM),
        "exact on device": call(total, on_device, axis=0, exact=True),
        "exact integers that do not fit": call(total, np.full(3, 2**62), exact=True, **SIM),
        "exact by a variant": call(total, vector, variant="v7", exact=True, **SIM),
        "exact by a rung": call(total, vector, variant="e3", exact=True, **SIM),
        "exact by a rung, bad dtype": call(total, matrix, variant="e3", exact=True, **SIM),
        "a state": call(gpureduce.partial, vector, "mean", **SIM),
        "a state of squares": call(gpureduce.partial, wide, "var", **SIM),
        "states of rows on a device": call(gpureduce.partial, on_device, "sum", 1),
        "a state that stays": call(gpureduce.partial, on_device, "mean", as_device=True),
        "a state of squares that stays": call(gpureduce.partial, wide, "var", as_device=True, **SIM),
        "states of positions that stay": call(gpureduce.partial, on_device, "argmax", 0, as_device=True),
        "a state that stays is masked": call(
            gpureduce.partial, on_device, "max", 0, where=mask_on_device, as_device=True
        ),
        "a state goes there and back": lambda: STATE.to_device("sim").to_host(),
        "states merged there": lambda: (PLACED + PLACED + STATE).result(),
        "states that do not merge there": lambda: PLACED + gpureduce.partial(vector, "sum", **SIM),
        "a state beyond a state there": lambda: (LARGEST.to_device("sim") + LARGEST).result(),
        "no memory of states": call(_core.state_merge, on_device, on_device, (), _core.SIM, 0, 1),
        "shards at once": lambda: gpureduce.sum(gpureduce.Sharded([on_device, on_device])),
        "shards by threads": lambda: gpureduce.max(gpureduce.Sharded([on_device, on_device]), axis=1),
        "shards at once, in two ways": lambda: gpureduce.argmax(gpureduce.Sharded([on_device, on_device], 1)),
        "a state at once": lambda: gpureduce.partial(on_device, "var"),
        "shards by nothing": call(_core.sharded, (on_device, vector), None, ("max", "no"), False),
        "host shards": call(_core.sharded, (on_device, vector), None, ("sum", "dot"), True),
        "states that do not merge": lambda: gpureduce.partial(vector, "sum", **SIM) + STATE,
        "states merged": lambda: (STATE + STATE).result(),
        "a state of bytes": lambda: gpureduce.State.from_bytes(STATE.to_bytes()),
        "a state of nonsense": call(gpureduce.State.from_bytes, b"gred"),
        "a state beyond a state": lambda: LARGEST + LARGEST,
        "states that are none": call(_core.exact_merge, words, words),
        "two simulators": call(total, vector, device=["sim", "sim"]),
        "a simulator that is not there": call(total, vector, device="sim:8"),
        "profile of an exact rung": call(gpureduce.profile, vector, "e1"),
        "profile of an exact rung, bad dtype": call(gpureduce.profile, matrix, "e4"),
        "reduce": call(gpureduce.reduce, vector, "max", variant="v3", **SIM),
        "reduce by nothing": call(gpureduce.reduce, vector, "none", **SIM),
        "ladder other op": call(gpureduce.max, matrix, variant="v7", block_size=96, **SIM),
        "ladder swapped": call(total, swapped, variant="v2", **SIM),
        "ladder bad dtype": call(total, np.zeros(3, complex), variant="v2", **SIM),
        "ladder bad block": call(total, vector, variant="v2", block_size=77, **SIM),
        "ladder bad grid": call(total, vector, variant="v8", grid_size=2**70, **SIM),
        "ladder grid of wrong type": call(total, vector, variant="v8", grid_size="x", **SIM),
        "no such variant": call(total, vector, variant="none", **SIM),
        "variant of wrong type": call(total, vector, variant=7, **SIM),
        "no such device": call(total, vector, device="cuda:9"),
        "nonsense for a device": call(total, vector, device="gpu"),
        "error in __array__": call(total, Liar(), **SIM),
        "as_device": call(total, matrix, axis=0, as_device=True, **SIM),
        "as_device from there": call(total, on_device, as_device=False),
        "stream of the caller": call(total, vector, stream=1, **SIM),
        "stream of wrong type": call(total, vector, stream="x", **SIM),
        "device by its record": call(total, vector, device=gpureduce.devices()[-1]),
        "no device given": call(total, vector),
        "in a thread": in_a_thread,
        "list": call(total, [[1, 2], [3, 4]], axis=0, **SIM),
        "masked": call(total, np.ma.masked_less(vector, 0), **SIM),
        "half precision": call(gpureduce.prod, vector[:9].astype(np.float16), dtype=np.float32, **SIM),
        "complex": call(total, vector.astype(np.complex64), **SIM),
        "to_device and back": lambda: copy(matrix, "sim").numpy(),
        "to_device of objects": call(copy, objects, "sim"),
        "to_device without room": call(device_array.empty, (2**60,), np.dtype(np.int8), _core.SIM, 0),
        "copy of device array": lambda: on_device.__reduce__()[1],
    }


def records():
    """What tells of variants, devices and arrays, and the names of NumPy."""
    call = functools.partial
    calls = {
        "devices": gpureduce.devices,
        "variants": gpureduce.variants,
        "source": call(gpureduce.source, "v3"),
        "source of nothing": call(gpureduce.source, "none"),
        "ptx": call(gpureduce.kernels.ptx, "v3"),
        "ptx of a library": call(gpureduce.kernels.ptx, "cub"),
        "runs_on": call(gpureduce.variants("reduction")[3].runs_on, "sim"),
        "runs_on nowhere": call(gpureduce.variants("reduction")[3].runs_on, "cuda:9"),
        "fallbacks": numpy_like.fallbacks,
        "free_memory": gpureduce.free_memory,
        "repr of device array": lambda: (repr(on_device), on_device.device, len(on_device), on_device.nbytes),
        "device array as array": call(np.asarray, on_device),
        "pickled device array": lambda: pickle.loads(pickle.dumps(row_on_device)),
        "core variants": _core.variants,
        "core runs": _core.runs,
        "core hold": lambda: (_core.lock_for_fork(True), _core.lock_for_fork(False)),
        "operators": _core.operators,
        "flat_shapes": _core.flat_shapes,
        "cublas_problem": call(_core.library_problem, "cublas"),
        "cudnn_problem": call(_core.library_problem, "cudnn"),
        "problem of nonsense": call(_core.library_problem, 7),
        "cuda_problem": _core.cuda_problem,
        "parse_ptx": call(_core.parse_ptx, TWICE),
        "kernel_params": call(_core.kernel_params, _core.parse_ptx(TWICE), "twice"),
        "kernel_params of nonsense": call(_core.kernel_params, _core.parse_ptx(TWICE), "thrice"),
        "plan_general": call(_core.plan_general, matrix, "sum", (0,), None),
        "plan_general of nonsense": call(_core.plan_general, matrix, "sum", (5,), None),
        "time without clock": call(_core.time, vector, "sum", "v2", None, None, _core.SIM, 0, (1, 1, 1)),
        "time of nonsense": call(_core.time, vector, "sum", "v2", None, None, _core.SIM, 0, (0, 1, 1)),
        "time_general without clock": time_general,
        "device_read of nothing": call(_core.device_read, _core.SIM, 0, 16, words),
        "device_write to nothing": call(_core.device_write, _core.SIM, 0, 16, words),
        "pointer_device": call(_core.pointer_device, 0x7000),
        "call_on no device": call(_core.call_on, 63, list),
        "stream_wait": call(_core.stream_wait, _core.SIM, 0, 1),
        "stream_order": call(_core.stream_order, _core.SIM, 0, 1, 2),
        "stream_order of nonsense": call(_core.stream_order, _core.SIM, 0, 1, -2),
        "keep_alive_until_done": call(_core.keep_alive_until_done, _core.SIM, 0, 1, words),
        "keep_alive_until_done of nonsense": call(_core.keep_alive_until_done, _core.SIM, 0, "x", words),
        "stream_handle": call(_core.stream_handle, Stream(__cuda_stream__=lambda: (0, 7))),
        "stream_handle of nonsense": call(_core.stream_handle, "x"),
        "fast_path": lambda: _core.fast_path("sum", ("a", "axis"), ("out",))(matrix, 0),
        "fast_path of nonsense": call(_core.fast_path, "sum", ("a", "b"), ()),
        "fast_path, exact": lambda: _core.fast_path("sum", ("a",), ("device",), None, 0, True)(
            wide, device="sim"
        ),
        "fast_path of two": lambda: _core.fast_path("dot", ("a", "b"), ())(on_device, on_device),
        "array_empty": call(_core.array_empty, (2, 3), "int8", _core.SIM, 0),
        "array_empty in a stream": call(_core.array_empty, (2,), "int8", _core.SIM, 0, Stream(ptr=7)),
        "array_empty without room": call(_core.array_empty, (2**60,), "int8", _core.SIM, 0),
        "array_empty of nonsense": call(_core.array_empty, (2, -3), "int8", _core.SIM, 0),
        "views": lambda: (
            on_device[1:, ::-2].T,
            on_device.reshape(-1),
            on_device.T.reshape(-1),
            list(on_device),
        ),
        "views of nothing": lambda: on_device[5000],
        "view that leaves": call(_core.array_view, on_device, (2, 3), (8, 2**40), 0),
        "view of nonsense": call(_core.array_view, on_device, (2, 3), (8, "x"), 0),
        "numbers": lambda: (on_device[0, 0].item(), float(row_on_device[0]), on_device[:, 1].tolist()),
        "arithmetic": lambda: on_device + 1,
        "methods": lambda: (on_device[::2].sum(axis=0), on_device.T.argmax(), on_device[0] @ on_device[0]),
        "astype": lambda: (on_device.astype("f4"), on_device[:, ::3].astype("c16")),
        "convert on the host": call(_core.convert, matrix, "int8", (None, _core.SIM, 0, 1)),
        "convert to nonsense": call(_core.convert, matrix, "int7", (None, _core.SIM, 0, 1)),
        "shown": lambda: (str(on_device), on_device._repr_html_()),
        "array_class": call(_core.array_class, int),
        "read_image of a kernel": call(_core.read_image, KERNEL_DIR / "v0_interleaved_modulo.ptx.xz", "none"),
        "read_image": call(_core.read_image, KERNEL_DIR / "flat_any.ptx.xz"),
        "read_image of nothing": call(_core.read_image, "/"),
        "registry twice": call(_core.open_registry, "/"),
    }
    for name in numpy_like.__all__:
        function = getattr(numpy_like, name)
        if hasattr(function, "reduce"):
            calls[f"numpy_like {name}"] = call(function.reduce, matrix, **SIM)
            calls[f"numpy_like {name} bad out"] = call(function.reduce, matrix, out=(row, row), **SIM)
        elif name not in ("dot", "fallbacks") and callable(function):  # linalg is none
            calls[f"numpy_like {name}"] = call(function, vector, **SIM)
    return calls


def time_general():
    views = (on_device._view_tuple(),), (row_on_device._view_tuple(),)
    return _core.time_general(views[0], "sum", (0,), views[1], _core.SIM, 0, 1, 1)


def taken(thing):
    """What a reduction makes of an array of another library, read on the simulator as if that were a GPU."""
    with (
        mock.patch.object(_core, "pointer_device", lambda address: 0),
        mock.patch.object(_core, "stream_wait", lambda kind, index, stream: None),
    ):
        view = foreign.as_view(thing)
    return _core.general(view._view_tuple(), "sum", (0, 1), None, None, None, _core.SIM, 0, None)


def exchange():
    call = functools.partial
    return {
        "dlpack to the CPU": lambda: np.from_dlpack(on_device, device="cpu", copy=True),
        "dlpack of the simulator": on_device.__dlpack__,
        "dlpack import": call(_core.dlpack_import, None),
        "dlpack from the CPU": lambda: gpureduce.sum(Carrier(vector), **SIM),
        "dlpack dropped": call(drop_capsule, False),
        "dlpack versioned dropped": call(drop_capsule, True),
        "dlpack bad version": lambda: _core.dlpack_import(
            Exporter(versioned=True, major=2).producer.capsule()
        ),
        "dlpack bad dtype": lambda: _core.dlpack_import(Exporter(bits=7).producer.capsule()),
        "dlpack taken": lambda: taken(Exporter(data=on_device._pointer)),
        "dlpack versioned taken": lambda: taken(Exporter(data=on_device._pointer, versioned=True)),
        "dlpack exchanged": lambda: taken(QUICK.exporter(data=on_device._pointer)),
        "dlpack exchange of nonsense": lambda: taken(QUICK.exporter(data=on_device._pointer, bits=7)),
        "dlpack exchanged in a stream": lambda: taken(IN_A_STREAM.exporter(data=on_device._pointer)),
        "dlpack not exchanged": lambda: taken(REFUSES.exporter(data=on_device._pointer)),
        "dlpack at once nowhere": lambda: SUM(QUICK.exporter((CUDA, 99), code=0)),
        "dlpack at once of nonsense": lambda: SUM(QUICK.exporter(bits=7)),
        "interface at once": lambda: SUM(Interface(stream=7)),
        "axis at once": lambda: SUM(on_device, axis=0),
        "mask at once": lambda: SUM(on_device, where=mask_on_device),
        "out at once": lambda: SUM(on_device, axis=0, out=row_on_device),
        "host out at once": lambda: SUM(on_device, axis=0, out=row),
        "dlpack out of bounds": lambda: taken(Exporter()),
        "interface taken": lambda: taken(Interface(data=(on_device._pointer, True), stream=7)),
        "interface out of bounds": lambda: taken(Interface()),
        "dlpack elsewhere": lambda: gpureduce.sum(Exporter(), **SIM),
        "dlpack export of nonsense": call(_core.dlpack_export, None, 0, (-1,), "int8", 1, 0, True, False),
        "interface too large": drop_interface_view,
        "interface malformed": lambda: gpureduce.sum(Interface(shape=None), **SIM),
    }


def instruments():
    call = functools.partial
    return {
        "profile": call(gpureduce.profile, vector, "v2"),
        "profile of nonsense": call(gpureduce.profile, vector, "v2", block_size=5),
        "timeline": lambda: gpureduce.profile(vector, "v2").timeline(),
        "profile as text": as_text,
        "player": lambda: gpureduce.profile(vector, "v2", block_size=64).player(),
        "timeline of no block": lambda: profiled().timeline(block=99),
        "annotate of no file": lambda: profiled().annotate("none.cu"),
        "simulate": simulate,
        "simulate out of bounds": call(simulate, block=96),
        "simulate broken PTX": call(simulate, source=TWICE.replace("mul.wide", "mul.narrow")),
        "simulate no kernel": call(simulate, kernel="thrice"),
        "simulate wrong arguments": call(simulate, args=[1, 2]),
        "own rung": own_run,
        "own rung of another length": call(own_run, data=vector[:3]),
        "own rung without blocks": call(own_run, passes=((vector.size, 0),)),
        "own rung of nonsense": call(own_run, kernels=None),
        "own rung timed": lambda: _core.user_rung_time(own_call(), (1, 1, 1)),
        "custom": lambda: norm()(vector, **SIM),
        "custom anew": lambda: norm.__wrapped__()(vector, **SIM),
        "custom pickled": lambda: pickle.loads(pickle.dumps(norm())).cache_info(),
        "custom of two": lambda: norm(in_params="T x, T w", map_expr="x * w")(vector, 3, **SIM),
        "custom out": lambda: norm()(matrix, axis=0, out=row, **SIM),
        "custom axis": lambda: norm()(matrix, axis=0, **SIM),
        "custom on device": lambda: norm()(on_device, axis=0),
        "custom of several": lambda: both()(matrix, axis=0, **SIM),
        "custom of several on device": lambda: both()(on_device, axis=0),
        "custom of several outs": lambda: both()(matrix, axis=0, out=(row, None), **SIM),
        "custom of several outs in one place": lambda: both()(on_device, axis=0, out=(row_on_device,) * 2),
        "custom wrong count": lambda: norm()(vector, vector, vector, **SIM),
        "custom does not compile": lambda: norm(map_expr="nonsense(")(vector, **SIM),
        "custom of nonsense": lambda: gpureduce.ReductionKernel("T x", "T y", 1, 2, 3, 4),
        "custom_load of nonsense": call(_core.custom_load, "x", "nonsense", _core.SIM, 0),
    }


def convolutions():
    call = functools.partial(functools.partial, gpureduce.conv2d, layout="NHWC")
    there, bias = (pictures_on_device, filters_on_device), np.resize(vector, 4)
    return {
        "conv2d": call(pictures, filters, **SIM),
        "conv2d by columns": call(pictures[:, ::-1], filters[::-1], variant="c1", **SIM),
        "conv2d with Python": call(pictures, filters, padding="same", **SIM),
        "conv2d with a bias": call(pictures, filters, bias=bias, **SIM),
        "conv2d with a bias on device": call(*there, bias=gpureduce.to_device(bias, "sim")),
        "conv2d with a bias of integers": call(pictures, filters, bias=[1, 2, 3, 4], **SIM),
        "conv2d on device": call(*there, stride=2),
        "conv2d out": call(*there, padding=1, out=results_on_device),
        "conv2d that does not fit": call(pictures, filters, dilation=9, **SIM),
    }


def quiet(function, *args, **options):
    """A call whose warnings are raised as errors, which it swallows."""

    def call():
        with np.errstate(all="raise"), contextlib.suppress(FloatingPointError):
            function(*args, **options)

    return call


def scans():
    huge = np.full(4, np.finfo(np.float32).max)
    call = functools.partial(functools.partial, gpureduce.cumulative_sum)
    return {
        "cumulative_sum": call(vector, **SIM),
        "cumulative_sum of tiles": call(np.resize(vector, 9000), include_initial=True, **SIM),
        "cumulative_sum of columns": call(matrix[::-1, ::2], axis=0, dtype="int16", **SIM),
        "cumulative_sum on device": call(on_device, axis=1),
        "cumulative_sum exact": call(np.resize(wide, 99), exact=True, **SIM),
        "scan of integers, exact": functools.partial(_core.scan, on_device, 0, 0, False, True, ON_SIM),
        "cumulative_sum without an axis": call(matrix, **SIM),
        "cumulative_sum out": call(matrix, axis=0, out=np.zeros(matrix.shape), **SIM),
        "cumulative_prod": functools.partial(gpureduce.cumulative_prod, wide, device="sim"),
        "softmax": functools.partial(gpureduce.softmax, matrix[::-1], axis=0, device="sim"),
        "rms_norm on device": functools.partial(gpureduce.rms_norm, floats_on_device, eps=1.0),
        "layer_norm refused": functools.partial(gpureduce.layer_norm, vector, vector[1:], device="sim"),
        "segment_reduce": functools.partial(gpureduce.segment_reduce, vector, [0, 9, 9, 300], **SIM),
        "segment_reduce of tiles": functools.partial(
            gpureduce.segment_reduce, np.resize(wide, 9000), [5, 8000], "mean", **SIM
        ),
        "segment_reduce on device": functools.partial(gpureduce.segment_reduce, on_device, [0, 30], "argmax"),
        "segment_reduce that descends": functools.partial(gpureduce.segment_reduce, vector, [2, 1], **SIM),
        "segment_reduce in place": functools.partial(
            gpureduce.segment_reduce, on_device, range(31), out=on_device
        ),
        "reduceat": functools.partial(gpureduce.reduceat, matrix, [3, 1, 2], "min", axis=1, **SIM),
        "group_reduce": functools.partial(gpureduce.group_reduce, vector, np.arange(300) % 7 - 1, **SIM),
        "group_reduce of a mask": functools.partial(
            gpureduce.group_reduce, on_device, np.arange(30) % 4, where=np.arange(30) % 3 > 0
        ),
        "partial of groups": functools.partial(
            gpureduce.partial, vector, "mean", labels=np.arange(300) % 7, num_groups=7, **SIM
        ),
        "group_reduce of medians": functools.partial(
            gpureduce.group_reduce, on_device, np.arange(30) % 4, "median", where=np.arange(30) % 3 > 0
        ),
        "group_reduce of positions under a mask": functools.partial(
            gpureduce.group_reduce, on_device, np.arange(30) % 4, "argmax", where=mask_on_device
        ),
        "group_reduce of positions without NaNs": functools.partial(
            gpureduce.group_reduce,
            gpureduce.to_device(vector.astype(float).reshape(15, 20), "sim"),  # sorted, as no key has 8 bytes
            np.arange(15) % 4,
            "nanargmin",
        ),
        "segment_reduce of medians without NaNs": functools.partial(
            gpureduce.segment_reduce, [1.0, np.nan, 3.0], [0, 2, 3], "nanmedian", **SIM
        ),
        "group_reduce of NaNs alone": functools.partial(
            gpureduce.group_reduce, [1.0, np.nan], [0, 1], "nanargmax", **SIM
        ),
        "group_reduce with weights": functools.partial(
            gpureduce.group_reduce, on_device, np.arange(30) % 4, "mean", weights=on_device
        ),
        "group_reduce with weights, sorted": functools.partial(
            gpureduce.group_reduce,
            floats_on_device[0],
            np.arange(20) % 4,
            "mean",
            2_000_000,  # too many for one launch, and for planes of sums
            weights=floats_on_device[0],
        ),
        "group_reduce of labels on device": functools.partial(
            gpureduce.group_reduce, on_device, gpureduce.to_device(np.arange(30) % 4 - 1, "sim"), "var", 3
        ),
        "bincount": functools.partial(gpureduce.bincount, np.arange(300) % 7, **SIM),
        "bincount with weights": functools.partial(gpureduce.bincount, np.arange(300) % 7, vector, 9, **SIM),
        "bincount on device": functools.partial(
            gpureduce.bincount, gpureduce.to_device(np.arange(30) % 4, "sim"), on_device
        ),
        "bincount of negative integers": functools.partial(gpureduce.bincount, np.arange(-3, 3), **SIM),
        "group_reduce by a rung": functools.partial(
            gpureduce.group_reduce, vector, np.arange(300) % 7 - 1, variant="g4", **SIM
        ),
        "group_reduce by a rung, labels on device": functools.partial(
            gpureduce.group_reduce,
            gpureduce.to_device(vector[:30], "sim"),
            gpureduce.to_device(np.arange(30, dtype=np.int32) % 4, "sim"),
            num_groups=4,
            variant="g1",
        ),
        "group_reduce by a rung, bad dtype": functools.partial(
            gpureduce.group_reduce, np.arange(300), np.arange(300) % 7, variant="g2", **SIM
        ),
        "group_reduce of labels that ascend": functools.partial(
            gpureduce.group_reduce, vector, np.arange(300) // 70, "max", **SIM
        ),
        "group_reduce of a label that is no group": functools.partial(
            gpureduce.group_reduce, vector, np.arange(300), "max", 9, **SIM
        ),
        "median of columns": functools.partial(gpureduce.median, matrix, axis=0, keepdims=True, **SIM),
        "median of infinities": functools.partial(gpureduce.median, np.full(4, np.inf), **SIM),
        "median of NaNs": functools.partial(gpureduce.median, np.full((2, 3), np.nan), axis=1, **SIM),
        "quantile of a list": functools.partial(gpureduce.quantile, on_device, [0.1, 0.5, 1.0], axis=1),
        "quantile of an array": functools.partial(gpureduce.quantile, vector, np.array([0.1, 0.9]), **SIM),
        "quantile that is none": functools.partial(gpureduce.quantile, vector, [0.1, 1.5], **SIM),
        "percentile out": functools.partial(gpureduce.percentile, matrix, 30.0, out=np.zeros(()), **SIM),
        "reduceat of indices that ascend": functools.partial(gpureduce.reduceat, matrix, [0, 2], **SIM),
        "segment_reduce that overflows": quiet(gpureduce.segment_reduce, huge, [0, 2, 4], **SIM),
        "cumulative_sum that overflows": quiet(gpureduce.cumulative_sum, huge, **SIM),
        "label_order of nonsense": functools.partial(_core.label_order, vector, 3, ON_SIM),
        "label_order on a profile": recorded(_core.label_order, np.arange(300) % 7 - 1, 7),
        "segment_reduce var": functools.partial(gpureduce.segment_reduce, vector, [0, 9, 300], "var", **SIM),
        "segments on a profile": recorded(_core.segments, vector, "prod", 0, np.array([0, 300]), 0, 0.0),
        "scan on a profile": recorded(_core.scan, vector, False, 0, False, False),
        "scan of no axis": functools.partial(_core.scan, vector, False, 1, False, False, ON_SIM),
        "profile of nonsense": functools.partial(_core.profile_device, True, 0),
        "launches of nonsense": functools.partial(_core.profile_launches, vector),
    }


def recorded(function, *args):
    return functools.partial(observe, lambda device: function(*args, (None, device, 0, 0)), True)


def firsts_of(device):
    address = _core.device_alloc(device, 0, matrix.nbytes)
    view = (address, (len(matrix), 3), (24, 8), "int64")
    return _core.order_topk(matrix, 3, True, True, view, (None, device, 0, 0))


def orders():
    call, top = (functools.partial(functools.partial, of) for of in (gpureduce.median, gpureduce.topk))
    return {
        "median": call(vector, **SIM),
        "median of lines": call(matrix[::-1, ::2], axis=0, **SIM),
        "median on device": call(on_device, axis=1),
        "median of digits": call(np.resize(vector, 9000), **SIM),
        "nanmedian": functools.partial(gpureduce.nanmedian, matrix, axis=1, **SIM),
        "nanmedian of floats": functools.partial(gpureduce.nanmedian, vector.reshape(15, 20), 1, **SIM),
        "nanmedian stays on device": functools.partial(gpureduce.nanmedian, floats_on_device, axis=1),
        "moments": functools.partial(gpureduce.moments, matrix, axis=1, **SIM),
        "moments on device": functools.partial(gpureduce.moments, floats_on_device, axis=0),
        "weights along an axis": functools.partial(
            gpureduce.average, floats_on_device, 1, floats_on_device[0]
        ),
        "quantile": functools.partial(gpureduce.quantile, on_device, [0.2, 0.9], axis=0),
        "quantile beyond": functools.partial(gpureduce.quantile, vector, 2, **SIM),
        "percentile of many": functools.partial(gpureduce.percentile, vector, range(0, 100, 4), **SIM),
        "topk": top(matrix, 3, **SIM),
        "topk of digits": top(np.resize(vector, 9000), 2000, largest=False, **SIM),
        "topk of many": top(np.resize(vector, 20000), 9000, **SIM),
        "topk on device": top(on_device, 2, 0),
        "topk stays on device": top(on_device, 2),
        "topk goes to the device": top(matrix, 2, as_device=True, **SIM),
        "cummax": functools.partial(gpureduce.cummax, matrix, 1, **SIM),
        "cummin on device": functools.partial(gpureduce.cummin, on_device, 0),
        "sort": functools.partial(gpureduce.sort, on_device, axis=0),
        "unique_counts": functools.partial(gpureduce.unique_counts, on_device),
        "argsort": functools.partial(gpureduce.argsort, matrix, **SIM),
        "sort of an order": functools.partial(gpureduce.sort, matrix, order="x", **SIM),
        "topk of no stream": top(on_device, 2, stream="x"),
        "topk of too many": top(vector, 301, **SIM),
        "order on a profile": recorded(_core.order_select, matrix, np.array([3]), False, None),
        "firsts on a profile": functools.partial(observe, firsts_of, True),
        "firsts of no room": functools.partial(_core.order_topk, matrix, 3, True, True, matrix, ON_SIM),
        "order of no rank": functools.partial(
            _core.order_select, matrix, np.array([-3]), False, None, ON_SIM
        ),
    }


CALLS = {
    **ladder(), **operators(), **options(), **records(), **exchange(), **instruments(), **convolutions(),
    **scans(), **orders(),
}  # fmt: skip


def outcome(name):
    """Run a call; return its result, or the type of the exception it raised."""
    try:
        return CALLS[name]()
    except MemoryError as error:  # where PyTorch is loaded it is one of its RuntimeErrors, too
        return type(error)
    except RuntimeError as error:
        assert isinstance(error, gpureduce.DeviceError) or str(error) in ("on purpose", REGISTRY), error
        return type(error)
    except ERRORS as error:
        return type(error)


REGISTRY = "the device registry is open already"


def simulated_bytes_left():
    """Bytes of simulated device memory that does not exist: the refusal to give all of them names them."""
    try:
        _core.device_alloc(_core.SIM, 0, 2**62)
    except MemoryError as error:
        return int(str(error).split("asked for, ")[1].split(" of ")[0])
    raise AssertionError("a machine with 4 EiB of memory")
