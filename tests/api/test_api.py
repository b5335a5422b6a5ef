"""The public names: records, texts, devices, errors; and calls next to other threads and signals."""

import ast
import functools
import inspect
import itertools
import pickle
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpureduce
from tests.support import reference
from tests.support.children import PACKAGE, child_environment, interrupted, python
from tests.support.sanitized import leaves_a_call_unfinished
from tests.support.selection import runs_on

VARIANTS = gpureduce.variants("reduction")
PUBLIC = {
    "Device", "DeviceError", "SimulationError", "SimulatorWarning", "Variant", "__version__", "devices",
    "source", "sum", "variants", "DeviceArray", "to_device", "numpy_like", "reduce", "all", "any",
    "argmax", "argmin", "bitwise_and", "bitwise_or", "bitwise_xor", "count_nonzero", "dot", "max", "mean",
    "min", "prod", "matmul", "conv2d", "ReductionKernel", "CompileError", "free_memory",
    "Profile", "profile", "simulate", "bench", "BenchResult", "fsum",
    "course", "kernels", "testing", "device", "set_default_device", "show_config",
    "partial", "State", "allreduce", "Sharded",
    "nansum", "nanprod", "nanmean", "nanmin", "nanmax", "nanargmin", "nanargmax", "fmin", "fmax", "norm",
    "logsumexp", "softmax_denominator", "ptp", "logical_xor", "average", "vecdot", "inner", "trace",
    "var", "std", "nanvar", "nanstd", "moments", "multi", "Moments",
    "cumulative_sum", "cumulative_prod", "cumsum", "cumprod", "nancumsum", "nancumprod", "cummax", "cummin",
    "segment_reduce", "reduceat", "group_reduce", "bincount",
    "softmax", "log_softmax", "rms_norm", "layer_norm",
    "median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile", "topk", "TopK",
    "sort", "argsort", "unique_counts", "UniqueCounts",
}  # fmt: skip
SUBMODULES = {"course", "kernels", "multi", "numpy_like", "testing"}
DTYPE_SHORT = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}

every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
OWN_KERNELS = [variant for variant in VARIANTS if variant.block_sizes]
every_kernel = pytest.mark.parametrize("variant", OWN_KERNELS, ids=lambda variant: variant.name)


# Records


def test_the_ladder_is_complete_and_in_order():
    names = [variant.name for variant in VARIANTS]
    assert [name for name in names if re.fullmatch(r"v\d+", name)] == [f"v{i}" for i in range(13)]
    assert {"grid_stride", "atomic", "v4_published"} <= set(names)
    assert len(set(names)) == len(names)
    assert isinstance(VARIANTS, tuple)


def test_ladders():
    """A name is enough to find a variant, whatever its ladder."""
    every = gpureduce.variants()
    ladders = list(dict.fromkeys(variant.ladder for variant in every))
    assert ladders == ["reduction", "matmul", "conv", "exact", "groups", "scan"]
    assert every == tuple(variant for ladder in ladders for variant in gpureduce.variants(ladder))
    for ladder in ladders:
        assert {variant.ladder for variant in gpureduce.variants(ladder=ladder)} == {ladder}
    assert gpureduce.variants(None) == every and gpureduce.variants("reduction") == VARIANTS
    names = [variant.name for variant in every]
    assert len(set(names)) == len(names)


def test_each_rung_comes_after_another():
    rungs = [variant for variant in VARIANTS if variant.role == "rung"]
    before = {rung.name: last.name for last, rung in itertools.pairwise(rungs)}
    before |= {"v0": None, "v12": "v10"}  # a ring instead of many loads; no clusters
    assert {variant.name: variant.after for variant in rungs} == before
    earlier = {variant.name for variant in rungs}
    assert all(variant.after in earlier for variant in VARIANTS if variant.role != "rung")


