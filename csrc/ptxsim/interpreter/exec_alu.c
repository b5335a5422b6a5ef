/* Handlers of integer and bit instructions, moves and predicate logic. */
#include "interpreter/exec.h"

/* ---- moves ---- */

PTX_UNARY(mov_32, u32, u32, x)
PTX_UNARY(mov_64, u64, u64, x)
PTX_BINARY(pack_64, u64, u32, u32, (u64)y << 32 | x)
PTX_BINARY(pack_32, u32, u32, u32, y << 16 | (x & 0xffff))
PTX_UNARY(cvta_shared, u64, u64, x + PTX_SHARED_WINDOW)
PTX_UNARY(cvta_to_shared, u64, u64, x - PTX_SHARED_WINDOW)
PTX_UNARY(cvta_local, u64, u64, x + PTX_LOCAL_WINDOW)
PTX_UNARY(cvta_to_local, u64, u64, x - PTX_LOCAL_WINDOW)
PTX_UNARY(cvta_param, u64, u64, x + PTX_PARAM_WINDOW)

PTX_CLONES PTX_HANDLER(unpack_64) {
    ptx_u32 *low = ptx_lanes(w, in, 0);
    ptx_u32 *high = ptx_lanes(w, in, 1);
    const ptx_u64 *a = ptx_lanes(w, in, 2);
    PTX_STORE_LANES(u32, low, a[i])
    PTX_STORE_LANES(u32, high, a[i] >> 32)
    return PTX_OK;
}

PTX_CLONES PTX_HANDLER(unpack_32) {
    ptx_u32 *low = ptx_lanes(w, in, 0);
    ptx_u32 *high = ptx_lanes(w, in, 1);
    const ptx_u32 *a = ptx_lanes(w, in, 2);
    PTX_STORE_LANES(u32, low, a[i] & 0xffff)
    PTX_STORE_LANES(u32, high, a[i] >> 16)
    return PTX_OK;
}

PTX_CLONES PTX_HANDLER(selp_32) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u32 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);
    uint32_t choice = *ptx_predicate(w, in, 3);
    PTX_STORE_LANES(u32, d, choice >> i & 1 ? a[i] : b[i])
    return PTX_OK;
}

PTX_CLONES PTX_HANDLER(selp_64) {
    ptx_u64 *d = ptx_lanes(w, in, 0);
    const ptx_u64 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);
    uint32_t choice = *ptx_predicate(w, in, 3);
    PTX_STORE_LANES(u64, d, choice >> i & 1 ? a[i] : b[i])
    return PTX_OK;
}

/* ---- predicates ---- */

PTX_HANDLER(mov_pred) {
    ptx_set_predicate(w, in, 0, mask, *ptx_predicate(w, in, 1));
    return PTX_OK;
}

PTX_HANDLER(not_pred) {
    ptx_set_predicate(w, in, 0, mask, ~*ptx_predicate(w, in, 1));
    return PTX_OK;
}

PTX_HANDLER(and_pred) {
    ptx_set_predicate(w, in, 0, mask, *ptx_predicate(w, in, 1) & *ptx_predicate(w, in, 2));
    return PTX_OK;
}

PTX_HANDLER(or_pred) {
    ptx_set_predicate(w, in, 0, mask, *ptx_predicate(w, in, 1) | *ptx_predicate(w, in, 2));
    return PTX_OK;
}

PTX_HANDLER(xor_pred) {
    ptx_set_predicate(w, in, 0, mask, *ptx_predicate(w, in, 1) ^ *ptx_predicate(w, in, 2));
    return PTX_OK;
}

PTX_CLONES PTX_HANDLER(mov_pair) {
    ptx_u64 *d0 = ptx_lanes(w, in, 0), *d1 = ptx_lanes(w, in, 1);
    const ptx_u64 *a0 = ptx_lanes(w, in, 2), *a1 = ptx_lanes(w, in, 3);
    PTX_STORE_LANES(u64, d0, a0[i])
    PTX_STORE_LANES(u64, d1, a1[i])
    return PTX_OK;
}

/* A clock that advances with each read, so that loops which wait for it end, and every run reads the same
   values. */
