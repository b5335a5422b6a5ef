/* Handlers of f32 and f64 arithmetic: round to nearest even, subnormals are kept unless .ftz flushes them. */
#include <fenv.h>
#include <math.h>

#include "interpreter/exec.h"

#define FLUSHED_UNARY(name, value)                                                                           \
    PTX_UNARY(name##_f32, f32, f32, value)                                                                   \
    PTX_UNARY(name##_ftz_f32, f32, f32, ptx_flush(value_##name##_f32(ptx_flush(x))))
#define FLUSHED_BINARY(name, value)                                                                          \
    PTX_BINARY(name##_f32, f32, f32, f32, value)                                                             \
    PTX_BINARY(name##_ftz_f32, f32, f32, f32, ptx_flush(value_##name##_f32(ptx_flush(x), ptx_flush(y))))
#define PTX_FMA(...) PTX_TERNARY_AS(PTX_CLONES_FMA, PTX_STORE_LANES, __VA_ARGS__)

FLUSHED_BINARY(add, ptx_result_f32(x + y))
FLUSHED_BINARY(sub, ptx_result_f32(x - y))
FLUSHED_BINARY(mul, ptx_result_f32(x *y))
FLUSHED_BINARY(div, ptx_result_f32(x / y))
FLUSHED_UNARY(rcp, ptx_result_f32(1.0f / x))
FLUSHED_UNARY(sqrt, ptx_result_f32(sqrtf(x)))
PTX_FMA(fma_f32, f32, f32, f32, f32, ptx_result_f32(fmaf(x, y, z)))
PTX_FMA(fma_ftz_f32, f32, f32, f32, f32,
        ptx_flush(ptx_result_f32(fmaf(ptx_flush(x), ptx_flush(y), ptx_flush(z)))))

PTX_BINARY(add_f64, f64, f64, f64, ptx_result_f64(x + y, y, x, x))
PTX_BINARY(sub_f64, f64, f64, f64, ptx_result_f64(x - y, y, x, x))
PTX_BINARY(mul_f64, f64, f64, f64, ptx_result_f64(x *y, y, x, x))
PTX_BINARY(div_f64, f64, f64, f64, ptx_result_f64(x / y, x, y, y))
PTX_UNARY(rcp_f64, f64, f64, ptx_result_f64(1.0 / x, x, x, x))
PTX_UNARY(sqrt_f64, f64, f64, ptx_result_f64(sqrt(x), x, x, x))
PTX_FMA(fma_f64, f64, f64, f64, f64, ptx_result_f64(fma(x, y, z), y, z, x))

/* Functions that a GPU approximates; these are correct to the last bit or nearly so. */
FLUSHED_UNARY(rsqrt, ptx_result_f32((f32)(1.0 / sqrt((f64)x))))
FLUSHED_UNARY(ex2, ptx_result_f32((f32)exp2((f64)x)))
FLUSHED_UNARY(lg2, ptx_result_f32((f32)log2((f64)x)))
FLUSHED_UNARY(sin, ptx_result_f32((f32)sin((f64)x)))
FLUSHED_UNARY(cos, ptx_result_f32((f32)cos((f64)x)))
PTX_UNARY(tanh_f32, f32, f32, ptx_result_f32((f32)tanh((f64)x)))
PTX_UNARY(rsqrt_f64, f64, f64, ptx_result_f64(1.0 / sqrt(x), x, x, x))

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write only the upper 32 bits; subnormals count as
   zeros. */
static inline f64 upper_half(f64 value) {
    const u64 bits = value != value ? 0x7fffffff00000000u : ptx_bits_f64(value);
    return ptx_f64_of(bits & 0x7ff0000000000000u ? bits & ~0xffffffffull : bits & 1ull << 63);
}

PTX_UNARY(rcp_approx_f64, f64, f64, upper_half(1.0 / upper_half(x)))
PTX_UNARY(rsqrt_approx_f64, f64, f64, upper_half(1.0 / sqrt(upper_half(x))))

/* Directed rounding (.rz, .rm, .rp) in the host's rounding mode. Lanes are in memory, which for the compiler
   the calls of fesetround may read and write, so that it moves no arithmetic across them. */
#define DIRECTED(name, T, value)                                                                             \
    PTX_HANDLER(name) {                                                                                      \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_##T *b = in->operand_count > 2 ? ptx_lanes(w, in, 2) : a;                                  \
        const ptx_##T *c = in->operand_count > 3 ? ptx_lanes(w, in, 3) : a;                                  \
        fesetround(ptx_host_rounding((ptx_rounding)in->rounding));                                           \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            unsigned i = (unsigned)__builtin_ctz(left);                                                      \
            const T x = source_##T(a[i], in), y = source_##T(b[i], in), z = source_##T(c[i], in);            \
            (void)y;                                                                                         \
            (void)z;                                                                                         \
            d[i] = result_##T(value, in);                                                                    \
        }                                                                                                    \
        fesetround(FE_TONEAREST);                                                                            \
        return PTX_OK;                                                                                       \
    }

/* .ftz of sources and .ftz, .sat of results. */
static inline f32 source_f32(f32 x, const ptx_instr *in) {
    return in->ftz ? ptx_flush(x) : x;
}

static inline f32 result_f32(f32 x, const ptx_instr *in) {
    if (in->sat)
        x = x > 0 ? fminf(x, 1) : 0;
    return in->ftz ? ptx_flush(x) : x;
}

static inline f64 source_f64(f64 x, const ptx_instr *in) {
    (void)in;
    return x;
}

#define result_f64 source_f64

DIRECTED(add_directed_f32, f32, ptx_result_f32(x + y))
DIRECTED(sub_directed_f32, f32, ptx_result_f32(x - y))
DIRECTED(mul_directed_f32, f32, ptx_result_f32(x *y))
DIRECTED(div_directed_f32, f32, ptx_result_f32(x / y))
DIRECTED(rcp_directed_f32, f32, ptx_result_f32(1.0f / x))
DIRECTED(sqrt_directed_f32, f32, ptx_result_f32(sqrtf(x)))
DIRECTED(fma_directed_f32, f32, ptx_result_f32(fmaf(x, y, z)))
DIRECTED(add_directed_f64, f64, ptx_result_f64(x + y, y, x, x))
DIRECTED(sub_directed_f64, f64, ptx_result_f64(x - y, y, x, x))
DIRECTED(mul_directed_f64, f64, ptx_result_f64(x *y, y, x, x))
DIRECTED(div_directed_f64, f64, ptx_result_f64(x / y, x, y, y))
DIRECTED(rcp_directed_f64, f64, ptx_result_f64(1.0 / x, x, x, x))
DIRECTED(sqrt_directed_f64, f64, ptx_result_f64(sqrt(x), x, x, x))
DIRECTED(fma_directed_f64, f64, ptx_result_f64(fma(x, y, z), y, z, x))

/* neg and abs change only the sign bit; a NaN becomes the canonical NaN, as in other arithmetic. */
static inline f32 canonical_bits(u32 bits) {
    return ptx_result_f32(ptx_f32_of(bits));
}

FLUSHED_UNARY(neg, canonical_bits(ptx_bits_f32(x) ^ 0x80000000u))
FLUSHED_UNARY(abs, canonical_bits(ptx_bits_f32(x) & 0x7fffffffu))
PTX_UNARY(neg_f64, f64, f64, x != x ? ptx_result_f64(x, x, x, x) : ptx_f64_of(ptx_bits_f64(x) ^ 1ull << 63))
PTX_UNARY(abs_f64, f64, f64,
          x != x ? ptx_result_f64(x, x, x, x) : ptx_f64_of(ptx_bits_f64(x) & ~(1ull << 63)))
PTX_BINARY(copysign_f32, u32, u32, u32, (x & 0x80000000u) | (y & 0x7fffffffu))
PTX_BINARY(copysign_f64, u64, u64, u64, (x & 1ull << 63) | (y & ~(1ull << 63)))

FLUSHED_BINARY(min, ptx_min_f32(x, y))
FLUSHED_BINARY(max, ptx_max_f32(x, y))
FLUSHED_BINARY(min_nan, x != x || y != y ? ptx_f32_of(PTX_NAN_F32) : ptx_min_f32(x, y))
FLUSHED_BINARY(max_nan, x != x || y != y ? ptx_f32_of(PTX_NAN_F32) : ptx_max_f32(x, y))

static inline f64 smaller(f64 x, f64 y) {
    f64 result = x < y || (x == y && ptx_bits_f64(x) >> 63) ? x : y;
    return x != x && y != y ? ptx_result_f64(x, y, x, x) : x != x ? y : y != y ? x : result;
}

static inline f64 larger(f64 x, f64 y) {
    f64 result = x > y || (x == y && ptx_bits_f64(y) >> 63) ? x : y;
    return x != x && y != y ? ptx_result_f64(x, y, x, x) : x != x ? y : y != y ? x : result;
}

PTX_BINARY(min_f64, f64, f64, f64, smaller(x, y))
PTX_BINARY(max_f64, f64, f64, f64, larger(x, y))