@pytest.mark.parametrize(
    ("ladder", "error", "message"),
    [
        ("stairs", ValueError, "ladder: unknown ladder 'stairs'; expected one of reduction"),
        ("", ValueError, "ladder: unknown ladder ''"),
        (3, TypeError, "ladder: expected str or None, got int"),
    ],
)
def test_unknown_ladders(ladder, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        gpureduce.variants(ladder)


@every_variant
def test_variant_record(variant):
    assert isinstance(variant, gpureduce.Variant)
    assert variant.role in ("rung", "side", "study")
    assert variant.ladder == "reduction"
    assert "sum" in variant.ops and len(set(variant.ops)) == len(variant.ops)
    assert set(variant.dtypes) == set(DTYPE_SHORT)
    assert set(variant.coverage) <= {(op, dtype) for op in variant.ops for dtype in variant.dtypes}
    assert set(variant.backends) <= {"cuda", "sim"} and "cuda" in variant.backends
    if variant.block_sizes:
        assert variant.default_block_size == 256 and 256 in variant.block_sizes
        assert list(variant.block_sizes) == sorted(set(variant.block_sizes))
        assert {64, 128, 256, 512, 1024} <= set(variant.block_sizes) <= set(range(64, 1025, 32))
        assert variant.installed is True
    else:
        assert variant.default_block_size == 0 and not variant.fixed_grid and variant.backends == ("cuda",)
        assert variant.installed is (PACKAGE / "_ptx" / "libgpureduce_cub.so").exists()
    assert re.fullmatch(r"[a-z0-9_]+\.cu", variant.file)
    assert type(variant.float_atomics) is type(variant.fixed_grid) is bool
    assert variant.title.strip() and variant.technique.strip()


def test_roles_and_flags():
    by_name = {variant.name: variant for variant in VARIANTS}
    assert {name for name, v in by_name.items() if v.role == "study"} == {"v4_published"}
    assert {name for name, v in by_name.items() if v.float_atomics} == {"atomic"}
    assert {name for name, v in by_name.items() if v.fixed_grid} == {
        "v6",
        "v7",
        "v8",
        "v9",
        "v10",
        "v11",
        "v12",
        "grid_stride",
        "atomic",
        "cub_block",
    }
    assert all(v.role == "rung" for name, v in by_name.items() if re.fullmatch(r"v\d+", name))


@pytest.mark.parametrize("record", [VARIANTS[0], gpureduce.devices()[-1]], ids=["Variant", "Device"])
def test_records_are_values(record):
    copy = pickle.loads(pickle.dumps(record))
    assert copy == record and hash(copy) == hash(record) and type(copy) is type(record)
    assert record.name in repr(record)
    for name in ("name", "something_new"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(record, name, "x")
    assert record != "v0"


@every_kernel
def test_source(variant):
    text = gpureduce.source(variant.name)
    assert text.startswith("//") and "__device__ void reduce(" in text
    assert f"#define GR_RUNG {variant.name}\n" in text


@every_kernel
def test_ptx_has_every_promised_entry(variant):
    text = gpureduce.kernels.ptx(variant.name)
    assert re.search(r"^\.version \d", text, re.M) and re.search(r"^\.target sm_\d", text, re.M)
    entries = set(re.findall(r"\.entry\s+(\w+)", text))
    kernels = [f"{variant.name}_{op}_{DTYPE_SHORT[dtype]}" for op, dtype in variant.coverage]
    kernels += [f"{kernel}_places" for kernel in kernels if "_arg" in kernel]
    if kernels[0] in entries:  # one kernel for all block sizes, or one for each
        assert entries == set(kernels)
    else:
        assert entries == {f"{kernel}_b{block}" for kernel in kernels for block in variant.block_sizes}


@every_kernel
def test_package_data(variant):
    stem = variant.file.removesuffix(".cu")
    folder = PACKAGE / "_ptx"
    text = gpureduce._core.read_image(folder / f"{stem}.ptx.xz")
    assert text.decode() == gpureduce.kernels.ptx(variant.name)


def test_no_contraction_in_the_kernels():
    """Each multiplication and addition rounds by itself, or the simulator could not have the GPU's bits."""
    for variant in OWN_KERNELS:
        assert not re.search(r"\b(fma|mad)\.[\w.]*f(32|64)\b", gpureduce.kernels.ptx(variant.name)), (
            variant.name
        )
        assert not re.search(r"\.ftz\b", gpureduce.kernels.ptx(variant.name)), variant.name


# Devices


@pytest.mark.core
def test_devices():
    records = gpureduce.devices()
    assert isinstance(records, tuple)
    assert [str(record) for record in records].count("sim") == 1
    for record in records:
        assert isinstance(record, gpureduce.Device)
        assert record.name and record.memory_bytes > 0 and record.multiprocessors > 0 and record.index >= 0
        if record.kind == "cuda":
            assert str(record) == f"cuda:{record.index}" and record.driver_version >= 12000
            assert record.compute_capability >= (7, 5)
            assert 10**11 < record.memory_bytes_per_second < 10**14
        else:
            assert record.kind == str(record) == "sim" and record.driver_version == 0
            assert record.memory_bytes_per_second == 0


def test_cuda_devices_come_in_order():
    indices = [record.index for record in gpureduce.devices() if record.kind == "cuda"]
    assert indices == list(range(len(indices)))


# Names


def test_public_names():
    assert set(gpureduce.__all__) == PUBLIC
    for name in PUBLIC:
        assert hasattr(gpureduce, name)


def test_version():
    from importlib.metadata import version

    assert gpureduce.__version__ == version("gpureduce")
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", gpureduce.__version__)


def test_errors():
    assert issubclass(gpureduce.DeviceError, RuntimeError)
    assert issubclass(gpureduce.SimulationError, gpureduce.DeviceError)
    assert issubclass(gpureduce.SimulatorWarning, UserWarning)
    for error in (gpureduce.DeviceError, gpureduce.SimulationError, gpureduce.SimulatorWarning):
        assert error.__module__.split(".")[0] == "gpureduce" and error.__doc__
        assert str(pickle.loads(pickle.dumps(error("text")))) == "text"


@pytest.mark.parametrize("name", sorted({*gpureduce.__all__} - {"__version__", *SUBMODULES}))
def test_public_functions_and_classes_are_pickled_by_reference(name):
    function = getattr(gpureduce, name)
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    "module",
    [gpureduce, *(getattr(gpureduce, name) for name in sorted(SUBMODULES))],
    ids=lambda m: m.__name__,
)
def test_dir_lists_what_is_public(module):
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, each) is not None for each in dir(module))


