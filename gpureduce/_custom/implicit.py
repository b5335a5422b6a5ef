"""nvcc's implicit declarations and standard headers, for NVRTC, which has none."""

from __future__ import annotations

from collections.abc import Iterable

# 64-bit integer types are those of libcu++ under NVRTC. Sources may redefine macros.
_TYPES = """
#pragma nv_diag_suppress 47
typedef unsigned char u_char;
typedef unsigned short ushort, u_short;
typedef unsigned int uint, u_int;
typedef unsigned long ulong, u_long;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long ssize_t;
typedef long long int64_t, intmax_t, intptr_t, time_t;
typedef unsigned char uint8_t, u_int8_t;
typedef unsigned short uint16_t, u_int16_t;
typedef unsigned int uint32_t, u_int32_t;
typedef unsigned long u_int64_t;
typedef unsigned long long uint64_t, uintmax_t, uintptr_t;
"""
_STD_NAMES = """
size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intmax_t intptr_t
uintmax_t uintptr_t clock_t time_t clock printf malloc free memcpy memset abs labs llabs fabs sqrt
cbrt pow exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh
acosh atanh floor ceil round trunc rint nearbyint lround llround lrint llrint fma fmax fmin fmod
fdim hypot erf erfc lgamma tgamma copysign logb ilogb ldexp scalbn scalbln remainder remquo frexp
modf nextafter nan isnan isinf isfinite signbit sqrtf fabsf
"""
_NAMED_BY_STD = tuple(_STD_NAMES.split())
_INTEGERS = {"SCHAR": 8, "SHRT": 16, "INT": 32, "INT8": 8, "INT16": 16, "INT32": 32}
_LONG = {"LONG": "L", "LLONG": "LL", "INT64": "L"}
_CONSTANTS = {
    "CHAR_BIT": "8", "CHAR_MIN": "SCHAR_MIN", "CHAR_MAX": "SCHAR_MAX", "UCHAR_MAX": "255", "UINT8_MAX": "255",
    "USHRT_MAX": "65535", "UINT16_MAX": "65535", "UINT_MAX": "4294967295U", "UINT32_MAX": "4294967295U",
    "ULONG_MAX": "18446744073709551615UL", "ULLONG_MAX": "18446744073709551615ULL",
    "UINT64_MAX": "18446744073709551615UL", "SIZE_MAX": "UINT64_MAX", "RAND_MAX": "2147483647",
    "EXIT_SUCCESS": "0", "EXIT_FAILURE": "1", "INFINITY": "__int_as_float(0x7f800000)",
    "NAN": "__int_as_float(0x7fffffff)", "HUGE_VALF": "INFINITY",
    "HUGE_VAL": "__longlong_as_double(0x7ff0000000000000)",
}  # fmt: skip
# GCC built-ins that nvcc supports in kernels, and a C macro.
_FUNCTIONS = {
    "offsetof(type, member)": "((size_t)&((type *)0)->member)", "__builtin_offsetof": "offsetof",
    "__builtin_popcount": "__popc", "__builtin_popcountl": "__popcll", "__builtin_popcountll": "__popcll",
    "__builtin_clz": "__clz", "__builtin_clzl": "__clzll", "__builtin_clzll": "__clzll",
    "__builtin_ffs": "__ffs", "__builtin_ffsl": "__ffsll", "__builtin_ffsll": "__ffsll",
    "__builtin_ctz(x)": "(__ffs(x) - 1)", "__builtin_ctzl(x)": "(__ffsll(x) - 1)",
    "__builtin_ctzll(x)": "(__ffsll(x) - 1)", "__builtin_parity(x)": "(__popc(x) & 1)",
    "__builtin_bswap32(x)": "__byte_perm(x, 0, 0x0123)", "__builtin_abs": "abs", "__builtin_fabs": "fabs",
    "__builtin_fabsf": "fabsf", "__builtin_sqrt": "sqrt", "__builtin_sqrtf": "sqrtf", "__builtin_fma": "fma",
    "__builtin_fmaf": "fmaf", "__builtin_memcpy": "memcpy", "__builtin_memset": "memset",
    "__builtin_inff()": "INFINITY", "__builtin_inf()": "HUGE_VAL", "__builtin_huge_valf()": "HUGE_VALF",
    "__builtin_huge_val()": "HUGE_VAL", "__builtin_nanf": "nanf", "__builtin_nan": "nan",
}  # fmt: skip
_MATHEMATICS = {
    "E": "2.7182818284590452354", "LOG2E": "1.4426950408889634074", "LOG10E": "0.43429448190325182765",
    "LN2": "0.69314718055994530942", "LN10": "2.30258509299404568402", "PI": "3.14159265358979323846",
    "PI_2": "1.57079632679489661923", "PI_4": "0.78539816339744830962", "1_PI": "0.31830988618379067154",
    "2_PI": "0.63661977236758134308", "2_SQRTPI": "1.12837916709551257390",
    "SQRT2": "1.41421356237309504880", "SQRT1_2": "0.70710678118654752440",
}  # fmt: skip
_FLOATS = """
#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define DBL_MANT_DIG 53
#define FLT_DIG 6
#define DBL_DIG 15
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
# The kernel stops at the line; __assertfail belongs to the CUDA runtime, like vprintf.
_ASSERT = """
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \\
    ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))
