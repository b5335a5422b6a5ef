"""CUDA C++ as nvcc takes it: names and headers that need no option, host code, old spellings."""

import math
import re
import shutil

import numpy as np
import pytest

import gpureduce
from gpureduce._custom import host_code, implicit, nvcc
from gpureduce._profiles import compiling

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")


@pytest.fixture
def without_nvcc(monkeypatch):
    monkeypatch.setattr(nvcc, "find", lambda: None)


# What nvcc 13.0 takes without an include, and what the first elements of a are then.
SNIPPETS = {
    "uint i = 0; a[i] = -INFINITY;": [-math.inf],
    "ushort i = 3; ulong j = 4; a[0] = i + j; u_int32_t k = 5; u_int8_t l = 255; a[1] = k + l;": [7, 260],
    "a[0] = M_PI; a[1] = M_E; a[2] = M_SQRT2; a[3] = M_PI_2 + M_1_PI + M_LN2;":
        [math.pi, math.e, 2**0.5, math.pi / 2 + 1 / math.pi + math.log(2)],
    "a[0] = M_PIf; a[1] = M_LOG2E; a[2] = M_2_SQRTPI * M_SQRT1_2; "
    "a[3] = M_LN10 + M_LOG10E + M_PI_4 + M_2_PI;":
        [float(np.float32(math.pi)), 1 / math.log(2), 2 / math.pi**0.5 * 0.5**0.5,
         math.log(10) + 1 / math.log(10) + math.pi / 4 + 2 / math.pi],
    "int32_t i = INT_MAX; a[0] = i; int64_t l = -5; int16_t s = -7; int8_t c = -1; a[1] = l + s + c;":
        [2**31 - 1, -13],
    "a[0] = INT_MIN; a[1] = UINT_MAX; a[2] = LONG_MAX; a[3] = ULLONG_MAX;":
        [-(2**31), 2**32 - 1, 2**63, 2**64],
    "a[0] = SHRT_MAX; a[1] = CHAR_MIN; a[2] = UCHAR_MAX + CHAR_BIT; a[3] = LLONG_MIN;":
        [32767, -128, 263, -(2**63)],
    "a[0] = std::sqrt(2.0f); a[1] = std::fabs(-2.0f); a[2] = std::pow(2.0, 0.5); a[3] = std::abs(-2.5f);":
        [float(np.sqrt(np.float32(2))), 2, 2**0.5, 2.5],
    "a[0] = std::abs(-3) + abs(-4) + labs(-5L) + llabs(-6LL); a[1] = std::abs(-7L);": [18, 7],
    "a[0] = std::floor(1.5) + std::ceil(1.5) + std::round(2.5) + std::trunc(-2.5) + std::rint(2.5);": [6],
    "a[0] = std::fmax(1., 2.) + std::fmin(1., 2.) + std::fmod(5., 3.) + std::hypot(3., 4.) + std::cbrt(8.);":
        [12],
    "a[0] = std::isnan(NAN) + std::isinf(-INFINITY) + !std::isfinite(NAN) + std::signbit(-0.0);": [4],
    "a[0] = isnan(NAN) + isinf(HUGE_VALF) + isfinite(1.f); a[1] = HUGE_VAL;": [3, math.inf],
    "a[0] = max(1, 2) + min(1.f, 2.f);": [3],
    "assert(a[0] == 0); a[0] = 1;": [1],
    "auto f = [](auto x) { return x; }; a[0] = f(1.5f);": [1.5],
    "auto f = [&](auto x, auto y) { return x + y + a[0]; }; a[1] = f(1, 2.5f);": [0, 3.5],
    "int *p = NULL; a[0] = p == nullptr; std::nullptr_t z = nullptr; a[1] = z == nullptr;": [1, 1],
    "size_t n = sizeof(int); ptrdiff_t d = -1; std::size_t m = 1; a[0] = n + m; a[1] = d;": [5, -1],
    "float4 v = make_float4(1, 2, 3, 4); a[0] = v.x + v.w; int2 w = make_int2(1, 2); a[1] = w.y;": [5, 2],
    "clock_t t = clock(); a[0] = t >= 0; a[1] = clock64() >= 0;": [1, 1],
    "memset(a, 0, 8); a[1] = 2.5; memcpy(a, a + 1, 8);": [2.5],
    "dim3 d(1, 2, 3); a[0] = d.y; uint3 t = threadIdx; a[1] = t.x + warpSize;": [2, 32],
    "cudaError_t e = cudaSuccess; a[0] = e; cudaStream_t s = 0; a[1] = s == 0;": [0, 1],
    "a[0] = std::is_same<int, int>::value; constexpr bool b = std::is_same_v<int, float>; a[1] = b;": [1, 0],
    "std::conditional_t<true, double, int> x = 1.5; std::remove_const_t<const int> y = 2; a[0] = x + y;":
        [3.5],
    "std::initializer_list<int> l = {1, 2}; a[0] = l.size();": [2],
    "auto m = std::move(a); m[0] = 1;": [1],
    "a[0] = EXIT_SUCCESS + EXIT_FAILURE; a[1] = RAND_MAX;": [1, 2**31 - 1],
    "a[0] = __CUDA_ARCH__; a[1] = CUDART_VERSION == 1000 * __CUDACC_VER_MAJOR__ + 10 * __CUDACC_VER_MINOR__;":
        [900, 1],
    "a[0] = __popc(3) + __clz(1) + __ffs(4); a[1] = __float_as_int(1.f);": [36, 0x3F800000],
    "a[0] = __builtin_popcount(7) + __builtin_clz(1) + __builtin_ctz(8) + __builtin_ffs(4);": [40],
    "a[0] = __builtin_popcountll(~0ull) + __builtin_parity(7) + __builtin_fabsf(-2.f);": [67],
    "a[0] = __builtin_bswap32(1) == 1 << 24; a[1] = __builtin_inff(); a[2] = offsetof(int2, y);":
        [1, math.inf, 4],
    "bool b = true and not false; a[0] = b;": [1],
    "unsigned long long t; asm volatile(\"mov.u64 %0, 1;\" : \"=l\"(t)); a[0] = t;": [1],
    "__int128 big = (__int128)1 << 100; a[0] = (double)(big >> 98);": [4],
    "a[0] = std::lround(2.6) + std::ldexp(1., 3) + std::scalbn(1., 2) + std::copysign(1., -2.);": [14],
    "atomicAdd(a, 1.); __syncthreads(); __syncwarp(); __threadfence();": [1],
}  # fmt: skip
# What NVRTC and libcu++ take, and nvcc where something is included or an option given.
MORE = {
    "uint8_t u = 255; uint16_t v = 65535; uint32_t n = 7; "
    "uint64_t m = UINT64_MAX; a[0] = u + v + n; a[1] = m;":
        [65797, 2**64],
    "std::uint32_t n = UINT32_MAX; a[0] = n; a[1] = INT64_MIN; a[2] = SIZE_MAX;":
        [2**32 - 1, -(2**63), 2**64],
    "uintptr_t p = (uintptr_t)a; intptr_t q = (intptr_t)a; a[0] = p == q;": [1],
    "std::pair<int, int> p(1, 2); int x = 3, y = 4; std::swap(x, y); a[0] = p.first + 10 * x;": [41],
}  # fmt: skip