def test_docstrings():
    for name in PUBLIC - {"__version__"}:
        thing = getattr(gpureduce, name)
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            for parameter in inspect.signature(thing).parameters:
                assert re.search(rf"^\s*(\w+, )*\**{parameter}(, \w+)*( :|$)", thing.__doc__, re.M), (
                    f"{name}: {parameter}"
                )
    assert gpureduce.__doc__


def test_signature_of_sum():
    parameters = inspect.signature(gpureduce.sum).parameters
    numpys = list(inspect.signature(np.sum).parameters)
    ours = ["variant", "device", "block_size", "grid_size", "stream", "as_device", "progress"]
    assert list(parameters) == [*numpys, *ours, "exact"]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in ours)
    assert parameters["variant"].default == "auto"
    assert all(parameters[name].default is None for name in ours[1:])
    assert parameters["exact"].default is False


def test_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("stub", sorted(PACKAGE.glob("*.pyi")), ids=lambda path: path.name)
def test_stubs_name_what_is_there(stub):
    module = gpureduce if stub.stem == "__init__" else getattr(gpureduce, stub.stem)
    stubbed = set()
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            stubbed.add(node.name)
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) != "TypeAlias":
            stubbed.add(node.target.id)
    there = {name for name in vars(module) if not name.startswith("__")}
    assert stubbed == there


# The way of a call


