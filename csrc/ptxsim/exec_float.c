/* Floating-point arithmetic, rounding to nearest even, subnormals kept unless the instruction flushes them.
 */
#include <math.h>

#include "exec.h"

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

/* neg and abs work on the sign alone, but not on a NaN's: that comes out as from any other arithmetic. */
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

static inline f64 least(f64 x, f64 y) {
    f64 result = x < y || (x == y && ptx_bits_f64(x) >> 63) ? x : y;
    return x != x && y != y ? ptx_result_f64(x, y, x, x) : x != x ? y : y != y ? x : result;
}

static inline f64 greatest(f64 x, f64 y) {
    f64 result = x > y || (x == y && ptx_bits_f64(y) >> 63) ? x : y;
    return x != x && y != y ? ptx_result_f64(x, y, x, x) : x != x ? y : y != y ? x : result;
}

PTX_BINARY(min_f64, f64, f64, f64, least(x, y))
PTX_BINARY(max_f64, f64, f64, f64, greatest(x, y))
