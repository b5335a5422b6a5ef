"""Options and fixtures of the test suite.

pytest tests                             on the simulator
pytest tests --device=cuda               on a GPU; also sums 2^25 elements
pytest tests --device=cuda --large       and 2^31 + 3
pytest tests --exhaustive                all block sizes and shapes, as on a GPU
pytest tests --thin                      every test, of fewer things; tests/tools/sanitized.sh
"""

import collections
import functools
import gc
import os
import sys
import zlib
from pathlib import Path

import pytest

# Here and in children, before NumPy is there: threads of OpenBLAS that have nothing to do run in a circle.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# JAX would take three quarters of the GPU, on which other processes run tests, too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# Hundreds of children read what the first one compiles.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
THREADS = "GPUREDUCE_SIM_THREADS"
CROWDED = THREADS not in os.environ and int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)) >= len(
    os.sched_getaffinity(0)
)
gc.disable()  # until all tests are collected, which are kept

ROOT = Path(__file__).resolve().parent.parent
# `python -m pytest` puts the checkout in front of the installed package, but a checkout that was not built
# in place has no extension module.
if not list((ROOT / "gpureduce").glob("_core*.so")):
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
# Where all processes keep what NVIDIA's compiler makes of the tests' kernels; the name of a file is its key.
os.environ.setdefault("GPUREDUCE_TEST_KERNELS", str(ROOT / "build" / "kernels_of_tests"))
# Behind the installed package, for tests.support and benchmarks. Child processes get this path, too.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

import gpureduce  # noqa: E402
from gpureduce import _core  # noqa: E402
from gpureduce._bench import environment  # noqa: E402
from tests.support import fake_driver, pages, selection  # noqa: E402

# Tests of figures that were committed change with these alone: they run with --committed, as in .ci/run.
# Builds with sanitizers test the C core. They run no test of a folder in WITHOUT_C (documents, committed
# figures, compilers, other libraries), and a quarter of the parameters of a folder in SAMPLED, whose tests
# take the same paths through C with other operators, shapes and numbers.
COMMITTED = {"benchmarks"}
HARNESS = "test_harness.py"  # of benchmarks, which holds no figures
WITHOUT_C = {
    "benchmarks", "cli", "docs", "interop", "kernels", "mutation", "packaging", "programs", "tools",
}  # fmt: skip
SAMPLED = {
    "conv", "devices", "exact", "matmul", "multi", "normalize", "order", "property", "reductions", "scans",
    "segments", "states", "statistics",
}  # fmt: skip
WHOLE = {"api", "arrays", "driver", "robustness", "simulator"}


@functools.cache
def folder(path):
    """Return the name of the folder of tests/ in which a file lies."""
    name = path.relative_to(ROOT / "tests").parts[0]
    assert name in WITHOUT_C | SAMPLED | WHOLE, f"tests/conftest.py does not know the folder {name}"
    return name


