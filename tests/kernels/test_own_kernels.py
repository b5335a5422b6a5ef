"""CUDA C++ of a user's own on the simulator: compiled, run, profiled, refused; and as a rung."""

import textwrap

import numpy as np
import pytest

import gpureduce

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")

TOOLS = """\
#include <cstdint>
#include <cuda_runtime.h>

template <class T, int N> __global__ void add(const T *in, T *out, T what, uint64_t n) {
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] + N * what;
}
"""


def add(kernel="add<float, 3>", args=None, n=100, **options):
    a = np.arange(n, dtype=np.float32)
    out = np.zeros(n, np.float32)
    found = gpureduce.simulate(TOOLS, kernel, 4, 32, args or [a, out, 2.0, n], **options)
    return found, out


def test_a_template_runs_and_its_lines_are_the_users():
    found, out = add()
    assert (out == np.arange(100) + 6).all()
    assert found.title == "add<float, 3>: 4 x 1 x 1 blocks of 32 x 1 x 1"
    assert found.file == "kernel.cu" and found.kernels[0].name == "add<float, 3>"
    by_line = {line.number: line for line in found.lines()}
    assert by_line[7].text == "        out[i] = in[i] + N * what;"
    assert by_line[7].counts.global_load_requests == by_line[7].counts.global_store_requests == 4
    assert by_line[6].counts.divergent_branches == 1  # the last warp has four elements
    margin = found.annotate()
    assert "   7 |         out[i] = in[i] + N * what;" in margin and "   1 | #include <cstdint>" in margin
    assert "out[i] = in[i] + N * what;" in found._repr_html_()
    assert found.timeline(block=3).active.sum() == 4 and found.timeline().active.sum() == 32
    assert (out == np.arange(100) + 6).all()


def test_arguments_are_held_against_the_types():
    floats, doubles = np.zeros(100, np.float32), np.zeros(100)
    takes = r"args\[{}\]: the kernel takes '{}' here, got {}"
    for args, text in [
        ([doubles, floats, 2.0, 100], takes.format(0, r"const float \*", "an array of float64")),
        ([floats, doubles, 2.0, 100], takes.format(1, r"float \*", "an array of float64")),
        ([floats, floats.copy(), floats[:1], 100], takes.format(2, "float", "an array of float32")),
        ([floats, 7, 2.0, 100], takes.format(1, r"float \*", r"7 \(int\)")),
        ([floats, floats.copy(), 2.0, 1.5], r"args\[3\]: expected a value for 'unsigned long long'"),
    ]:
        with pytest.raises(TypeError, match=text):
            add(args=args)
    types = r"const float \*, float \*, float, unsigned long long"
    with pytest.raises(ValueError, match=f"takes 4 arguments: {types}, got 1"):
        add(args=[floats])
    with pytest.raises(ValueError, match=r"args\[3\]: -1 does not fit 'unsigned long long'"):
        add(args=[floats, floats.copy(), 2.0, -1])


def test_an_access_out_of_bounds_is_at_the_users_line():
    a, out = np.zeros(100, np.float32), np.full(90, 5, np.float32)
    with pytest.raises(gpureduce.SimulationError) as raised:
        add(args=[a, out, 2.0, 100])
    assert str(raised.value).endswith("\nkernel.cu:7: out[i] = in[i] + N * what;")
    assert "add<float, 3>" in str(raised.value) and "_Z" not in str(raised.value)
    assert raised.value.profile.totals.global_store_requests > 0
    assert (out == 5).all()


def test_what_the_compiler_says_stands_as_it_is():
    with pytest.raises(gpureduce.CompileError) as raised:
        gpureduce.simulate(TOOLS.replace("N * what", "N * waht"), "add<float, 3>", 1, 32, [])
    assert 'kernel.cu(7): error: identifier "waht" is undefined' in str(raised.value)
    assert "out[i] = in[i] + N * waht;" in raised.value.log
    for kernel, text in [
        ("sub", "there is no kernel 'sub' in the source; it has add"),
        ("add", "add is a template; pass its arguments, as in 'add<float>'"),
    ]:
        with pytest.raises(gpureduce.CompileError, match=text):
            gpureduce.simulate(TOOLS, kernel, 1, 32, [])
    with pytest.raises(TypeError, match="options: expected a tuple of str"):
        gpureduce.simulate(TOOLS, "add<float, 3>", 1, 32, [], options="-DN=3")


def test_a_file_with_what_it_includes(tmp_path):
    (tmp_path / "half.cuh").write_text("__device__ int half_of(int x) {\n    return x / 2;\n}\n")
    path = tmp_path / "halves.cu"
    path.write_text(
        textwrap.dedent("""\
        #include "half.cuh"
        extern "C" __global__ void halves(int *a) {
            __shared__ int slots[64];
            slots[threadIdx.x] = a[threadIdx.x];
            WAIT;
            a[threadIdx.x] = half_of(slots[63 - threadIdx.x]) + BONUS;
        }
        #ifndef __CUDACC_RTC__
        int main() { halves<<<1, 64>>>(nullptr); }
        #endif
        """)
    )
    a = np.arange(64, dtype=np.int32)
    options = ["-DBONUS=5", "-DWAIT=__syncthreads()"]
    assert gpureduce.simulate(path, "halves", 1, 64, [a], options=options).races == ()
    assert (a == (63 - np.arange(64)) // 2 + 5).all()
    found = gpureduce.simulate(str(path), "halves", 1, 64, [a], options=["-DBONUS=5", "-DWAIT="])
    lines = {side.place for race in found.races for side in (race.first, race.second) if side}
    assert lines == {"halves.cu:4", "halves.cu:6"}
    assert found.totals.barriers == 0
    assert set(found.sources) == {str(path), "half.cuh"} and found.file == str(path)
    assert [line.text for line in found.lines("half.cuh")] == ["    return x / 2;"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a[0] = *(char *)malloc(5);", "this launch has no heap for malloc"),
        ("assert(a[0] > 7);", "kernel.cu:4: void k(float *): assertion 'a[0] > 7' failed"),
        ("while (a[0] < 7) __threadfence();", "budget"),
        ("if (threadIdx.x < 7) __syncthreads();", "divergent barrier"),
    ],
)
def test_a_kernel_that_goes_wrong_names_its_line(line, said):
    heads = "#include <cassert>\n#include <cstdio>\n"
    source = f"{heads}__global__ void k(float *a) {{\n    {line}\n    a[0] = 3;\n}}\n"
    a = np.ones(64, np.float32)
    with pytest.raises(gpureduce.SimulationError) as raised:
        gpureduce.simulate(source, "k", 1, 64, [a], max_steps=10_000)
    assert said in str(raised.value) and str(raised.value).endswith(f"\nkernel.cu:4: {line}") and a[0] == 1