PTX_HANDLER(read_clock) {
    enum { TICKS = 16 };
    w->clock += TICKS;
    const u64 value = w->clock >> in->imm;
    if (ptx_is_wide(in, 0)) {
        ptx_u64 *d = ptx_lanes(w, in, 0);
        PTX_STORE_LANES(u64, d, value)
    } else {
        ptx_u32 *d = ptx_lanes(w, in, 0);
        PTX_STORE_LANES(u32, d, value)
    }
    return PTX_OK;
}

PTX_HANDLER(no_operation) {
    (void)w;
    (void)in;
    (void)mask;
    return PTX_OK;
}

/* ---- integer arithmetic; 16-bit values are in 32-bit slots with an undefined upper half ---- */

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

static inline u32 low16(u32 x) {
    return x & 0xffffu;
}

static inline s32 signed16(u32 x) {
    return (s32)(int16_t)(uint16_t)x;
}

PTX_BINARY(add_u16, u32, u32, u32, low16(x + y))
PTX_BINARY(add_u32, u32, u32, u32, x + y)
PTX_BINARY(add_u64, u64, u64, u64, x + y)
PTX_BINARY(sub_u16, u32, u32, u32, low16(x - y))
PTX_BINARY(sub_u32, u32, u32, u32, x - y)
PTX_BINARY(sub_u64, u64, u64, u64, x - y)
PTX_BINARY(mul_lo_u16, u32, u32, u32, low16(x *y))
PTX_BINARY(mul_lo_u32, u32, u32, u32, x *y)
PTX_BINARY(mul_lo_u64, u64, u64, u64, x *y)
PTX_BINARY(mul_hi_u16, u32, u32, u32, low16(x) * low16(y) >> 16)
PTX_BINARY(mul_hi_s16, u32, u32, u32, low16((u32)(signed16(x) * signed16(y)) >> 16))
PTX_BINARY(mul_hi_u32, u32, u32, u32, (u64)x *y >> 32)
PTX_BINARY(mul_hi_s32, u32, s32, s32, (u64)((s64)x *y) >> 32)
PTX_BINARY(mul_hi_u64, u64, u64, u64, (u128)x *y >> 64)
PTX_BINARY(mul_hi_s64, u64, s64, s64, (u128)((s128)x *y) >> 64)
PTX_BINARY(mul_wide_u16, u32, u32, u32, low16(x) * low16(y))
PTX_BINARY(mul_wide_s16, u32, u32, u32, signed16(x) * signed16(y))
PTX_BINARY(mul_wide_u32, u64, u32, u32, (u64)x *y)
PTX_BINARY(mul_wide_s32, u64, s32, s32, (s64)x *y)
PTX_TERNARY(mad_lo_u16, u32, u32, u32, u32, low16(x *y + z))
PTX_TERNARY(mad_lo_u32, u32, u32, u32, u32, x *y + z)
PTX_TERNARY(mad_lo_u64, u64, u64, u64, u64, x *y + z)
PTX_TERNARY(mad_hi_u32, u32, u32, u32, u32, (u32)((u64)x *y >> 32) + z)
PTX_TERNARY(mad_hi_s32, u32, s32, s32, u32, (u32)((u64)((s64)x *y) >> 32) + z)
PTX_TERNARY(mad_wide_u16, u32, u32, u32, u32, low16(x) * low16(y) + z)
PTX_TERNARY(mad_wide_s16, u32, u32, u32, u32, (u32)(signed16(x) * signed16(y)) + z)
PTX_TERNARY(mad_wide_u32, u64, u32, u32, u64, (u64)x *y + z)
PTX_TERNARY(mad_wide_s32, u64, s32, s32, u64, (u64)((s64)x *y) + z)

/* mul24: factors are the lower 24 bits. */
static inline s64 signed24(u32 x) {
    return (s32)(x << 8) >> 8;
}

static inline u64 low24(u32 x) {
    return x & 0xffffffu;
}

PTX_BINARY(mul24_lo_u32, u32, u32, u32, low24(x) * low24(y))
PTX_BINARY(mul24_lo_s32, u32, u32, u32, (u64)(signed24(x) * signed24(y)))
PTX_BINARY(mul24_hi_u32, u32, u32, u32, low24(x) * low24(y) >> 16)
PTX_BINARY(mul24_hi_s32, u32, u32, u32, (u64)(signed24(x) * signed24(y)) >> 16)
PTX_TERNARY(mad24_lo_u32, u32, u32, u32, u32, low24(x) * low24(y) + z)
PTX_TERNARY(mad24_lo_s32, u32, u32, u32, u32, (u64)(signed24(x) * signed24(y)) + z)
PTX_TERNARY(mad24_hi_u32, u32, u32, u32, u32, (low24(x) * low24(y) >> 16) + z)
PTX_TERNARY(mad24_hi_s32, u32, u32, u32, u32, ((u64)(signed24(x) * signed24(y)) >> 16) + z)