def source(snippets, main=""):
    """One kernel, which has a line for each of them."""
    lines = [f"    {{ double *a = out + 4 * {i}; {line} }}" for i, line in enumerate(snippets)]
    return "\n".join(["__global__ void k(double *out) {", *lines, "}", main])


def check(found, out, snippets):
    for line, wanted, got in zip(snippets, snippets.values(), out.reshape(-1, 4), strict=True):
        assert got[: len(wanted)].tolist() == pytest.approx(wanted, rel=2**-50), line
    numbers = {line.number for line in found.lines()}
    assert set(range(2, len(snippets) + 2)) <= numbers  # and the lines are the user's


def run(text, snippets, **options):
    out = np.zeros(4 * len(snippets))
    found = gpureduce.simulate(text, "k", 1, 1, [out], **options)
    check(found, out, snippets)
    return found


def test_snippets_need_no_include():
    assert run(source(SNIPPETS), SNIPPETS).compiler.startswith("NVRTC 13.")
    run(source(MORE), MORE)


def test_snippets_need_no_toolkit(monkeypatch):
    monkeypatch.setattr(compiling, "header_folders", lambda *version: ())
    few = {
        line: wanted
        for line, wanted in (SNIPPETS | MORE).items()
        if not re.search("std::(is_|con|pair)", line)
    }
    run(source(few), few)


@pytest.mark.skipif(nvcc.find() is None, reason="no nvcc and C++ compiler here")
def test_nvcc_takes_the_same():
    """And is what compiles a file with a main."""
    main = "#include <iostream>\nint main() { k<<<1, 1>>>(nullptr); std::cout << 1; }"
    snippets = {line: wanted for line, wanted in SNIPPETS.items() if "assert" not in line}
    found = run(source(snippets, main), snippets)
    assert re.fullmatch(r"nvcc 1[3-9]\.\d+\.\d+", found.compiler)