#endif
"""

# Headers that libcu++ has under cuda/std/ for device code.
_LIBCUXX_NAMES = """
algorithm array atomic barrier bit bitset chrono cmath complex concepts cstdlib expected functional
iterator latch limits mdspan memory numbers numeric optional ranges ratio semaphore span tuple
type_traits utility variant version source_location initializer_list
"""
LIBCUXX = frozenset(_LIBCUXX_NAMES.split())
# Headers that kernels do not need, or whose names are predefined.
_EMPTY_NAMES = """
cassert cerrno cctype cfloat cinttypes climits clocale csignal csetjmp cstdarg cstddef cstdint
cstdio cstring ctime cwchar assert.h ctype.h errno.h float.h inttypes.h limits.h locale.h math.h
signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h wchar.h sys/time.h
sys/types.h unistd.h cuda_runtime.h cuda_runtime_api.h device_launch_parameters.h cuda.h any
condition_variable deque exception execution filesystem format forward_list fstream future iomanip
ios iosfwd iostream istream list locale map mutex new ostream queue random regex set shared_mutex
sstream stack stdexcept streambuf string string_view system_error thread typeindex typeinfo
unordered_map unordered_set valarray vector
"""
EMPTY = frozenset(_EMPTY_NAMES.split())


def _constants() -> Iterable[tuple[str, str]]:
    for name, bits in _INTEGERS.items():
        yield f"{name}_MAX", str(2 ** (bits - 1) - 1)
        yield f"{name}_MIN", f"(-{name}_MAX - 1)"
    for name, suffix in _LONG.items():
        yield f"{name}_MAX", f"{2**63 - 1}{suffix}"
        yield f"{name}_MIN", f"(-{name}_MAX - 1{suffix})"
    yield from _CONSTANTS.items()
    yield from _FUNCTIONS.items()
    for name, value in _MATHEMATICS.items():
        yield f"M_{name}", value
        yield f"M_{name}f", f"{value}f"


CONSTANTS = "".join(f"#define {name} {value}\n" for name, value in _constants())
PRELUDE = (
    _TYPES
    + CONSTANTS
    + _ASSERT
    + "namespace std {\ntypedef decltype(nullptr) nullptr_t;\n"
    + "".join(f"using ::{name};\n" for name in _NAMED_BY_STD)
    + "}\n"
)


def headers(libcuxx: bool) -> dict[str, str]:
    """Return the texts of standard headers by name: those of libcu++, or empty ones."""
    texts = dict.fromkeys(EMPTY | LIBCUXX, "")
    texts |= dict.fromkeys(("cfloat", "float.h"), _FLOATS) | dict.fromkeys(("cassert", "assert.h"), _ASSERT)
    if libcuxx:
        texts |= {name: _of_libcuxx(name) for name in LIBCUXX}
    return texts


def _of_libcuxx(name: str) -> str:
    return (
        f"#pragma once\n#if __has_include(<cuda/std/{name}>)\n#include <cuda/std/{name}>\n#endif\n"
        "#include <cuda/std/version>\nnamespace std {\nusing namespace cuda::std;\n}\n"
    )