def python_calls(call):
    """Return the names of all Python functions that a call goes through."""
    names = []

    def note(frame, event, _):
        if event == "call":
            names.append(frame.f_code.co_name)

    call()  # kernels are loaded then, and the default device is known
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names[1:]  # without that of `call` itself


def test_few_python_calls_lead_to_the_core(device, on_gpu):
    array = np.arange(1000, dtype=np.float32)
    numbered = 3 * on_gpu  # the regular expression that reads "cuda" and its number
    there = gpureduce.to_device(array, device)
    numbers = gpureduce.to_device(array.astype(np.int32), device)
    rows, rows_mask = (gpureduce.to_device(each.reshape(10, 100), device) for each in (array, array < 3))
    short = [
        lambda a: gpureduce.cumulative_sum(a, axis=0, device=device),
        lambda _: gpureduce.cumulative_prod(numbers, include_initial=True),
        lambda a: gpureduce.segment_reduce(a, [0, 9, 1000], "max", device=device),
        lambda a: gpureduce.reduceat(a, np.array([0, 9]), device=device),
        lambda a: gpureduce.group_reduce(a, np.arange(1000) % 7, device=device),
        lambda a: gpureduce.median(a, 0, device=device),
        lambda a: gpureduce.quantile(a, [0.25, 0.75], axis=0, device=device),
        lambda a: gpureduce.percentile(a, 25.0, device=device),
        lambda a: gpureduce.topk(a, 3, device=device),
    ]
    flag, mask = (gpureduce.to_device(bools, device) for bools in (np.array(False), array < 3))
    for most, call in (
        (24 + numbered, lambda: gpureduce.sum(array, variant="v7", device=device)),
        (1, lambda: gpureduce.sum(array, device=device)),
        (1, lambda: gpureduce.argmax(array, device=device)),
        (1, lambda: gpureduce.sum(there)),
        (32 + 2 * numbered, lambda: gpureduce.sum(there, variant="v7")),
        (1, lambda: gpureduce.sum(array.reshape(10, 100), axis=0, device=device)),
        (1, lambda: gpureduce.mean(there, 0, keepdims=True, as_device=True)),
        (1, lambda: gpureduce.any(there, out=flag)),
        (1, lambda: gpureduce.sum(there, where=mask, stream=1)),
        (1, lambda: gpureduce.sum(there, exact=False)),
        (1, lambda: gpureduce.sum(there, exact=True)),
        (1, lambda: gpureduce.sum(array, exact=True, device=device)),
        (1, lambda: gpureduce.sum(rows, axis=1, where=rows_mask, exact=True)),
        (1, lambda: gpureduce.sum(numbers, exact=True)),
        (1, lambda: gpureduce.mean(there, exact=True, as_device=True)),
        (1, lambda: gpureduce.dot(there, there, exact=True)),
        (1, lambda: gpureduce.fsum(there)),
        (1, lambda: gpureduce.logical_xor(rows, axis=1)),
        (1, lambda: gpureduce.softmax_denominator(rows, axis=1)),
        (1, lambda: gpureduce.moments(rows, axis=1)),
        (2, lambda: gpureduce.logical_xor(array, device=device)),
        (5, lambda: gpureduce.partial(rows, "sum", axis=1, as_device=True)),
        (5, lambda: gpureduce.partial(rows, "mean", axis=1, as_device=True)),
        (5, lambda: gpureduce.partial(rows, "max", as_device=True)),
        *((2, functools.partial(call, each)) for each in (there, array) for call in short),
    ):
        names = python_calls(call)
        assert 0 < len(names) <= most, names


# Import and the default device


def test_import_touches_no_cuda():
    done = python(
        """
        import gpureduce
        gpureduce.variants("reduction"), gpureduce.source("v7"), gpureduce.kernels.ptx("v7")
        print("libcuda" in open("/proc/self/maps").read(), "torch" in __import__("sys").modules)
        """
    )
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_what_is_said_without_pytorch():
    """One that is installed is hidden."""
    done = python(
        """
        import sys
        sys.modules["torch"] = None
        import gpureduce
        try:
            import gpureduce.torch
        except ImportError as error:
            print(error)
        """
    )
    assert done.stdout == "gpureduce.torch needs PyTorch: pip install 'gpureduce[torch]'\n", done.stderr


