/* Handlers of f16 and bf16 arithmetic, scalar and packed (x2): a single rounding to nearest even. */
#include <math.h>

#include "interpreter/half.h"

/* A sum, or a product of two f16 values, is rounded to f32 and then to 16 bits, which equals a single
   rounding: double rounding is harmless if the first format has at least 2 p + 2 bits, and f32 has 24 = 2 *
   11 + 2. Other operations compute in f64 and round to odd first. */

/* x + y rounded to odd: an inexact sum gets its last bit set, so that a second rounding is correct. */
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

/* A scalar and a packed handler from an expression of the operands' bits. */
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

/* .sat clamps to [0, 1] and turns a NaN into 0; .relu clamps below zero and keeps a NaN. */
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

/* Functions that a GPU approximates; these are correct to the last bit or nearly so. */
HALF_UNARY(ex2_f16, ptx_half_of_f64(exp2(H(x & 0xffff))))
HALF_UNARY(ex2_bf16, ptx_bfloat_of_f64(exp2(B(x & 0xffff))))
HALF_UNARY(tanh_f16, ptx_half_of_f64(tanh(H(x & 0xffff))))
HALF_UNARY(tanh_bf16, ptx_bfloat_of_f64(tanh(B(x & 0xffff))))
