/* setp and testp: from lanes to predicates. */
#include <math.h>

#include "machine/exec.h"

/* Stores the outcome, combined with the third source if the instruction says so, and its complement combined
   alike as the second result. */
static inline ptx_status finish(ptx_warp *w, const ptx_instr *in, uint32_t mask, uint32_t outcome) {
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

/* `bits` are those of T, so that one vector holds as many values as outcomes. */
#define COMPARE(name, bits, T, test)                                                                         \
    PTX_CLONES PTX_HANDLER(setp_##name) {                                                                    \
        const ptx_##T *a = ptx_lanes(w, in, 2);                                                              \
        const ptx_##T *b = ptx_lanes(w, in, 3);                                                              \
        u##bits outcome = 0;                                                                                 \
        for (unsigned i = 0; i < PTX_LANES; i++) {                                                           \
            T x = a[i], y = b[i];                                                                            \
            outcome |= (test) ? (u##bits)1 << i : 0;                                                         \
        }                                                                                                    \
        return finish(w, in, mask, (uint32_t)outcome);                                                       \
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

/* The test is written for x and y, which .ftz flushes first. */
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