def test_the_simulator_needs_no_cuda():
    done = python(
        """
        import gpureduce
        assert gpureduce.sum([1.5, 2.0], device="sim") == 3.5
        print("libcuda" in open("/proc/self/maps").read())
        """,
        "-W",
        "error",
    )
    assert done.stdout.split() == ["False"], done.stderr


def test_one_warning_when_the_simulator_is_the_default():
    """CUDA_VISIBLE_DEVICES hides the GPUs of this machine, if any, from the child."""
    done = python(
        """
        import warnings
        import gpureduce
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                assert gpureduce.sum([1.5, 2.0]) == 3.5
            gpureduce.sum([1.5], device="sim")
        print([w.category.__name__ for w in caught], [w.filename for w in caught])
        """,
        CUDA_VISIBLE_DEVICES="-1",
    )
    assert done.stdout.strip() == "['SimulatorWarning'] ['<string>']", done.stdout + done.stderr


def test_many_threads_meet_a_fresh_module():
    """The first calls of a process race for the devices and the parsed kernels."""
    done = python(
        """
        import threading
        import gpureduce, numpy as np
        array, results, start = np.arange(1.0, 1001.0), [], threading.Barrier(8)
        def work(i):
            start.wait()
            results.append(gpureduce.sum(array, variant=f"v{i % 4}", device="sim"))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        [t.start() for t in threads], [t.join() for t in threads]
        print(set(map(float, results)), len(results))
        """
    )
    assert done.stdout.strip() == "{500500.0} 8", done.stderr


# Threads, signals, fork


@pytest.fixture(scope="module")
def slow_array():
    """Takes the simulator a good fraction of a second with v0."""
    return reference.generate("positive", "float32", 2**22)


def test_other_threads_run_during_a_simulation(slow_array):
    worker = threading.Thread(
        target=gpureduce.sum,
        args=(slow_array,),
        kwargs={"variant": "v0", "device": "sim", "block_size": 1024},
    )
    turns, started = 0, time.perf_counter()
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 5, f"{turns} turns in {time.perf_counter() - started:.3f} s: the GIL was held"


