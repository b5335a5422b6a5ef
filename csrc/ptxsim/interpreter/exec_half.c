/* Arithmetic of half-precision and bfloat16 numbers, alone and in pairs, rounded once to nearest even. */
#include <math.h>

#include "interpreter/half.h"

/* A sum of two, or a product of two halves, rounded to f32 and then to 16 bits is rounded as if once: f32 has
   twice as many bits and two more. The other operations go through f64 and a rounding of their own. */

/* x + y with its last bit set where it is not exact, so that rounding it once more is rounding once. */
static f64 sum_to_odd(f64 x, f64 y) {
    const f64 sum = x + y;
    if (!isfinite(sum))
        return sum;
    const f64 part = sum - x, error = (x - (sum - part)) + (y - part);
    u64 bits = ptx_bits_f64(sum);
    if (error != 0 && !(bits & 1))
        bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
    return ptx_f64_of(bits);
}

/* Each for one type; H and B turn bits into f32. */
#define H ptx_f32_of_half
#define B ptx_f32_of_bfloat
#define CONDITIONAL_NAN(x, y, other) (x != x || y != y ? ptx_f32_of(PTX_NAN_F32) : (other))

static inline f32 min_nan(f32 x, f32 y) {
    return CONDITIONAL_NAN(x, y, ptx_min_f32(x, y));
}

static inline f32 max_nan(f32 x, f32 y) {
    return CONDITIONAL_NAN(x, y, ptx_max_f32(x, y));
}

/* One handler for a number and one for a pair, from an expression of the operands' bits. */
#define HALF_UNARY(name, value)                                                                              \
    static inline u32 one_##name(u32 x) {                                                                    \
        return (value)&0xffffu;                                                                              \
    }                                                                                                        \
    PTX_UNARY(name, u32, u32, one_##name(x))                                                                 \
    PTX_UNARY(name##x2, u32, u32, one_##name(x) | one_##name(x >> 16) << 16)

#define HALF_BINARY(name, value)                                                                             \
    static inline u32 one_##name(u32 x, u32 y) {                                                             \
        return value;                                                                                        \
    }                                                                                                        \
    PTX_BINARY(name, u32, u32, u32, one_##name(x & 0xffff, y & 0xffff))                                      \
    PTX_BINARY(name##x2, u32, u32, u32,                                                                      \
               one_##name(x & 0xffff, y & 0xffff) | one_##name(x >> 16, y >> 16) << 16)

#define HALF_TERNARY(name, value)                                                                            \
    static u32 one_##name(u32 x, u32 y, u32 z) {                                                             \
        return value;                                                                                        \
    }                                                                                                        \
    PTX_TERNARY_AS(, PTX_STORE_EACH_LANE, name, u32, u32, u32, u32, one_##name(x, y, z))                     \
    PTX_TERNARY_AS(, PTX_STORE_EACH_LANE, name##x2, u32, u32, u32, u32,                                      \
                   one_##name(x, y, z) | one_##name(x >> 16, y >> 16, z >> 16) << 16)

HALF_BINARY(add_f16, ptx_half_of_f32(H(x) + H(y)))
HALF_BINARY(add_bf16, ptx_bfloat_of_f32(B(x) + B(y)))
HALF_BINARY(sub_f16, ptx_half_of_f32(H(x) - H(y)))
HALF_BINARY(sub_bf16, ptx_bfloat_of_f32(B(x) - B(y)))
HALF_BINARY(mul_f16, ptx_half_of_f32(H(x) * H(y)))
HALF_BINARY(mul_bf16, ptx_bfloat_of_f64((f64)B(x) * (f64)B(y)))
HALF_TERNARY(fma_f16, ptx_half_of_f64(sum_to_odd((f64)H(x) * (f64)H(y), H(z))))
HALF_TERNARY(fma_bf16, ptx_bfloat_of_f64(sum_to_odd((f64)B(x) * (f64)B(y), B(z))))
HALF_BINARY(min_f16, ptx_half_of_f32(ptx_min_f32(H(x), H(y))))
HALF_BINARY(min_bf16, ptx_bfloat_of_f32(ptx_min_f32(B(x), B(y))))
HALF_BINARY(max_f16, ptx_half_of_f32(ptx_max_f32(H(x), H(y))))
HALF_BINARY(max_bf16, ptx_bfloat_of_f32(ptx_max_f32(B(x), B(y))))
HALF_BINARY(min_nan_f16, ptx_half_of_f32(min_nan(H(x), H(y))))
HALF_BINARY(min_nan_bf16, ptx_bfloat_of_f32(min_nan(B(x), B(y))))
HALF_BINARY(max_nan_f16, ptx_half_of_f32(max_nan(H(x), H(y))))
HALF_BINARY(max_nan_bf16, ptx_bfloat_of_f32(max_nan(B(x), B(y))))
HALF_UNARY(neg_f16, ptx_half_of_f32(-H(x & 0xffff)))
HALF_UNARY(neg_bf16, ptx_bfloat_of_f32(-B(x & 0xffff)))
HALF_UNARY(abs_f16, ptx_half_of_f32(fabsf(H(x & 0xffff))))
HALF_UNARY(abs_bf16, ptx_bfloat_of_f32(fabsf(B(x & 0xffff))))

/* The results of both types in [0, 1], and those without what is below zero; a NaN is a zero there, here it
 * stays. */
static inline f32 saturate(f32 x) {
    return x > 0 ? fminf(x, 1) : 0;
}

static inline f32 relu(f32 x) {
    return x <= 0 ? 0 : x;
}

HALF_BINARY(add_sat_f16, ptx_half_of_f32(saturate(H(x) + H(y))))
HALF_BINARY(sub_sat_f16, ptx_half_of_f32(saturate(H(x) - H(y))))
HALF_BINARY(mul_sat_f16, ptx_half_of_f32(saturate(H(x) * H(y))))
HALF_TERNARY(fma_sat_f16,
             ptx_half_of_f32(saturate(H(ptx_half_of_f64(sum_to_odd((f64)H(x) * (f64)H(y), H(z)))))))
HALF_TERNARY(fma_relu_f16, ptx_half_of_f32(relu(H(ptx_half_of_f64(sum_to_odd((f64)H(x) * (f64)H(y), H(z)))))))
HALF_TERNARY(fma_relu_bf16,
             ptx_bfloat_of_f32(relu(B(ptx_bfloat_of_f64(sum_to_odd((f64)B(x) * (f64)B(y), B(z)))))))

/* Functions that a GPU approximates. */
HALF_UNARY(ex2_f16, ptx_half_of_f64(exp2(H(x & 0xffff))))
HALF_UNARY(ex2_bf16, ptx_bfloat_of_f64(exp2(B(x & 0xffff))))
HALF_UNARY(tanh_f16, ptx_half_of_f64(tanh(H(x & 0xffff))))
HALF_UNARY(tanh_bf16, ptx_bfloat_of_f64(tanh(B(x & 0xffff))))