def pytest_addoption(parser):
    parser.addoption("--device", default="sim", help='where sums run: "sim" (default), "cuda" or "cuda:N"')
    parser.addoption("--large", action="store_true", help="2^25 elements; with --device=cuda also 2^31 + 3")
    parser.addoption(
        "--exhaustive", action="store_true", help="all block sizes of a rung and all shapes, as on a GPU"
    )
    parser.addoption(
        "--property-cases",
        type=int,
        default=1200,
        help="test_property.py's; half of it test_property_more.py's",
    )
    parser.addoption("--group-cases", type=int, default=200, help="random calls in test_group_sums.py")
    parser.addoption("--boundary-cases", type=int, default=500, help="of each test in test_boundary.py")
    parser.addoption(
        "--hostile-seconds", type=float, default=1.0, help="of pairs of values in test_hostile_arguments.py"
    )
    parser.addoption(
        "--committed", action="store_true", help="also tests of committed figures: benchmarks, notebooks"
    )
    parser.addoption("--every-fault", action="store_true", help="test_faults.py leaves none out")
    parser.addoption("--leak-calls", type=int, default=72, help="of each entry point, in test_leaks.py")
    parser.addoption(
        "--thin", action="store_true", help="fewer things in the tests that try many, for slow builds"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return one process more than there are CPUs, one of which tests that wait for children leave idle."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_configure(config):
    config.addinivalue_line("markers", "core: a quick subset that reaches every C path, for sanitizers")
    config.addinivalue_line("markers", "many: run with many parameters, of which slow builds take a sixth")
    config.addinivalue_line("markers", "committed: holds committed figures or pictures (--committed)")
    config.addinivalue_line("markers", "gpu: needs a CUDA device (--device=cuda)")
    config.addinivalue_line("markers", "large: sums 2^25 elements (--large, or --device=cuda)")
    config.addinivalue_line("markers", "huge: sums 2^31 + 3 elements (--device=cuda --large)")


def pytest_ignore_collect(collection_path, config):
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if config.getoption("thin") and is_test and folder(collection_path) in WITHOUT_C else None


def pytest_collection_modifyitems(config, items):
    on_gpu = config.getoption("device").startswith("cuda")
    large = config.getoption("large")
    if not (on_gpu or config.getoption("exhaustive")):
        leave_out(config, items, {item for item in items if not has_usual_block_size(item)})
    if config.getoption("thin"):
        leave_out(config, items, set(items) - few(items))
    if not on_gpu:
        leave_out(config, items, repeated(items, "gpu"))
    skipped = {
        "committed": (config.getoption("committed"), "needs --committed"),
        "gpu": (on_gpu, "needs --device=cuda"),
        "large": (on_gpu or large, "needs --large or --device=cuda"),
        "huge": (on_gpu and large, "needs --device=cuda --large"),
    }
    for item in items:
        if folder(item.path) in COMMITTED and item.path.name != HARNESS:
            item.add_marker("committed")
        if not can_run(item, config.getoption("device")):
            item.add_marker(pytest.mark.skip(reason="the variant is not for this device or not installed"))
        for marker, (wanted, reason) in skipped.items():
            if not wanted and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish():
    gc.freeze()  # thousands of tests, in which nothing is to be found when garbage is looked for
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_terminal_summary(terminalreporter, config):
    """Say how many tests were skipped for which reason, and how many code blocks of pages did not run."""
    reports = (report for each in terminalreporter.stats.values() for report in each)
    if any("test_examples_of_a_page_run" in getattr(report, "nodeid", "") for report in reports):
        terminalreporter.write_line(pages.summary(config.getoption("device")))
    reasons = collections.Counter(
        report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "unknown"
        for report in terminalreporter.stats.get("skipped", ())
    )
    if reasons:
        terminalreporter.write_sep("=", "skipped tests")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:6,}  {reason}")


def pytest_runtest_setup(item):
    """Where as many processes as CPUs run the tests, launches of several threads are for the quick ones."""
    if CROWDED and item.get_closest_marker("core"):
        os.environ.pop(THREADS, None)
    elif CROWDED:
        os.environ[THREADS] = "1"


def leave_out(config, items, unwanted):
    config.hook.pytest_deselected(items=list(unwanted))
    items[:] = [item for item in items if item not in unwanted]


def repeated(items, marker):
    """Return the items with a marker but the first of each test, which stands for the others if skipped."""
    seen, found = set(), set()
    for item in items:
        if item.get_closest_marker(marker):
            test = item.nodeid.partition("[")[0]
            if test in seen:
                found.add(item)
            seen.add(test)
    return found


