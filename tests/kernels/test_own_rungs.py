"""Kernels of a user's own as rungs: the traps of published ladders are found, and their reasons given."""

import json

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce.__main__ import main
from gpureduce._device import devices

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")

# A tree over the block's elements. TRAP is one of what ladders get wrong.
TREE = """
#define NOTHING 0
#define NO_GUARD 1
#define WHOLE_VECTORS 2
#define NO_BARRIER 3
#define UPPER_HALF 4
#define ATOMIC 5
#define IN_PLACE 6
#define TWICE 7
#define SHORT_SECOND 8
#define NO_TAIL 9
#define DROPS_NAN 10
#define SILENT 11

template <class T, int TRAP> __global__ void tree(TRAP_IN T *in, T *out, unsigned long long n) {
    extern __shared__ char bytes[];
    T *slots = reinterpret_cast<T *>(bytes);
    const unsigned t = threadIdx.x;
    const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + t;
    if (TRAP == WHOLE_VECTORS)
        n = n / 4 * 4;
    if (TRAP == SHORT_SECOND && n < 4)
        n = 0;
    if (TRAP == NO_TAIL && gridDim.x > 1)
        n = n / blockDim.x * blockDim.x;
    T x = TRAP == NO_GUARD || i < n ? in[i] : T(0);
    if (TRAP == TWICE && t == 0 && i + 1 < n && blockIdx.x == 1)
        x += in[i + 1];
    if (TRAP == DROPS_NAN)
        x = x == x ? x : T(0);
    slots[t] = x;
    __syncthreads();
    unsigned stride = blockDim.x / 2;
    if (TRAP == UPPER_HALF && stride > 256)
        stride = 256;
    for (; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
        if (TRAP != NO_BARRIER)
            __syncthreads();
    }
    if (t == 0) {
        if constexpr (TRAP == ATOMIC)
            atomicAdd(out, slots[0]);
        else if (TRAP != SILENT)
            out[blockIdx.x] = slots[0];
    }
    if (TRAP == IN_PLACE)
        const_cast<T *>(in)[blockIdx.x] = 0;
}
"""


def tree(trap="NOTHING", dtype="float", **options):
    return gpureduce.course.ladder(TREE, f"tree<{dtype}, {trap}>", options=["-DTRAP_IN=const"], **options)


@pytest.mark.parametrize(
    ("dtype", "blocks"), [("float", (32, 256, 1024)), ("double", 64), ("long long", 128)]
)
def test_a_right_kernel_passes(dtype, blocks):
    rung = tree(dtype=dtype, block_size=blocks)
    report = rung.check()
    assert report.passed and str(report).startswith("mine: correct, and without races, at ")
    assert min(report.sizes) == 0 and max(report.sizes) > 2**18
    assert json.loads(json.dumps(report.as_dict()))["passed"] is True
    data = np.arange(1000).astype(rung.dtype)
    assert rung.sum(data) == 499500 and rung.sum(data).dtype == rung.dtype