def test_invalid_sources_are_refused():
    with pytest.raises(FileNotFoundError):
        gpureduce.simulate("nowhere.cu", "k", 1, 1)
    with pytest.raises(TypeError, match="source: expected str or a path, got bytes"):
        gpureduce.simulate(b"x", "k", 1, 1)
    for source in ("int a;\0", "a\0.cu"):
        with pytest.raises(ValueError, match=r"source: .* cannot have a NUL character"):
            gpureduce.simulate(source, "k", 1, 1)


CELL = """\
__global__ void twice(const float *a, float *out, int n) {
    if (threadIdx.x < n)
        out[threadIdx.x] = 2 * a[threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell()
    shell.run_line_magic("load_ext", "gpureduce")
    shell.run_cell(
        "import numpy as np\na = np.arange(64, dtype=np.float32)\nout = np.zeros_like(a)", silent=True
    )
    return shell


def test_a_cell_is_run_and_profiled(shell, capsys):
    result = shell.run_cell(f'%%cuda -b 64 -o found a out "len(a) - 1"\n{CELL}').result
    assert isinstance(result, gpureduce.Profile) and result is shell.user_ns["found"]
    assert (shell.user_ns["out"][:63] == 2 * shell.user_ns["a"][:63]).all() and shell.user_ns["out"][63] == 0
    (line,) = (line for line in result.lines() if line.counts.global_store_requests)
    assert (line.number, line.text.strip()) == (4, "out[threadIdx.x] = 2 * a[threadIdx.x];")  # as in the cell
    assert "// %%cuda -b 64" in result._repr_html_()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("-b 128 a out 128", CELL, "kernel.cu:4: out[threadIdx.x]"),
        ("-b 64 a out", CELL, "args: the kernel takes 3 arguments"),
        (
            "-b 64 a out 64",
            CELL.replace("2 *", "two *"),
            'kernel.cu(4): error: identifier "two" is undefined',
        ),
        ("--no-such a", CELL, "unrecognized arguments: --no-such"),
        (
            "a",
            CELL + CELL.replace("twice", "thrice"),
            "expected the name of a kernel; the source has twice, thrice",
        ),
        ("-b x a", CELL, "argument -b/--block: 'x': expected"),
    ],
)
def test_a_cell_that_is_wrong_is_told_so_in_a_line(shell, capsys, line, cell, said):
    result = shell.run_cell(f"%%cuda {line}\n{cell}")
    told = "".join(capsys.readouterr())
    assert not result.success and "UsageError: %%cuda: " in told and said in told and "Traceback" not in told


def test_a_cell_as_a_rung(shell, capsys):
    cell = "__global__ void mine(const float *in, float *out, int n) { out[blockIdx.x] = n > 0 ? in[0] : 0; }"
    report = shell.run_cell(f"%%cuda --ladder -b 64 -o rung\n{cell}\n").result
    assert not report.passed and "left out" in report._repr_html_()
    assert isinstance(shell.user_ns["rung"], gpureduce.course.OwnRung) and shell.user_ns[
        "rung"
    ].block_sizes == (64,)
    assert shell.run_cell("%%cuda --help\nnone\n").result is None
    assert "usage: %%cuda" in capsys.readouterr().out


TWICE = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 a, .param .u64 b)
{
    .reg .b64 %d<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %d0, [a];
    ld.param.u64 %d1, [b];
    ld.global.f32 %f0, [%d0+4];
    add.f32 %f1, %f0, %f0;
    st.global.f32 [%d1+8], %f1;
    ret;
}
"""


def test_interleaved_arrays_share_no_element():
    whole = np.arange(10, dtype=np.float32)
    gpureduce.simulate(TWICE, "twice", 1, 1, [whole[::2], whole[1::2]])
    assert whole.tolist() == [0, 1, 2, 3, 4, 4, 6, 7, 8, 9]
    for second in (whole[::3], whole[::-1], whole[4:]):
        with pytest.raises(ValueError, match=r"args\[1\]: the array shares memory"):
            gpureduce.simulate(TWICE, "twice", 1, 1, [whole[::2], second])


def test_arrays_of_a_device_are_refused_in_words():
    array = gpureduce.to_device(np.ones(4, np.float32), "sim")
    with pytest.raises(TypeError, match=r"args\[0\]: expected a NumPy array or a number, got DeviceArray"):
        gpureduce.simulate(TWICE, "twice", 1, 1, [array, array])