@pytest.mark.core
def test_eight_threads_get_the_results_of_one(device):
    jobs = [
        (variant.name, dtype, block, reference.case("positive", dtype, n).array)
        for variant in OWN_KERNELS
        for dtype in variant.dtypes
        for block, n in ((64, 1000), (256, 4097))
        if variant.role != "study"
    ]

    def run(job):
        name, _, block, array = job
        return gpureduce.sum(array, variant=name, device=device, block_size=block).tobytes()

    serial = [run(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(run, jobs)) == serial


INTERRUPTED = """
    import signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits it ignored
    import gpureduce, numpy as np
    small = np.ones(2**19, np.float32)
    gpureduce.sum(small, variant="v0", device="sim")
    start = time.perf_counter()
    gpureduce.sum(small, variant="v0", device="sim")
    each = (time.perf_counter() - start) / small.size
    array = np.ones(min(int(3 / each), 2**27), np.float32)  # Linux took 0.9 s to take back a gigabyte
    print("ready", flush=True)
    start = time.perf_counter()
    try:
        gpureduce.sum(array, variant="v0", device="sim")
        print("finished", time.perf_counter() - start)
    except KeyboardInterrupt:
        print("interrupted", time.time())
    print(gpureduce.sum(small, variant="v0", device="sim"))
"""


def test_ctrl_c_stops_a_simulation():
    # The simulator is whole after it.
    assert float(interrupted(INTERRUPTED, after=0.5, within=1.5)) == 2**19  # of the 2.5 s that are left


def test_simulator_after_fork():
    done = python(
        """
        import os
        import gpureduce, numpy as np
        array = np.arange(1.0, 100001.0)
        assert gpureduce.sum(array, variant="v3", device="sim") == array.sum()
        child = os.fork()
        if child == 0:
            right = [gpureduce.sum(array, variant=v, device="sim") == array.sum() for v in ("v3", "v8")]
            os._exit(0 if all(right) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.stdout.split() == ["0"], done.stderr


@leaves_a_call_unfinished
def test_exit_while_a_thread_simulates():
    """A daemon thread in the middle of a sum does not crash the interpreter as it ends."""
    done = python(
        """
        import threading, time
        import gpureduce, numpy as np
        array = np.ones(2**23, np.float32)
        options = {"variant": "v0", "device": "sim"}
        threading.Thread(target=gpureduce.sum, args=(array,), kwargs=options, daemon=True).start()
        time.sleep(0.2)
        print("leaving", flush=True)
        """
    )
    assert done.returncode == 0 and done.stdout.split() == ["leaving"], (done.returncode, done.stderr)


def test_a_gpu_context_does_not_survive_fork(on_gpu, device):
    if not on_gpu:
        pytest.skip("needs --device=cuda")
    done = python(
        f"""
        import os
        import gpureduce
        assert gpureduce.sum([1.5, 2.0], device={device!r}) == 3.5
        child = os.fork()
        if child == 0:
            try:
                gpureduce.sum([1.5], device={device!r})
            except gpureduce.DeviceError as error:
                os._exit(0 if "fork" in str(error) else 1)
            os._exit(2)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.stdout.split() == ["0"], done.stderr


def test_a_result_keeps_no_array(device):
    array = np.ones(1000, np.float32)
    before = sys.getrefcount(array)
    result = gpureduce.sum(array, device=device)
    assert sys.getrefcount(array) == before and result == 1000


# The command line


def run_module(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "gpureduce", *arguments],
        env=child_environment(),
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_demo(device):
    done = run_module("demo", f"--device={device}", "--size=5003")
    assert done.returncode == 0, done.stdout + done.stderr
    for variant in VARIANTS:
        shown = re.search(rf"^{variant.name} .*\byes$", done.stdout, re.M)
        assert bool(shown) == runs_on(variant, device), done.stdout
    assert ("not a GPU time" in done.stdout) == (device == "sim")


@pytest.mark.many
@pytest.mark.parametrize("dtype", list(DTYPE_SHORT))
def test_demo_dtypes(dtype, device, capsys):
    from gpureduce import __main__ as command

    assert command.main(["demo", f"--device={device}", "--size=1003", f"--dtype={dtype}"]) == 0
    assert dtype in capsys.readouterr().out


def test_demo_fails_when_a_sum_is_wrong(monkeypatch, capsys, device):
    from gpureduce import __main__ as command
    from gpureduce import _demo

    def wrong(a, **options):
        total = gpureduce.sum(a, **options)
        return total - a[-1] if options["variant"] == "v3" else total

    monkeypatch.setattr(_demo, "sum_on_device", wrong)
    assert command.main(["demo", f"--device={device}", "--size=1003"]) == 1
    printed = capsys.readouterr()
    assert re.search(r"^v3 .*\bNO$", printed.out, re.M) and "v3" in printed.err


@pytest.mark.usefixtures("full")
def test_info():
    done = run_module("info")
    assert done.returncode == 0, done.stderr
    assert gpureduce.__version__ in done.stdout and "sim" in done.stdout and np.__version__ in done.stdout


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    "arguments",
    [[], ["nothing"], ["demo", "--device=nowhere"], ["demo", "--size=-1"], ["demo", "--dtype=int8"]],
)
def test_wrong_usage(arguments):
    done = run_module(*arguments)
    assert done.returncode == 2 and "usage:" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.usefixtures("full")
def test_demo_on_an_absent_gpu():
    done = run_module("demo", "--device=cuda:15")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and done.stderr.startswith("gpureduce: ")