# Trap, options, sizes; the kind of the first finding, where it is met first, and what it says.
TRAPS = [
    ("NO_GUARD", {}, [256, 300], "stopped", 300, "\nkernel.cu:26: T x = TRAP == NO_GUARD"),
    ("WHOLE_VECTORS", {}, None, "wrong", 1, "element 0 is left out: the last n % 4, which"),
    ("WHOLE_VECTORS", {}, [4, 31], "wrong", 31,
     "elements 28 to 30 are left out: the last n % 4, which do not fill a vector"),
    ("NO_BARRIER", {}, [300], "race", 300, "at kernel.cu:38; __sync"),
    ("UPPER_HALF", {"block_size": 1024}, [512, 1024, 3000], "wrong", 1024,
     "512 to 1,023 are left out: threads 512 to 1023 of block 0, so that the tree begins below 1024 threads"),
    ("ATOMIC", {}, [1, 1000], "wrong", 1, "it adds to out, which is not initialized to 0"),
    ("SILENT", {}, [3, 4], "wrong", 3, "the result is nan, numpy.sum returns 18; nothing was written to out"),
    ("IN_PLACE", {}, [1], "input", 1, "the kernel writes to its input"),
    ("TWICE", {}, [256, 1000], "wrong", 1000, "element 257 counts 2 times"),
    ("SHORT_SECOND", {}, [256, 1000, 600], "wrong", 600,
     "the results of the first pass are correct, and pass 2 loses some of these 3 results"),
    ("NO_TAIL", {}, [256, 300], "wrong", 300,
     "elements 256 to 299 are left out: all elements after the last whole block"),
    ("NOTHING", {"grid": lambda n, block: max(1, n // block)}, [256, 600], "wrong", 600,
     "elements 512 to 599 are left out: all elements after the last whole block"),
    ("NOTHING", {"grid": lambda n, block: n // block}, [3, 256], "grid", 3, "0 blocks for 3 elements"),
    ("NOTHING", {"grid": lambda n, block: 1e300}, [3], "grid", 3, "returns up to 2,147,483,647"),
    ("NOTHING", {"grid": lambda n, block: 2}, [3], "grid", 3, "; the passes would never end"),
    ("NOTHING", {"block_size": 96}, [96, 200], "wrong", 96,
     "element 2 is left out, element 5 is left out, element 8 is left out and more: a tree that halves 96 "),
    ("NOTHING", {"block_size": 96}, None, "wrong", 3, ": a tree that halves 96 threads, not a power of two"),
    ("DROPS_NAN", {}, [3], "nan", 3, "with NaN as the last element, the result is 15"),
]  # fmt: skip


@pytest.mark.parametrize(("trap", "options", "sizes", "kind", "n", "text"), TRAPS)
def test_traps_are_found(trap, options, sizes, kind, n, text):
    report = tree(trap, **options).check(sizes)
    first = report.findings[0]
    assert not report.passed
    assert (first.kind, first.n) == (kind, n) and text in str(first)


def test_further_sizes_are_named():
    report = tree("WHOLE_VECTORS").check([4, 5, 6, 8, 9])
    (finding,) = report.findings
    assert finding.others == (6, 9) and str(finding).endswith("also at 6, 9 elements")
    assert "2 findings" not in str(report) and "1 finding at 5 lengths from 4 to 9 elements" in str(report)


def test_it_stands_in_tables_charts_and_profiles():
    rung = tree(name="yours")
    result = rung.bench(1000, ["v0", "v2"], device="sim")
    assert [row["variant"] for row in result.rows] == ["v0", "v2", "yours"]
    assert result.rows[2]["result"] == result.rows[1]["result"] and "| yours " in result.table()
    assert result.rows[2]["barriers"] == result.rows[1]["barriers"]
    found = gpureduce.profile(1000, rung)
    assert len(found.kernels) == 2 and found.variant == "yours" and found.races == ()
    assert found.result == result.rows[1]["result"] or found.result > 0
    assert found.timeline(block=3).active[0].sum() == 256
    compared = str(found.compare(gpureduce.profile(1000, "v2")))
    assert "yours" in compared and "v2" in compared
    pytest.importorskip("matplotlib")
    names = [label.get_text().split()[-1] for label in result.plot().get_yticklabels()]
    assert [name for name in names if name in ("v0", "v2", "yours")] == ["v0", "v2", "yours"]


@pytest.mark.parametrize(("dtype", "number"), [("float", "unsigned"), ("long long", "unsigned long long")])
def test_the_core_runs_it_as_on_a_gpu(dtype, number):
    """On the simulator by the way that launches on a GPU take."""
    source = TREE.replace("unsigned long long n)", f"{number} n)")
    rung = gpureduce.course.ladder(
        source, f"tree<{dtype}, NOTHING>", options=["-DTRAP_IN=const"], block_size=64
    )
    for n in (0, 1, 64, 65, 5000):
        data, out = np.arange(n).astype(rung.dtype), np.zeros(1, rung.dtype)
        _core.user_rung_run(rung._call(data, 64, devices.device_info("sim")), out)
        assert out[0] == data.sum() == rung.sum(data)
    call = rung._call(data, 64, devices.device_info("sim"))
    for name, value, text in [
        ("data", data[:7], "another length"),
        ("data", data[::2], "not plain"),
        ("passes", ((5000, 0),), "grid: 0 blocks"),
        ("passes", ((5000, 7),), "the last launch leaves 7 results"),
        ("count_bytes", 2, "not plain"),
    ]:
        with pytest.raises(ValueError, match=text):
            _core.user_rung_run(call | {name: value}, np.zeros(1, rung.dtype))
    for wrong in (tuple(call.items()), call | {"threads": 64}, {"data": data}):
        with pytest.raises(TypeError):
            _core.user_rung_run(wrong, np.zeros(1, rung.dtype))
    with pytest.raises(ValueError, match="has no meaningful clock"):
        _core.user_rung_time(call, (1, 1, 1))


def test_on_the_device_of_the_tests(device, on_gpu):
    """On a GPU the driver compiles the PTX; a row of `bench` has times there."""
    rung = tree(block_size=(128, 1024))
    for block_size in rung.block_sizes:
        for n in (0, 1, 127, 129, 4099, 70001):
            data = np.random.default_rng(n).integers(1, 16, n).astype(np.float32)
            assert rung.sum(data, device=device, block_size=block_size) == data.sum(dtype=np.float64)
    row = rung.bench(5000, "v2", device=device, repeats=3).rows[-1]
    assert row["variant"] == "mine" and row["relative_error"] < 1e-6
    assert ("all_passes_us" in row) == on_gpu and ("barriers" in row) != on_gpu


def test_profiles_take_the_source_itself(tmp_path, capsys):
    source = TREE.replace("template <class T, int TRAP>", "#define T float\n#define TRAP 0\n")
    source = source.replace("TRAP_IN", "const")
    path = tmp_path / "tree.cu"
    path.write_text(source)
    data = np.arange(700, dtype=np.float32)
    for given in (source, path, str(path)):
        found = gpureduce.profile(data, given)
        assert found.result == data.sum() and len(found.kernels) == 2 and found.variant == "mine"
    assert main(["profile", str(path), "-n", "700", "--compare", "v2"]) == 0
    assert "mine: sum of 700 float32" in capsys.readouterr().out
    assert main(["profile", str(path), "-n", "700", "--source"]) == 0
    assert "slots[t] += slots[t + stride];" in capsys.readouterr().out
    assert main(["profile", str(path), "--op", "max"]) == 2
    assert main(["profile", str(tmp_path / "none.cu")]) == 2


def test_kernels_that_are_no_rung_are_refused():
    source = "__global__ void k(const float *in, double *out, int n) {}\n__global__ void l(float *a) {}\n"
    for options, error, text in [
        ({}, ValueError, "kernel: expected a name; in the source there are k, l"),
        (
            {"kernel": "k"},
            ValueError,
            r"in and out must have the same type, .* got 'const float \*' and 'double \*'",
        ),
        ({"kernel": "l"}, ValueError, r"expected a kernel such as l\(const float \*in.*takes \(float \*\)"),
        ({"kernel": "l", "name": "v7"}, ValueError, "name: 'v7' is"),
        ({"kernel": "k", "block_size": 2000}, ValueError, "block_size: expected 1 to 1024"),
        ({"kernel": "l", "elements": 0}, ValueError, "elements: expected 1 or more"),
        ({"kernel": "l", "grid": 1.5}, TypeError, "grid: expected int, got float"),
        ({"kernel": "l", "shared_bytes": 10**30}, ValueError, "shared_bytes: expected up to 232,448"),
    ]:
        with pytest.raises(error, match=text):
            gpureduce.course.ladder(source, **options)
    with pytest.raises(TypeError, match="takes elements of float32, got int64"):
        tree().sum([1, 2])
    with pytest.raises(ValueError, match="variant: a kernel of your own has its operator"):
        gpureduce.profile(100, tree(), op="max")


def test_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "mine.cu"
    path.write_text(TREE.replace("TRAP_IN", "const"))
    few = ["-n", "300", "--variants", "v0"]
    assert main(["ladder", str(path), "--kernel", "tree<float, NOTHING>", *few, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["passed"] and record["rows"][-1]["variant"] == "mine" and record["rows"][-1]["n"] == 300
    wrong = ["ladder", str(path), "--kernel", "tree<float, WHOLE_VECTORS>", *few]
    assert main([*wrong, "--source"]) == 1
    out = capsys.readouterr().out
    assert "which do not fill a vector" in out and "| mine " in out and "21 |         n = n / 4 * 4;" in out
    assert main([*wrong, "--csv"]) == 1 and "\nmine,sum" in capsys.readouterr().out
    assert main(["ladder", str(path), "--kernel", "tree<float, NO_GUARD>"]) == 1
    assert "| v0" not in capsys.readouterr().out
    assert main(["ladder", str(tmp_path / "none.cu")]) == 2


ADDS_TO_OUT = """
__global__ void mine(const float *in, float *out, unsigned n) {
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(out, in[i]);
}
"""
LARGEST = """
__global__ void mine(const float *in, float *out, unsigned n) {
    float x = 0;
    for (unsigned i = 0; i < n; ++i)
        x = in[i] > x ? in[i] : x;
    out[0] = x;
}
"""


def test_a_failure_of_some_elements_is_explained_before_that_of_none():
    (wrong,) = gpureduce.course.ladder(ADDS_TO_OUT, block_size=32, grid=1).check([0, 1, 40]).findings
    assert wrong.n == 1 and 0 in wrong.others
    assert wrong.message.endswith("; it adds to out, which is not initialized to 0")


def test_what_is_no_sum_has_no_weights():
    (wrong,) = gpureduce.course.ladder(LARGEST, block_size=32, grid=1).check([0, 1, 40, 100]).findings
    assert wrong.n == 40 and "; it is not additive: " in wrong.message and "count" not in wrong.message


# As published ladders have it: no guard, and no number of elements to guard with.
WITHOUT_N = """
__global__ void reduce(TYPE *in, TYPE *out) {
    extern __shared__ TYPE slots[];
    const unsigned t = threadIdx.x, i = blockIdx.x * (blockDim.x * ELEMENTS) + t;
    slots[t] = in[i];
    for (unsigned k = 1; k < ELEMENTS; ++k)
        slots[t] += in[i + k * blockDim.x];
    __syncthreads();
    for (unsigned stride = FROM; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] += slots[t + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}
"""


def without_n(type_="float", from_="blockDim.x / 2", **options):
    defined = (f"-DTYPE={type_}", f"-DELEMENTS={options.get('elements', 1)}", f"-DFROM={from_}")
    return gpureduce.course.ladder(WITHOUT_N, options=defined, **options)


def test_a_kernel_without_n_is_right_for_whole_blocks():
    for rung in (without_n(block_size=(64, 256)), without_n("int", elements=2, block_size=64)):
        report = rung.check()
        assert report.passed and not rung.takes_n
        assert str(report).endswith(" threads; it has no parameter n and supports whole blocks only")
        assert report.as_dict()["note"] == report.note == "has no parameter n and supports whole blocks only"
        least = 64 * rung.elements
        assert report.sizes[0] == least and report.sizes[-1] > 2**18
        assert all(n % least == 0 for n in report.sizes)
    assert without_n(block_size=64).check([0, 1, 63, 64, 100, 640]).sizes == (64, 640)
    assert tree().check([1]).note == "" and tree().takes_n


def test_without_n_what_is_wrong_in_whole_blocks_is_explained():
    (wrong,) = without_n(from_="blockDim.x / 4", block_size=64).check([64, 65, 640]).findings
    assert (wrong.n, wrong.others) == (64, (640,))
    assert "elements 32 to 63 are left out: threads 32 to 63 of block 0" in wrong.message
    (stopped,) = without_n(block_size=64, elements=1, shared_bytes=4).check([128]).findings
    assert stopped.kind == "stopped"
    odd = without_n(block_size=100).check([100, 300])  # n % 8 is not 0, but n + 8 is no number of blocks
    assert "a tree that halves 100 threads, not a power of two, loses some" in odd.findings[0].message
    assert odd.note and not odd.passed


def test_without_n_other_numbers_of_elements_are_refused():
    rung = without_n(block_size=64)
    text = "reduce has no parameter n and supports whole blocks only, of 64 elements each; got "
    for call, name, got in [
        (lambda: rung.sum(np.ones(65, np.float32)), "a", "65"),
        (lambda: rung.sum(np.ones(0, np.float32)), "a", "0"),
        (lambda: rung.profile(1000), "a", "1,000"),
        (lambda: gpureduce.profile(1000, rung), "a", "1,000"),
        (lambda: rung.bench(63, "v0", device="sim"), "n", "63"),
        (lambda: rung.bench([64, 65], "v0", device="sim"), "n", "65"),
    ]:
        with pytest.raises(ValueError, match=rf"^{name}: {text}{got} elements\Z"):
            call()
    with pytest.raises(
        ValueError, match=r"sizes: the kernel has no parameter n .* none of these is; got \[1, 65\]"
    ):
        rung.check([1, 65])
    with pytest.raises(ValueError, match="grid: reduce has no parameter n"):
        without_n(grid=4)
    row = rung.bench(640, "v0", device="sim").rows[-1]
    assert row["variant"] == "mine" and row["relative_error"] < 1e-6 and row["launches"] == 2
    found = gpureduce.profile(np.arange(640, dtype=np.float32), rung)
    assert found.result == 204480 and len(found.kernels) == 2


@pytest.mark.parametrize(("type_", "elements"), [("float", 1), ("double", 2), ("int", 1)])
def test_without_n_on_the_device_of_the_tests(device, type_, elements):
    """By the way that launches on a GPU take: zeros follow the results of a pass up to a whole block."""
    rung = without_n(type_, block_size=64, elements=elements)
    for blocks in (1, 2, 63, 64, 65, 5000):
        data = np.random.default_rng(blocks).integers(-9, 16, blocks * 64 * elements).astype(rung.dtype)
        assert rung.sum(data, device=device) == data.sum(dtype=np.float64)
        out = np.zeros(1, rung.dtype)
        call = rung._call(data, 64, devices.device_info(device))
        _core.user_rung_run(call, out)
        assert out[0] == data.sum(dtype=np.float64) and call["count_bytes"] == 0
    for n in (78, 2**63):  # elements of the second pass: fewer than the first one leaves, and too many
        with pytest.raises(ValueError, match="not plain"):
            _core.user_rung_run(call | {"passes": (call["passes"][0], (n, 1))}, out)


def test_without_n_names_of_c_and_ptx_tell_as_much():
    plain = WITHOUT_N.replace("__global__", 'extern "C" __global__').replace("TYPE", "float")
    plain = plain.replace("ELEMENTS", "1").replace("FROM", "blockDim.x / 2")
    rung = gpureduce.course.ladder(plain, block_size=32)
    ptx = gpureduce.course.ladder(rung._program.ptx, "reduce", block_size=32)
    for each in (rung, ptx):
        assert not each.takes_n and each.check([32, 320]).passed


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        (33, TypeError, "sizes: expected an iterable of int, got int"),
        ("33", TypeError, "sizes: expected an iterable of int, got str"),
        ([1, [2]], TypeError, "sizes: expected an integer, got list"),
        ([0.5], TypeError, "sizes: expected an integer, got float"),
        ([3, -1], ValueError, r"sizes: negative numbers of elements are not allowed: \[3, -1\]"),
    ],
)
def test_check_names_sizes_that_are_none(sizes, error, message):
    with pytest.raises(error, match=message):
        gpureduce.kernels.check(LARGEST, sizes=sizes, block_size=32, grid=1)


@pytest.mark.parametrize("value", [None, "3", [1]])
def test_check_names_a_grid_that_returns_no_number(value):
    name = type(value).__name__
    with pytest.raises(TypeError, match=rf"^grid: expected a function that returns a number, not {name}\Z"):
        gpureduce.kernels.check(LARGEST, sizes=[3], block_size=32, grid=lambda n, block: value)


def test_kernels_check_reports_as_check_of_a_rung_does():
    arguments = {"block_size": 32, "grid": 1}
    found = gpureduce.kernels.check(LARGEST, sizes=iter([0, 1, 40]), **arguments)
    assert not found.passed
    assert found == gpureduce.course.ladder(LARGEST, **arguments).check([0, 1, 40])
