/* Handlers of f16 and bf16 arithmetic, scalar and packed (x2): a single rounding to nearest even. */
#include <math.h>

#include "interpreter/half.h"

/* A sum, or a product of two f16 values, is rounded to f32 and then to 16 bits, which equals a single
   rounding: double rounding is harmless if the first format has at least 2 p + 2 bits, and f32 has 24 = 2 *
   11 + 2. Other operations compute in f64 and round to odd first. */

/* x + y rounded to odd: an inexact sum gets its last bit set, so that a second rounding is correct. */
static inline f64 sum_to_odd(f64 x, f64 y) {
    const f64 sum = x + y;
    if (!isfinite(sum))
        return sum;
    const f64 part = sum - x, error = (x - (sum - part)) + (y - part);
    u64 bits = ptx_bits_f64(sum);
    if (error != 0 && !(bits & 1))
        bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
    return ptx_f64_of(bits);
}

/* Instantiations for both types; H and B convert bits to f32. */
#define H ptx_f32_of_half
#define B ptx_f32_of_bfloat
#define CONDITIONAL_NAN(x, y, other) (x != x || y != y ? ptx_f32_of(PTX_NAN_F32) : (other))

static inline f32 min_nan(f32 x, f32 y) {
    return CONDITIONAL_NAN(x, y, ptx_min_f32(x, y));
}

static inline f32 max_nan(f32 x, f32 y) {
    return CONDITIONAL_NAN(x, y, ptx_max_f32(x, y));
}

static inline u32 fma_half(u32 x, u32 y, u32 z) {
    return ptx_half_of_f64(sum_to_odd((f64)H(x) * (f64)H(y), H(z)));
}

static inline u32 fma_bfloat(u32 x, u32 y, u32 z) {
    return ptx_bfloat_of_f64(sum_to_odd((f64)B(x) * (f64)B(y), B(z)));
}

/* .sat clamps to [0, 1] and turns a NaN into 0; .relu clamps below zero and keeps a NaN. */
static inline f32 saturate(f32 x) {
    return x > 0 ? fminf(x, 1) : 0;
}

static inline f32 relu(f32 x) {
    return x <= 0 ? 0 : x;
}

/* A scalar handler from an expression of the operands' bits, and the packed one. */
#define PTX_HALF_UNARY(name, value)                                                                          \
    static inline u32 one_##name(u32 x) {                                                                    \
        return (value)&0xffffu;                                                                              \
    }                                                                                                        \
    PTX_UNARY(name, u32, u32, one_##name(x))
#define PTX_PAIR_UNARY(name, scalar) PTX_UNARY(name, u32, u32, one_##scalar(x) | one_##scalar(x >> 16) << 16)

#define PTX_HALF_BINARY(name, value)                                                                         \
    static inline u32 one_##name(u32 x, u32 y) {                                                             \
        return value;                                                                                        \
    }                                                                                                        \
    PTX_BINARY(name, u32, u32, u32, one_##name(x & 0xffff, y & 0xffff))
#define PTX_PAIR_BINARY(name, scalar)                                                                        \
    PTX_BINARY(name, u32, u32, u32,                                                                          \
               one_##scalar(x & 0xffff, y & 0xffff) | one_##scalar(x >> 16, y >> 16) << 16)

#define PTX_HALF_TERNARY(name, value)                                                                        \
    static u32 one_##name(u32 x, u32 y, u32 z) {                                                             \
        return value;                                                                                        \
    }                                                                                                        \
    PTX_TERNARY_EACH(name, u32, u32, u32, u32, one_##name(x, y, z))
#define PTX_PAIR_TERNARY(name, scalar)                                                                       \
    PTX_TERNARY_EACH(name, u32, u32, u32, u32,                                                               \
                     one_##scalar(x, y, z) | one_##scalar(x >> 16, y >> 16, z >> 16) << 16)

#include "interpreter/values.h"
#include "opcodes_half.def"