PTX_TERNARY(sad_u16, u32, u32, u32, u32, low16((low16(x) > low16(y) ? x - y : y - x) + z))
PTX_TERNARY(sad_s16, u32, u32, u32, u32, low16((signed16(x) > signed16(y) ? x - y : y - x) + z))
PTX_TERNARY(sad_u32, u32, u32, u32, u32, (x > y ? x - y : y - x) + z)
PTX_TERNARY(sad_s32, u32, u32, u32, u32, ((s32)x > (s32)y ? x - y : y - x) + z)
PTX_TERNARY(sad_u64, u64, u64, u64, u64, (x > y ? x - y : y - x) + z)
PTX_TERNARY(sad_s64, u64, u64, u64, u64, ((s64)x > (s64)y ? x - y : y - x) + z)

/* PTX does not define division by zero; an H200 returns all ones, also as the remainder. The smallest integer
   divided by -1 wraps to itself. */

/* A conversion that compiles to a vector instruction. */
static inline f64 exact(u32 x) {
    return (f64)(s32)(x ^ 0x80000000u) + 0x1p31;
}

/* 32-bit division in f64, which vectorises: a third of the time of `x / y`. The quotient is exact up to its
   fraction, which is at least 1 / y below the next integer. */
static inline u32 divide_u32(u32 x, u32 y) {
    s32 quotient = (s32)(exact(x) / exact(y < 2 ? 2 : y));
    return y == 0 ? UINT32_MAX : y == 1 ? x : (u32)quotient;
}

static inline u32 remainder_u32(u32 x, u32 y) {
    return y ? x - divide_u32(x, y) * y : UINT32_MAX;
}

static inline u32 divide_s32(s32 x, s32 y) {
    s32 quotient = (s32)((f64)x / (y == 0 || y == -1 ? 1 : y));
    return y == -1 ? 0u - (u32)x : y ? (u32)quotient : UINT32_MAX;
}

static inline u32 remainder_s32(s32 x, s32 y) {
    return y ? (u32)x - divide_s32(x, y) * (u32)y : UINT32_MAX;
}

static inline u64 divide_u64(u64 x, u64 y) {
    return y ? x / y : UINT64_MAX;
}

static inline u64 remainder_u64(u64 x, u64 y) {
    return y ? x % y : UINT64_MAX;
}

static inline u64 divide_s64(s64 x, s64 y) {
    return y == -1 ? 0u - (u64)x : y ? (u64)(x / y) : UINT64_MAX;
}

static inline u64 remainder_s64(s64 x, s64 y) {
    return y == -1 ? 0 : y ? (u64)(x % y) : UINT64_MAX;
}

#define DIVISION(...) PTX_BINARY_AS(, PTX_STORE_EACH_LANE, __VA_ARGS__)
PTX_BINARY(div_u16, u32, u32, u32, low16(divide_u32(low16(x), low16(y))))
PTX_BINARY(div_s16, u32, u32, u32, low16(divide_s32(signed16(x), signed16(y))))
PTX_BINARY(div_s32, u32, s32, s32, divide_s32(x, y))
DIVISION(div_u64, u64, u64, u64, divide_u64(x, y))
DIVISION(div_s64, u64, s64, s64, divide_s64(x, y))
PTX_BINARY(rem_u16, u32, u32, u32, low16(remainder_u32(low16(x), low16(y))))
PTX_BINARY(rem_s16, u32, u32, u32, low16(remainder_s32(signed16(x), signed16(y))))

/* Fast path for a uniform divisor, as in tree reductions and index arithmetic: a shift for powers of two,
   otherwise a multiplication by the reciprocal. The added 0.5 exceeds the error of the product and is too
   small to reach the next integer. */