# Headers, and something that each of them brings.
HEADERS = {
    "limits": "a[0] = std::numeric_limits<float>::max() > 3e38f && std::numeric_limits<int>::digits == 31;",
    "utility": "std::pair<int, float> p(1, 2.f); a[0] = p.first; a[0] = std::exchange(p.first, 0);",
    "type_traits": "a[0] = std::is_integral_v<long> && std::is_same<std::decay_t<const int &>, int>::value;",
    "tuple": "auto t = std::make_tuple(1, 2.f); a[0] = std::get<0>(t);",
    "array": "std::array<int, 3> v = {1, 2, 3}; a[0] = v[2] - v[1];",
    "functional": "a[0] = std::plus<int>()(0, 1);",
    "optional": "std::optional<int> o = 1; a[0] = *o;",
    "complex": "std::complex<float> c(1, 2); a[0] = c.real();",
    "numeric": "", "iterator": "", "ratio": "a[0] = std::ratio<2, 2>::num;", "bit": "",
    "span": "", "atomic": "",
    "chrono": "", "algorithm": "", "initializer_list": "",
    "cmath": "a[0] = std::sqrt(1.f);", "math.h": "a[0] = sqrt(1.);",
    "cstdint": "std::uint8_t u = 1; a[0] = u;",
    "stdint.h": "uint16_t u = 1; a[0] = u;", "climits": "a[0] = UINT_MAX / UINT_MAX;", "limits.h": "",
    "cfloat": "a[0] = FLT_MAX / FLT_MAX;", "float.h": "a[0] = DBL_EPSILON * 4503599627370496.;",
    "cassert": "assert(a[0] == 0); a[0] = 1;", "assert.h": "", "cstdio": "", "stdio.h": "", "cstdlib": "",
    "stdlib.h": "a[0] = EXIT_FAILURE;", "cstring": "a[0] = 5; memset(a, 0, 8); a[0] = 1;", "string.h": "",
    "cstddef": "", "stddef.h": "", "ctime": "std::clock_t t = 1; a[0] = t;",
    "time.h": "clock_t t = 1; a[0] = t;",
    "iostream": "", "vector": "", "string": "", "map": "", "memory": "", "random": "",
    "thread": "", "mutex": "",
    "cuda_runtime.h": "", "cuda_runtime_api.h": "", "device_launch_parameters.h": "", "cuda.h": "",
    "cuda_fp16.h": "__half h = __float2half(0.5f); a[0] = __half2float(h + h);",
    "cuda_bf16.h": "__nv_bfloat16 h = 0.5f; a[0] = float(h + h);", "cuda_fp8.h": "",
    "cooperative_groups.h": "auto b = cooperative_groups::this_thread_block(); b.sync(); a[0] = b.size();",
    "mma.h": "using namespace nvcuda::wmma; a[0] = sizeof(fragment<accumulator, 16, 16, 16, float>) > 0;",
    "cuComplex.h": "cuFloatComplex c = make_cuFloatComplex(1, 2); a[0] = c.x;",
    "math_constants.h": "a[0] = CUDART_INF_F > 1;", "vector_types.h": "", "vector_functions.h": "",
    "cuda_pipeline.h": "", "cuda/std/cstdint": "", "cuda/std/limits": "", "cub/block/block_reduce.cuh": "",
}  # fmt: skip


def test_headers_need_no_option(without_nvcc):
    """All in one source; each of those that bring something by what it brings."""
    uses = {use: [1] for use in HEADERS.values() if use}
    text = "".join(f"#include <{name}>\n" for name in HEADERS)
    out = np.zeros(4 * len(uses))
    gpureduce.simulate(text + source(uses), "k", 1, 1, [out])
    for line, got in zip(uses, out.reshape(-1, 4), strict=True):
        assert got[0] == 1, line


@pytest.mark.parametrize("name", ["cuda_fp16.h", "time.h", "iostream"])
def test_a_header_by_itself(name):
    use = HEADERS[name]
    out = np.zeros(1)
    found = gpureduce.simulate(
        f"#include <{name}>\n__global__ void k(double *a) {{ {use} }}", "k", 1, 1, [out]
    )
    assert out[0] == bool(use) and found.compiler.startswith("NVRTC")


