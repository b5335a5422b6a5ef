/* Handlers of setp, set and testp: comparisons of lanes. */
#include <math.h>

#include "interpreter/half.h"

/* Stores the result, combined with the third source if the instruction has a boolean operator, and as the
   second result its complement combined in the same way. */
static inline ptx_status store_result(ptx_warp *w, const ptx_instr *in, uint32_t mask, uint32_t outcome) {
    uint32_t other = *ptx_predicate(w, in, 4) ^ (in->flip ? PTX_ALL_LANES : 0);
    uint32_t p = outcome, q = ~outcome;
    if (in->combine == PTX_COMBINE_AND)
        p &= other, q &= other;
    else if (in->combine == PTX_COMBINE_OR)
        p |= other, q |= other;
    else if (in->combine == PTX_COMBINE_XOR)
        p ^= other, q ^= other;
    ptx_set_predicate(w, in, 0, mask, p);
    ptx_set_predicate(w, in, 1, mask, q);
    return PTX_OK;
}

/* `bits` is the width of T, so that a vector has as many values as results. */
#define COMPARE(name, bits, T, test)                                                                         \
    PTX_CLONES PTX_HANDLER(setp_##name) {                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 2);                                                              \
        const ptx_##T *b = ptx_lanes(w, in, 3);                                                              \
        u##bits outcome = 0;                                                                                 \
        for (unsigned i = 0; i < PTX_LANES; i++) {                                                           \
            T x = a[i], y = b[i];                                                                            \
            outcome |= (test) ? (u##bits)1 << i : 0;                                                         \
        }                                                                                                    \
        return store_result(w, in, mask, (uint32_t)outcome);                                                 \
    }

#define COMPARE_INTEGERS(name, op)                                                                           \
    COMPARE(name##_u16, 32, u32, (uint16_t)x op(uint16_t) y)                                                 \
    COMPARE(name##_s16, 32, u32, (int16_t)x op(int16_t) y)                                                   \
    COMPARE(name##_u32, 32, u32, x op y)                                                                     \
    COMPARE(name##_s32, 32, s32, x op y)                                                                     \
    COMPARE(name##_u64, 64, u64, x op y)                                                                     \
    COMPARE(name##_s64, 64, s64, x op y)

COMPARE(eq_u16, 32, u32, (uint16_t)x == (uint16_t)y)
COMPARE(eq_u32, 32, u32, x == y)
COMPARE(eq_u64, 64, u64, x == y)
COMPARE(ne_u16, 32, u32, (uint16_t)x != (uint16_t)y)
COMPARE(ne_u32, 32, u32, x != y)
COMPARE(ne_u64, 64, u64, x != y)
COMPARE_INTEGERS(lt, <)
COMPARE_INTEGERS(le, <=)
COMPARE_INTEGERS(gt, >)
COMPARE_INTEGERS(ge, >=)

/* The test is an expression of x and y, which .ftz flushes first. */
#define COMPARE_FLOATS(name, test)                                                                           \
    COMPARE(name##_f32, 32, f32, test)                                                                       \
    COMPARE(name##_f64, 64, f64, test)                                                                       \
    static inline bool flushed_##name(f32 x, f32 y) {                                                        \
        return test;                                                                                         \
    }                                                                                                        \
    COMPARE(name##_ftz_f32, 32, f32, flushed_##name(ptx_flush(x), ptx_flush(y)))

#define UNORDERED (x != x || y != y)
COMPARE_FLOATS(eq, x == y)
COMPARE_FLOATS(ne, (x < y || x > y))
COMPARE_FLOATS(lt, x < y)
COMPARE_FLOATS(le, x <= y)
COMPARE_FLOATS(gt, x > y)
COMPARE_FLOATS(ge, x >= y)
COMPARE_FLOATS(equ, (x == y || UNORDERED))
COMPARE_FLOATS(neu, x != y)
COMPARE_FLOATS(ltu, !(x >= y))
COMPARE_FLOATS(leu, !(x > y))
COMPARE_FLOATS(gtu, !(x <= y))
COMPARE_FLOATS(geu, !(x < y))
COMPARE_FLOATS(num, !UNORDERED)
COMPARE_FLOATS(nan, UNORDERED)

#define TEST(name, test)                                                                                     \
    static inline bool name##_holds(f64 x) {                                                                 \
        return test;                                                                                         \
    }                                                                                                        \
    PTX_HANDLER(testp_##name##_f32) {                                                                        \
        const ptx_f32 *a = ptx_lanes(w, in, 1);                                                              \
        uint32_t outcome = 0;                                                                                \
        for (unsigned i = 0; i < PTX_LANES; i++)                                                             \
            outcome |= name##_holds(a[i]) ? 1u << i : 0;                                                     \
        ptx_set_predicate(w, in, 0, mask, outcome);                                                          \
        return PTX_OK;                                                                                       \
    }                                                                                                        \
    PTX_HANDLER(testp_##name##_f64) {                                                                        \
        const ptx_f64 *a = ptx_lanes(w, in, 1);                                                              \
        uint32_t outcome = 0;                                                                                \
        for (unsigned i = 0; i < PTX_LANES; i++)                                                             \
            outcome |= name##_holds(a[i]) ? 1u << i : 0;                                                     \
        ptx_set_predicate(w, in, 0, mask, outcome);                                                          \
        return PTX_OK;                                                                                       \
    }

TEST(finite, isfinite(x))
TEST(infinite, isinf(x))
TEST(number, x == x)
TEST(notanumber, x != x)

/* ---- comparisons of less frequent types, and set ---- */

static bool compare_f64(ptx_compare compare, f64 x, f64 y) {
    const bool unordered = x != x || y != y;
    switch (compare) {
    case PTX_COMPARE_EQ:
        return x == y;
    case PTX_COMPARE_NE:
        return !unordered && x != y;
    case PTX_COMPARE_LT:
        return x < y;
    case PTX_COMPARE_LE:
        return x <= y;
    case PTX_COMPARE_GT:
        return x > y;
    case PTX_COMPARE_GE:
        return x >= y;
    case PTX_COMPARE_EQU:
        return unordered || x == y;
    case PTX_COMPARE_NEU:
        return x != y;
    case PTX_COMPARE_LTU:
        return !(x >= y);
    case PTX_COMPARE_LEU:
        return !(x > y);
    case PTX_COMPARE_GTU:
        return !(x <= y);
    case PTX_COMPARE_GEU:
        return !(x < y);
    case PTX_COMPARE_NUM:
        return !unordered;
    default:
        return unordered;
    }
}

static bool compare_32(const ptx_instr *in, u32 x, u32 y) {
    const ptx_compare compare = (ptx_compare)in->compare;
    switch (in->type) {
    case PTX_TYPE_F32:
        return in->ftz ? compare_f64(compare, ptx_flush(ptx_f32_of(x)), ptx_flush(ptx_f32_of(y)))
                       : compare_f64(compare, ptx_f32_of(x), ptx_f32_of(y));
    case PTX_CLASS_S | 4:
        return compare_f64(compare, (s32)x, (s32)y);
    case PTX_TYPE_F16:
        return compare_f64(compare, ptx_f32_of_half(x & 0xffff), ptx_f32_of_half(y & 0xffff));
    case PTX_TYPE_BF16:
        return compare_f64(compare, ptx_f32_of_bfloat(x & 0xffff), ptx_f32_of_bfloat(y & 0xffff));
    default:
        return compare_f64(compare, x, y);
    }
}

/* f16x2: the same comparison for the lower and the upper half. */
static bool compare_half(const ptx_instr *in, u32 x, u32 y, unsigned k) {
    return compare_f64((ptx_compare)in->compare, ptx_f32_of_half(x >> 16 * k & 0xffff),
                       ptx_f32_of_half(y >> 16 * k & 0xffff));
}

static bool compare_bfloat(const ptx_instr *in, u32 x, u32 y, unsigned k) {
    return compare_f64((ptx_compare)in->compare, ptx_f32_of_bfloat(x >> 16 * k & 0xffff),
                       ptx_f32_of_bfloat(y >> 16 * k & 0xffff));
}

PTX_HANDLER(setp_half) {
    const ptx_u32 *a = ptx_lanes(w, in, 2), *b = ptx_lanes(w, in, 3);
    uint32_t outcome = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        outcome |= (uint32_t)compare_32(in, a[i], b[i]) << i;
    return store_result(w, in, mask, outcome);
}

/* A handler from an expression of the sources x and y. */
#define SET(name, value)                                                                                     \
    PTX_HANDLER(set_##name) {                                                                                \
        ptx_u32 *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_u32 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);                                    \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            const unsigned i = (unsigned)__builtin_ctz(left);                                                \
            const u32 x = a[i], y = b[i];                                                                    \
            d[i] = (value);                                                                                  \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }

SET(integer, compare_32(in, x, y) ? UINT32_MAX : 0)
SET(f32, compare_32(in, x, y) ? 0x3f800000u : 0)
SET(f16, compare_32(in, x, y) ? 0x3c00u : 0)
SET(bf16, compare_32(in, x, y) ? 0x3f80u : 0)
SET(f16x2, (compare_half(in, x, y, 0) ? 0x3c00u : 0) | (compare_half(in, x, y, 1) ? 0x3c000000u : 0))
SET(bf16x2, (compare_bfloat(in, x, y, 0) ? 0x3f80u : 0) | (compare_bfloat(in, x, y, 1) ? 0x3f800000u : 0))
SET(mask_f16x2, (compare_half(in, x, y, 0) ? 0xffffu : 0) | (compare_half(in, x, y, 1) ? 0xffff0000u : 0))
SET(mask_bf16x2,
    (compare_bfloat(in, x, y, 0) ? 0xffffu : 0) | (compare_bfloat(in, x, y, 1) ? 0xffff0000u : 0))