#define UNIFORM_DIVISION(name, by_power, by_reciprocal, by_lane)                                             \
    PTX_CLONES PTX_HANDLER(name) {                                                                           \
        ptx_u32 *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_u32 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);                                    \
        const u32 y = b[0];                                                                                  \
        u32 differs = y == 0;                                                                                \
        for (unsigned i = 0; i < PTX_LANES; i++)                                                             \
            differs |= b[i] ^ y;                                                                             \
        if (differs) {                                                                                       \
            PTX_STORE_LANES(u32, d, by_lane(a[i], b[i]))                                                     \
        } else if (y & (y - 1)) {                                                                            \
            const f64 reciprocal = 1 / exact(y);                                                             \
            PTX_STORE_LANES(u32, d, by_reciprocal((u32)(s32)((exact(a[i]) + 0.5) * reciprocal), a[i]))       \
        } else {                                                                                             \
            PTX_STORE_LANES(u32, d, by_power(a[i]))                                                          \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }
#define SHIFTED(x) (x >> __builtin_ctz(y))
#define MASKED(x) (x & (y - 1))
#define QUOTIENT(quotient, x) (quotient)
#define REMAINDER(quotient, x) (x - (quotient)*y)
UNIFORM_DIVISION(div_u32, SHIFTED, QUOTIENT, divide_u32)
UNIFORM_DIVISION(rem_u32, MASKED, REMAINDER, remainder_u32)

PTX_BINARY(rem_s32, u32, s32, s32, remainder_s32(x, y))
DIVISION(rem_u64, u64, u64, u64, remainder_u64(x, y))
DIVISION(rem_s64, u64, s64, s64, remainder_s64(x, y))

PTX_UNARY(neg_s16, u32, u32, low16(0u - x))
PTX_UNARY(neg_s32, u32, u32, 0u - x)
PTX_UNARY(neg_s64, u64, u64, 0u - x)
PTX_UNARY(abs_s16, u32, u32, low16(signed16(x) < 0 ? 0u - x : x))
PTX_UNARY(abs_s32, u32, u32, (s32)x < 0 ? 0u - x : x)
PTX_UNARY(abs_s64, u64, u64, (s64)x < 0 ? 0u - x : x)
PTX_BINARY(min_u16, u32, u32, u32, low16(x) < low16(y) ? low16(x) : low16(y))
PTX_BINARY(min_s16, u32, u32, u32, low16(signed16(x) < signed16(y) ? x : y))
PTX_BINARY(min_u32, u32, u32, u32, x < y ? x : y)
PTX_BINARY(min_s32, u32, s32, s32, x < y ? x : y)
PTX_BINARY(min_u64, u64, u64, u64, x < y ? x : y)
PTX_BINARY(min_s64, u64, s64, s64, x < y ? x : y)
PTX_BINARY(max_u16, u32, u32, u32, low16(x) > low16(y) ? low16(x) : low16(y))
PTX_BINARY(max_s16, u32, u32, u32, low16(signed16(x) > signed16(y) ? x : y))
PTX_BINARY(max_u32, u32, u32, u32, x > y ? x : y)
PTX_BINARY(max_s32, u32, s32, s32, x > y ? x : y)
PTX_BINARY(max_u64, u64, u64, u64, x > y ? x : y)
PTX_BINARY(max_s64, u64, s64, s64, x > y ? x : y)

/* ---- logic and shifts; shift amounts of at least the width shift out all bits ---- */

PTX_BINARY(and_32, u32, u32, u32, x &y)
PTX_BINARY(and_64, u64, u64, u64, x &y)
PTX_BINARY(or_32, u32, u32, u32, x | y)
PTX_BINARY(or_64, u64, u64, u64, x | y)
PTX_BINARY(xor_32, u32, u32, u32, x ^ y)
PTX_BINARY(xor_64, u64, u64, u64, x ^ y)
PTX_UNARY(not_32, u32, u32, ~x)
PTX_UNARY(not_64, u64, u64, ~x)
PTX_BINARY(shl_b16, u32, u32, u32, y > 15 ? 0 : low16(x << (y & 15)))
PTX_BINARY(shl_b32, u32, u32, u32, y > 31 ? 0 : x << (y & 31))
PTX_BINARY(shl_b64, u64, u64, u32, y > 63 ? 0 : x << (y & 63))
PTX_BINARY(shr_u16, u32, u32, u32, y > 15 ? 0 : low16(x) >> (y & 15))
PTX_BINARY(shr_s16, u32, u32, u32, low16((u32)(signed16(x) >> (y > 15 ? 15 : y))))
PTX_BINARY(shr_u32, u32, u32, u32, y > 31 ? 0 : x >> (y & 31))
PTX_BINARY(shr_s32, u32, s32, u32, x >> (y > 31 ? 31 : y))
PTX_BINARY(shr_u64, u64, u64, u32, y > 63 ? 0 : x >> (y & 63))
PTX_BINARY(shr_s64, u64, s64, u32, x >> (y > 63 ? 63 : y))

