/* Handlers of integer and bit instructions, moves and predicate logic. */
#include "interpreter/exec.h"

/* ---- moves and predicates ---- */

/* Two results from expressions of the source x. */
#define PTX_UNPACK(name, A, low_part, high_part)                                                             \
    static inline u32 low_##name(A x) {                                                                      \
        return (u32)(low_part);                                                                              \
    }                                                                                                        \
    static inline u32 high_##name(A x) {                                                                     \
        return (u32)(high_part);                                                                             \
    }                                                                                                        \
    PTX_CLONES PTX_HANDLER(name) {                                                                           \
        ptx_u32 *low = ptx_lanes(w, in, 0), *high = ptx_lanes(w, in, 1);                                     \
        const ptx_##A *a = ptx_lanes(w, in, 2);                                                              \
        PTX_STORE_LANES(u32, low, low_##name(a[i]))                                                          \
        PTX_STORE_LANES(u32, high, high_##name(a[i]))                                                        \
        return PTX_OK;                                                                                       \
    }

#define PTX_SELECT(name, T)                                                                                  \
    PTX_CLONES PTX_HANDLER(name) {                                                                           \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);                                    \
        uint32_t choice = *ptx_predicate(w, in, 3);                                                          \
        PTX_STORE_LANES(T, d, choice >> i & 1 ? a[i] : b[i])                                                 \
        return PTX_OK;                                                                                       \
    }

/* The value is an expression of the source predicates p and q. */
#define PTX_PREDICATE(name, value)                                                                           \
    PTX_HANDLER(name) {                                                                                      \
        const uint32_t p = *ptx_predicate(w, in, 1);                                                         \
        const uint32_t q = in->operand_count > 2 ? *ptx_predicate(w, in, 2) : p;                             \
        (void)q;                                                                                             \
        ptx_set_predicate(w, in, 0, mask, value);                                                            \
        return PTX_OK;                                                                                       \
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

/* mul24: factors are the lower 24 bits. */
static inline s64 signed24(u32 x) {
    return (s32)(x << 8) >> 8;
}

static inline u64 low24(u32 x) {
    return x & 0xffffffu;
}

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

#define PTX_DIVISION(...) PTX_BINARY_AS(, PTX_STORE_EACH_LANE, __VA_ARGS__)

/* Fast path for a uniform divisor, as in tree reductions and index arithmetic: a shift for powers of two,
   otherwise a multiplication by the reciprocal. The added 0.5 exceeds the error of the product and is too
   small to reach the next integer. */
#define PTX_UNIFORM_DIVISION(name, by_power, by_reciprocal, by_lane)                                         \
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

/* ---- bits ---- */

static inline u64 join(u32 low, u32 high) {
    return (u64)high << 32 | low;
}

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

/* bfi, from an expression of the sources x, y, start and count. */
#define PTX_INSERT(name, T, value)                                                                           \
    PTX_HANDLER(name) {                                                                                      \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);                                    \
        const ptx_u32 *starts = ptx_lanes(w, in, 3), *counts = ptx_lanes(w, in, 4);                          \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            const unsigned i = (unsigned)__builtin_ctz(left);                                                \
            const T x = a[i], y = b[i];                                                                      \
            const u32 start = starts[i], count = counts[i];                                                  \
            d[i] = (T)(value);                                                                               \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }

/* bmsk: `count` ones from `start` on. szext: extends a number of `count` bits with its top bit or with
   zeros. */
static inline u32 ones(u32 start, u32 count) {
    return start > 31 ? 0 : (u32)low_bits(count) << start;
}

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

/* vabsdiff4: absolute differences of four bytes, and their sum. */
static inline u32 byte_distance(u32 x, u32 y, unsigned k) {
    const u32 a = unsigned_byte_of(x, k), b = unsigned_byte_of(y, k);
    return a > b ? a - b : b - a;
}

/* dp4a, dp2a: the product of a part of x and a part of y. */
#define PRODUCT(of_x, of_y, k, m) ((u32)of_x(x, k) * (u32)of_y(y, m))

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

/* ---- extended precision: carry-in and carry-out (.cc, addc, subc, madc) ---- */

/* `takes` the carry-in, `gives` the carry-out; see PTX_CARRY in opcodes_integer.def. */
#define PTX_CARRYING(name, T, wide, takes, gives, value)                                                     \
    PTX_HANDLER(name) {                                                                                      \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);                                    \
        const ptx_##T *third = in->operand_count > 3 ? ptx_lanes(w, in, 3) : b;                              \
        uint32_t *carry = &w->predicates[PTX_PRED_CARRY];                                                    \
        const uint32_t before = (takes) ? *carry : 0;                                                        \
        uint32_t after = 0;                                                                                  \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            const unsigned i = (unsigned)__builtin_ctz(left);                                                \
            const wide x = a[i], y = b[i], z = third[i], c = before >> i & 1;                                \
            (void)z, (void)c;                                                                                \
            const wide result = (value);                                                                     \
            d[i] = (T)result;                                                                                \
            after |= (uint32_t)(result >> 8 * sizeof(T) != 0) << i;                                          \
        }                                                                                                    \
        if (gives)                                                                                           \
            *carry = (*carry & ~mask) | after;                                                               \
        return PTX_OK;                                                                                       \
    }

#include "interpreter/values.h"
#include "opcodes_integer.def"