def has_usual_block_size(item):
    """Whether the test has no parameter `block`, or one that the suite runs without options."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return "block" not in parameters or parameters["block"] in selection.usual_block_sizes(
        parameters["variant"]
    )


def few(items):
    """Return what is left for slow builds: a sixth of each test of many things, by variants if it has any.

    Of other tests of more than eight things a sixth. Of all with a variant, and in the folders of SAMPLED, a
    quarter of that.

    They begin at different places, so that every dtype and operator stays with some of the tests.
    """
    groups, others = collections.defaultdict(list), collections.defaultdict(list)
    kept = set()
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        variant, block = parameters.get("variant"), parameters.get("block")
        if variant is None and not item.get_closest_marker("many"):
            others[item.module, getattr(item, "originalname", item.name)].append(item)
        elif block is None or block in selection.few_block_sizes(variant):
            groups[item.module, item.originalname, str(variant)].append(item)
    for i, group in enumerate(groups.values()):
        kept.update(group[i % min(6, len(group)) :: 6])
    for i, group in enumerate(others.values()):
        kept.update(group if len(group) <= 8 else group[i % 6 :: 6])
    alike = [
        item
        for item in items
        if item in kept
        and hasattr(item, "callspec")
        and (folder(item.path) in SAMPLED or "variant" in item.callspec.params)
    ]
    return kept - set(alike) | set(alike[::4])


def can_run(item, device):
    """Whether the test runs no variant, or one that is there."""
    variant = item.callspec.params.get("variant") if hasattr(item, "callspec") else None
    runs_a_variant = isinstance(variant, gpureduce.Variant) and "device" in item.fixturenames
    return not runs_a_variant or selection.runs_on(variant, device)


@pytest.fixture(scope="session")
def device(pytestconfig):
    """The device that the tests run on, as text for `device=`."""
    return pytestconfig.getoption("device")


@pytest.fixture
def default_device(device):
    """The device that the tests run on, which calls without `device=` take."""
    gpureduce.set_default_device(device)
    yield device
    gpureduce.set_default_device(None)


@pytest.fixture(scope="module")
def kept_kernels(tmp_path_factory):
    """Kernels are kept in the folder GPUREDUCE_TEST_KERNELS, never in the user's own folder."""
    folder = os.environ.get("GPUREDUCE_TEST_KERNELS") or str(tmp_path_factory.mktemp("kernels"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUREDUCE_CACHE_DIR", folder)
        yield


@pytest.fixture(scope="session")
def thin(pytestconfig):
    """Whether to leave out sizes and repetitions that take no way through the C code of their own."""
    return pytestconfig.getoption("thin")


@pytest.fixture
def full(thin):
    """For tests of Python that take long on slow builds: those of C that it calls have tests of their own."""
    if thin:
        pytest.skip("what it draws or counts takes no way through C of its own")


@pytest.fixture(scope="session")
def exhaustive(pytestconfig, on_gpu):
    """Whether tests run all block sizes and shapes with each rung; else some, or in slow builds few."""
    return on_gpu or pytestconfig.getoption("exhaustive")


@pytest.fixture
def some(request, exhaustive):
    """Chooses from many things: every so-manieth, other ones for each test; all where there is time."""
    turn = zlib.crc32(request.node.name.encode())
    return lambda things, of: list(things) if exhaustive else list(things)[turn % of :: of]


@pytest.fixture(scope="session")
def on_gpu(device):
    return device.startswith("cuda")


@pytest.fixture(scope="session")
def device_record(device):
    """The `gpureduce.Device` that the tests run on."""
    return environment.find_device(device)


@pytest.fixture(scope="session")
def fake_libraries():
    """The variables that name the fake CUDA driver and its libraries, for `tests.support.fake_driver.run`."""
    return fake_driver.build(ROOT / "build" / "fake_cuda_of_tests")


@pytest.fixture
def study_may_fail(request, on_gpu):
    """Called with a variant: its values may be wrong on a GPU if it is there only to be studied."""

    def mark(variant):
        if on_gpu and variant.role == "study":
            request.applymarker(pytest.mark.xfail(strict=False, reason="published with a data race"))

    return mark


@pytest.fixture
def waits(monkeypatch):
    """The streams waited for, as (kind, index, stream)."""
    calls = []
    monkeypatch.setattr(_core, "stream_wait", lambda *args: calls.append(args))
    return calls


@pytest.fixture
def orders(monkeypatch):
    """Which streams were told to follow which, as (kind, index, before, after)."""
    calls = []
    monkeypatch.setattr(_core, "stream_order", lambda *args: calls.append(args))
    return calls


@pytest.fixture
def addresses(monkeypatch):
    """Which CUDA device an address is on, as the driver would say."""
    known = {0x7000: 0, 0x8000: 1}
    monkeypatch.setattr(_core, "pointer_device", known.__getitem__)
    return known