static inline u64 join(u32 low, u32 high) {
    return (u64)high << 32 | low;
}

PTX_TERNARY(shf_l_wrap, u32, u32, u32, u32, join(x, y) << (z & 31) >> 32)
PTX_TERNARY(shf_r_wrap, u32, u32, u32, u32, join(x, y) >> (z & 31))
PTX_TERNARY(shf_l_clamp, u32, u32, u32, u32, z > 31 ? x : join(x, y) << (z & 31) >> 32)
PTX_TERNARY(shf_r_clamp, u32, u32, u32, u32, z > 31 ? y : join(x, y) >> (z & 31))

/* ---- bits ---- */

static inline u32 reverse(u32 x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

static inline u32 highest(u64 x) {
    return x ? 63u - (u32)__builtin_clzll(x) : UINT32_MAX;
}

/* The bits of a value that differ from its sign bit. */
static inline u64 xor_sign(s64 x) {
    return (u64)(x < 0 ? ~x : x);
}

PTX_UNARY(popc_b32, u32, u32, __builtin_popcount(x))
PTX_UNARY(popc_b64, u32, u64, __builtin_popcountll(x))
PTX_UNARY(clz_b32, u32, u32, x ? __builtin_clz(x) : 32)
PTX_UNARY(clz_b64, u32, u64, x ? __builtin_clzll(x) : 64)
PTX_UNARY(brev_b32, u32, u32, reverse(x))
PTX_UNARY(brev_b64, u64, u64, join(reverse((u32)(x >> 32)), reverse((u32)x)))
PTX_UNARY(bfind_u32, u32, u32, highest(x))
PTX_UNARY(bfind_s32, u32, s32, highest(xor_sign(x)))
PTX_UNARY(bfind_u64, u32, u64, highest(x))
PTX_UNARY(bfind_s64, u32, s64, highest(xor_sign(x)))
PTX_UNARY(bfind_shiftamt_u32, u32, u32, x ? 31u - highest(x) : UINT32_MAX)

/* A mask of the lowest `count` bits. */
static inline u64 low_bits(u64 count) {
    return count > 63 ? UINT64_MAX : (1ull << count) - 1;
}

/* bfe: bits [start, start + count) of a value of `width` bits; bits beyond the width repeat the sign bit if
   signed. */
static inline u64 extract(u64 x, u64 start, u64 count, u32 width, bool is_signed) {
    u64 field = start < width ? x >> start & low_bits(count) : 0;
    if (!is_signed || count == 0)
        return field;
    u64 top = start + count - 1;
    u64 sign = x >> (top < width ? top : width - 1) & 1;
    u64 have = start >= width ? 0 : top < width ? count : width - start;
    return sign ? field | ~low_bits(have) : field;
}

static inline u64 insert(u64 x, u64 into, u64 start, u64 count, u32 width) {
    if (start >= width)
        return into;
    u64 field = low_bits(count) << start;
    return (into & ~field) | (x << start & field);
}

/* The 32-bit forms use the lower 8 bits of start and count, the 64-bit forms all bits. */
PTX_TERNARY(bfe_u32, u32, u32, u32, u32, extract(x, y & 255, z & 255, 32, false))
PTX_TERNARY(bfe_s32, u32, u32, u32, u32, extract(x, y & 255, z & 255, 32, true))
PTX_TERNARY(bfe_u64, u64, u64, u32, u32, extract(x, y, z, 64, false))
PTX_TERNARY(bfe_s64, u64, u64, u32, u32, extract(x, y, z, 64, true))

PTX_HANDLER(bfi_b32) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u32 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);
    const ptx_u32 *start = ptx_lanes(w, in, 3), *count = ptx_lanes(w, in, 4);
    PTX_STORE_EACH_LANE(u32, d, insert(a[i], b[i], start[i] & 255, count[i] & 255, 32))
    return PTX_OK;
}