def test_a_header_that_is_nowhere(without_nvcc):
    with pytest.raises(gpureduce.CompileError) as raised:
        gpureduce.simulate("#include <no_such.h>\n__global__ void k() {}", "k", 1, 1)
    assert 'kernel.cu(1): catastrophic error: cannot open source file "no_such.h"' in raised.value.log
    assert "no_such.h is a header that NVRTC does not have; nvcc compiles" in str(raised.value)
    assert "gpureduce[nvcc]" in str(raised.value)


def test_without_headers_the_error_says_what_brings_them(without_nvcc, monkeypatch):
    monkeypatch.setattr(compiling, "header_folders", lambda *version: ())
    with pytest.raises(
        gpureduce.CompileError, match=r"the CUDA headers were not found: pip install 'gpureduce\[nvrtc\]'"
    ):
        gpureduce.simulate("#include <cuda_fp16.h>\n__global__ void k() {}", "k", 1, 1)


def test_names_that_a_source_has_itself():
    out = np.zeros(2)
    text = """
    typedef unsigned long long uint64_t; struct time_t { int t; };
    #define M_PI 3
    template <class T> __device__ T max(T a, T b, T c) { return a > b ? a : b > c ? b : c; }
    __global__ void k(double *a) { uint64_t n = M_PI; time_t c = {4}; a[0] = n + c.t; a[1] = max(1, 7, 2); }
    """
    gpureduce.simulate(text, "k", 1, 1, [out])
    assert out.tolist() == [7, 7]


# Host code


WHOLE = """\
#include <cstdio>
#include <vector>
#include <chrono>
#include <cuda_runtime.h>
#define CHECK(call)                                                       \\
    do {                                                                  \\
        if ((call) != cudaSuccess) { fprintf(stderr, "no"); exit(1); }    \\
    } while (0)

static int helper(int x) { return x; }
constexpr int PER_THREAD = 2;
static const char *const text = "__global__ { \\" not code";
std::vector<float> host_data;

template <typename T> T on_host(T x) {
    // a brace in a comment: {
#ifdef NEVER
    return 0;
#else
    return x;
#endif
}

class Timer {
  public:
    Timer() { start = std::chrono::steady_clock::now(); }
    std::chrono::steady_clock::time_point start;
};

namespace kernels {
int inner() { return helper(1); }
__device__ inline float twice(float x) { return 2 * x; }
template <typename T, int N> __global__ void __launch_bounds__(64) scale(T *a, int n) {
    if (threadIdx.x < n)
        a[threadIdx.x] = N * twice(a[threadIdx.x]) + PER_THREAD;
}
}  // namespace kernels

void launch(float *a, int n);

int main(int argc, char **argv) {
    Timer timer;
    float *d;
    CHECK(cudaMalloc(&d, 400));
    kernels::scale<float, 3><<<1, 64>>>(d, 64);
    auto f = [&](int x) { return on_host(x); };
    printf("%d\\n", f(1));
}
"""


@pytest.mark.parametrize("compiler", ["NVRTC", "nvcc"])
def test_whole_programs_go_in_as_they_are(compiler, monkeypatch, tmp_path):
    if compiler == "NVRTC":
        monkeypatch.setattr(nvcc, "find", lambda: None)
    elif nvcc.find() is None:
        pytest.skip("no nvcc and C++ compiler here")
    path = tmp_path / "whole.cu"
    path.write_text(WHOLE)
    a = np.arange(64, dtype=np.float32)
    found = gpureduce.simulate(path, "kernels::scale<float, 3>", 1, 64, [a, 60])
    assert (a[:60] == 6 * np.arange(60) + 2).all() and (a[60:] == np.arange(60, 64)).all()
    assert found.compiler.startswith(compiler)
    (line,) = (line for line in found.lines() if line.counts.global_store_requests)
    assert line.text == "        a[threadIdx.x] = N * twice(a[threadIdx.x]) + PER_THREAD;"
    with pytest.raises(ValueError, match=r"args\[1\]: 2147483648 does not fit 'int'"):
        gpureduce.simulate(path, "kernels::scale<float, 3>", 1, 64, [a, 2**31])


