/* Conversions of the 16-bit floating-point types, f16 and bf16, from and to f32 and f64. The upper 16 bits of
   an argument are ignored. */
#ifndef PTXSIM_HALF_H
#define PTXSIM_HALF_H

#include <math.h>

#include "interpreter/exec.h"

/* The canonical NaN of both types. */
#define PTX_NAN_HALF 0x7fffu

/* f16 has 5 exponent bits and 10 fraction bits. */
static inline f32 ptx_f32_of_half(u32 half) {
    const u32 sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
    if (exponent == 0) /* zero or subnormal: an exact multiple of 2^-24 */
        return ptx_f32_of(sign | ptx_bits_f32((f32)fraction * 0x1p-24f));
    if (exponent == 31)
        return fraction ? ptx_f32_of(PTX_NAN_F32) : ptx_f32_of(sign | 0x7f800000u);
    return ptx_f32_of(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Round to nearest even; subnormals by an addition that shifts out the excess bits. */
static inline u32 ptx_half_of_f32(f32 value) {
    const u32 bits = ptx_bits_f32(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return PTX_NAN_HALF;
    if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        return sign | 0x7c00u;
    if (magnitude < 0x38800000u) /* below 2^-14: a multiple of 2^-24 */
        return sign | (ptx_bits_f32(ptx_f32_of(magnitude) + 0.5f) - ptx_bits_f32(0.5f));
    const u32 odd = magnitude >> 13 & 1u;
    return sign | (magnitude - (112u << 23) + 0xfffu + odd) >> 13;
}

/* bf16 is the upper half of an f32. */
static inline f32 ptx_f32_of_bfloat(u32 bfloat) {
    return ptx_f32_of(bfloat << 16);
}

/* Round to nearest even. */
static inline u32 ptx_bfloat_of_f32(f32 value) {
    const u32 bits = ptx_bits_f32(value);
    return value != value ? PTX_NAN_HALF : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

/* Rounds in the host's current mode to `bits` significant bits of a type whose smallest normal number is
   2^lowest; overflow is left to the following conversion. */
static inline f64 ptx_round_to(f64 value, int bits, int lowest) {
    int exponent;
    if (!isfinite(value) || value == 0)
        return value;
    frexp(value, &exponent);
    const int last = (exponent - 1 > lowest ? exponent - 1 : lowest) - (bits - 1);
    return ldexp(nearbyint(ldexp(value, -last)), last);
}

static inline u32 ptx_half_of_f64(f64 value) {
    return ptx_half_of_f32((f32)ptx_round_to(value, 11, -14));
}

static inline u32 ptx_bfloat_of_f64(f64 value) {
    return ptx_bfloat_of_f32((f32)ptx_round_to(value, 8, -126));
}

#endif