PTX_HANDLER(bfi_b64) {
    ptx_u64 *d = ptx_lanes(w, in, 0);
    const ptx_u64 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);
    const ptx_u32 *start = ptx_lanes(w, in, 3), *count = ptx_lanes(w, in, 4);
    PTX_STORE_EACH_LANE(u64, d, insert(a[i], b[i], start[i], count[i], 64))
    return PTX_OK;
}

/* bmsk: `count` ones from `start` on. szext: extends a number of `count` bits with its top bit or with
   zeros. */
static inline u32 ones(u32 start, u32 count) {
    return start > 31 ? 0 : (u32)low_bits(count) << start;
}

PTX_BINARY(bmsk_clamp, u32, u32, u32, ones(x, y))
PTX_BINARY(bmsk_wrap, u32, u32, u32, ones(x & 31, y & 31))
PTX_BINARY(szext_clamp_u32, u32, u32, u32, extract(x, 0, y > 32 ? 32 : y, 32, false))
PTX_BINARY(szext_clamp_s32, u32, u32, u32, extract(x, 0, y > 32 ? 32 : y, 32, true))
PTX_BINARY(szext_wrap_u32, u32, u32, u32, extract(x, 0, y & 31, 32, false))
PTX_BINARY(szext_wrap_s32, u32, u32, u32, extract(x, 0, y & 31, 32, true))

/* fns: position of the `offset`-th set bit from `base` on, upwards or downwards. The most negative offset
   returns 0, as on an H200. */
static inline u32 nth_bit(u32 x, u32 base, s32 offset) {
    if (offset == INT32_MIN)
        return 0;
    const s32 step = offset < 0 ? -1 : 1;
    u32 left = offset < 0 ? 0 - (u32)offset : offset > 0 ? (u32)offset : 1;
    for (s64 place = base; place >= 0 && place < 32; place += step) {
        if ((x >> place & 1) && --left == 0)
            return (u32)place;
        if (offset == 0)
            break;
    }
    return UINT32_MAX;
}

PTX_TERNARY_AS(, PTX_STORE_EACH_LANE, fns_b32, u32, u32, u32, s32, nth_bit(x, y, z))
PTX_UNARY(cnot_b16, u32, u32, low16(x) == 0)
PTX_UNARY(cnot_b32, u32, u32, x == 0)
PTX_UNARY(cnot_b64, u64, u64, x == 0)
PTX_TERNARY(slct_32, u32, u32, u32, s32, z >= 0 ? x : y)
PTX_TERNARY(slct_64, u64, u64, u64, s32, z >= 0 ? x : y)
PTX_TERNARY(slct_32_f32, u32, u32, u32, f32, z >= 0 ? x : y)
PTX_TERNARY(slct_64_f32, u64, u64, u64, f32, z >= 0 ? x : y)