MORE_PROGRAMS = [
    """
#include <stdio.h>
#include <sys/time.h>
using namespace std;
class Point { float x, y; public: __host__ __device__ Point(float a, float b) : x(a), y(b) {}
    __device__ float norm() { return x * x + y * y; } };
template <class T> class Buffer { public: Buffer(size_t n) { cudaMalloc(&p, n * sizeof(T)); } T *p; };
double seconds() { struct timeval t; gettimeofday(&t, NULL); return t.tv_sec + t.tv_usec * 1e-6; }
static void check(cudaError_t e, const char *file) { if (e != cudaSuccess) { printf("%s", file); exit(1); } }
__global__ void k(const float *a, float *b, int n) {
    Point c(1, 2); int i = threadIdx.x; if (i < n) b[i] = a[i] * c.norm() / 5 * 2;
}
cudaEvent_t start, stop;
int main() { Buffer<float> x(4); check(cudaSuccess, __FILE__); k<<<1, 1>>>(x.p, x.p, 1); }
""",
    """
#include <vector>
#include <functional>
#include <cuda_fp16.h>
namespace { template <int B> __global__ void inner(float *a) { a[0] = B; }
constexpr int THREADS = 128; inline int ceil_div(int a, int b) { return (a + b - 1) / b; } }
enum class Op { Sum, Max };
const std::vector<int> sizes = {1, 2, 3};
std::vector<std::pair<int, int>> cases() { return {{1, 2}, {3, 4}}; }
auto run = [](int n) { return n + 1; };
__constant__ float weights[4];
__device__ int counter = 0;
__global__ void k(const float *a, float *b, int n) {
    half h = __float2half(2.f); int i = threadIdx.x; if (i < n) b[i] = a[i] * __half2float(h);
}
void launch(const float *a, float *b, int n, Op op = Op::Sum) {
    dim3 grid(ceil_div(n, THREADS)); k<<<grid, THREADS>>>(a, b, n); }
int main() { for (auto [a, b] : cases()) { launch(nullptr, nullptr, run(a)); } }
""",
]


@pytest.mark.parametrize("text", MORE_PROGRAMS)
def test_programs_without_nvcc(text, without_nvcc):
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    found = gpureduce.simulate(text, "k", 1, 64, [a, out, 60])
    assert (out[:60] == 2 * a[:60]).all() and (out[60:] == 0).all()
    assert found.compiler.startswith("NVRTC")


def test_blank_host_code_keeps_lines():
    found = host_code.blanked(WHOLE)
    assert found.functions == ("helper", "on_host", "inner", "main", "Timer")
    kept = found.text.split("\n")
    assert len(kept) == len(WHOLE.split("\n"))
    for number, (before, after) in enumerate(zip(WHOLE.split("\n"), kept, strict=True), 1):
        assert len(before) == len(after) and after.strip() in ("", before.strip()), number
    assert "host_data" not in found.text and "#else" in found.text and "twice" in found.text
    plain = "__device__ int f(int x) { return x; }\n__host__ __device__ int g() { return 1; }\n"
    assert host_code.blanked(plain) == host_code.Blanked(plain, ())


def test_errors_of_sources_with_host_code(without_nvcc):
    def refused(text):
        with pytest.raises(gpureduce.CompileError) as raised:
            gpureduce.simulate(text, "k", 1, 1, [np.zeros(1, np.int32)])
        return str(raised.value)

    said = refused("int f(int x) { return x; }\n__global__ void k(int *a) {\n    a[0] = f(1);\n}\n")
    assert "f is a host function (without __device__)" in said and "kernel.cu(3)" in said
    said = refused(WHOLE + "__global__ void k(int *a) { a[0] = nothing; }")
    assert 'identifier "nothing" is undefined' in said
    said = refused("struct S { void *p; S() { cudaMalloc(&p, 4); } };\n__global__ void k(int *a) { S s; }\n")
    assert "pip install 'gpureduce[nvcc]'" in said or "without __device__" in said


# Old spellings


@pytest.mark.parametrize(
    "name", ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__ballot", "__any", "__all"]
)
def test_old_warp_functions_point_to_those_with_sync(name):
    arguments = "1, 1" if "shfl" in name else "1"
    source = f"__global__ void k(int *a) {{\n    a[0] = {name}({arguments});\n}}"
    with pytest.raises((gpureduce.CompileError, gpureduce.SimulationError)) as raised:
        gpureduce.simulate(source, "k", 1, 32, [np.zeros(1, np.int32)])
    assert f"use {name}_sync, whose first argument is the mask" in str(raised.value)
    assert re.search(r"kernel\.cu[:(]2", str(raised.value))


def test_the_compiler_is_part_of_the_result():
    source = "__global__ void k() {}"
    found = gpureduce.simulate(source, "k", 1, 1)
    assert found.compiler == gpureduce.simulate(source, "k", 1, 1).compiler == "NVRTC 13.0"
    assert gpureduce.profile(64, "v1").compiler == ""
    assert implicit.PRELUDE and shutil.which("sh")