/* prmt: each byte of the result is one of the eight bytes of y:x, or its sign bit replicated. */
static inline u32 permute(u32 x, u32 y, u32 selector) {
    u64 bytes = join(x, y);
    u32 result = 0;
    for (unsigned k = 0; k < 4; k++) {
        u32 choice = selector >> 4 * k & 15;
        u32 byte = (u32)(bytes >> 8 * (choice & 7)) & 255;
        if (choice & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * k;
    }
    return result;
}

PTX_TERNARY(prmt_b32, u32, u32, u32, u32, permute(x, y, z))

/* Two 16-bit or four 8-bit numbers in a 32-bit word. */
static inline s32 half_of(u32 x, unsigned k) {
    return (s32)(int16_t)(x >> 16 * k);
}
static inline s32 byte_of(u32 x, unsigned k) {
    return (s32)(int8_t)(x >> 8 * k);
}
static inline u32 unsigned_half_of(u32 x, unsigned k) {
    return x >> 16 * k & 0xffff;
}
static inline u32 unsigned_byte_of(u32 x, unsigned k) {
    return x >> 8 * k & 0xff;
}
#define PACKED_PAIR(of, test)                                                                                \
    (low16((u32)(of(x, 0) test of(y, 0) ? of(x, 0) : of(y, 0))) |                                            \
     low16((u32)(of(x, 1) test of(y, 1) ? of(x, 1) : of(y, 1))) << 16)
#define RELU(value) ((s32)(value) < 0 ? 0 : (value))
#define RELU_PAIR(test)                                                                                      \
    (low16((u32)RELU(half_of(x, 0) test half_of(y, 0) ? half_of(x, 0) : half_of(y, 0))) |                    \
     low16((u32)RELU(half_of(x, 1) test half_of(y, 1) ? half_of(x, 1) : half_of(y, 1))) << 16)
PTX_BINARY(add_16x2, u32, u32, u32, low16(x + y) | low16((x >> 16) + (y >> 16)) << 16)
PTX_BINARY(max_relu_s16x2, u32, u32, u32, RELU_PAIR(>))
PTX_BINARY(min_relu_s16x2, u32, u32, u32, RELU_PAIR(<))
PTX_BINARY(max_relu_s32, u32, s32, s32, RELU(x > y ? x : y))
PTX_BINARY(min_relu_s32, u32, s32, s32, RELU(x < y ? x : y))

/* vabsdiff4: absolute differences of four bytes, and their sum. */
static inline u32 byte_distance(u32 x, u32 y, unsigned k) {
    const u32 a = unsigned_byte_of(x, k), b = unsigned_byte_of(y, k);
    return a > b ? a - b : b - a;
}

PTX_BINARY(vabsdiff4, u32, u32, u32,
           byte_distance(x, y, 0) | byte_distance(x, y, 1) << 8 | byte_distance(x, y, 2) << 16 |
               byte_distance(x, y, 3) << 24)
PTX_TERNARY(vabsdiff4_add, u32, u32, u32, u32,
            z + byte_distance(x, y, 0) + byte_distance(x, y, 1) + byte_distance(x, y, 2) +
                byte_distance(x, y, 3))
PTX_BINARY(max_s16x2, u32, u32, u32, PACKED_PAIR(half_of, >))
PTX_BINARY(min_s16x2, u32, u32, u32, PACKED_PAIR(half_of, <))
PTX_BINARY(max_u16x2, u32, u32, u32, PACKED_PAIR(unsigned_half_of, >))
PTX_BINARY(min_u16x2, u32, u32, u32, PACKED_PAIR(unsigned_half_of, <))
#define DOT_4(of_x, of_y, k) ((u32)of_x(x, k) * (u32)of_y(y, k))
#define DOT(name, of_x, of_y)                                                                                \
    PTX_TERNARY(name, u32, u32, u32, u32,                                                                    \
                z + DOT_4(of_x, of_y, 0) + DOT_4(of_x, of_y, 1) + DOT_4(of_x, of_y, 2) +                     \
                    DOT_4(of_x, of_y, 3))
DOT(dp4a_u32_u32, unsigned_byte_of, unsigned_byte_of)
DOT(dp4a_u32_s32, unsigned_byte_of, byte_of)
DOT(dp4a_s32_u32, byte_of, unsigned_byte_of)
DOT(dp4a_s32_s32, byte_of, byte_of)
#define DOT_2(name, of_x, of_y)                                                                              \
    PTX_TERNARY(dp2a_lo_##name, u32, u32, u32, u32, z + DOT_4(of_x, of_y, 0) + DOT_4(of_x, of_y, 1))         \
    PTX_TERNARY(dp2a_hi_##name, u32, u32, u32, u32,                                                          \
                z + (u32)of_x(x, 0) * (u32)of_y(y, 2) + (u32)of_x(x, 1) * (u32)of_y(y, 3))
DOT_2(u32_u32, unsigned_half_of, unsigned_byte_of)
DOT_2(u32_s32, unsigned_half_of, byte_of)
DOT_2(s32_u32, half_of, unsigned_byte_of)
DOT_2(s32_s32, half_of, byte_of)

PTX_CLONES PTX_HANDLER(lop3_b32) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u32 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2), *c = ptx_lanes(w, in, 3);
    u32 term[8]; /* all ones if the truth table has a one at this index */
    for (unsigned k = 0; k < 8; k++)
        term[k] = in->imm >> k & 1 ? UINT32_MAX : 0;
    PTX_STORE_LANES(u32, d,
                    (~a[i] & ~b[i] & ~c[i] & term[0]) | (~a[i] & ~b[i] & c[i] & term[1]) |
                        (~a[i] & b[i] & ~c[i] & term[2]) | (~a[i] & b[i] & c[i] & term[3]) |
                        (a[i] & ~b[i] & ~c[i] & term[4]) | (a[i] & ~b[i] & c[i] & term[5]) |
                        (a[i] & b[i] & ~c[i] & term[6]) | (a[i] & b[i] & c[i] & term[7]))
    return PTX_OK;
}
