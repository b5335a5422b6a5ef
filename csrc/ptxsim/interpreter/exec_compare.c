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
#define PTX_SETP(name, bits, T, of, test)                                                                    \
    PTX_CLONES PTX_HANDLER(name) {                                                                           \
        const ptx_##T *a = ptx_lanes(w, in, 2), *b = ptx_lanes(w, in, 3);                                    \
        u##bits outcome = 0;                                                                                 \
        for (unsigned i = 0; i < PTX_LANES; i++) {                                                           \
            const T x = of(a[i]), y = of(b[i]);                                                              \
            outcome |= (test) ? (u##bits)1 << i : 0;                                                         \
        }                                                                                                    \
        return store_result(w, in, mask, (uint32_t)outcome);                                                 \
    }

#define PTX_TESTP(name, T, test)                                                                             \
    PTX_HANDLER(name) {                                                                                      \
        const ptx_##T *a = ptx_lanes(w, in, 1);                                                              \
        uint32_t outcome = 0;                                                                                \
        for (unsigned i = 0; i < PTX_LANES; i++) {                                                           \
            const T x = a[i];                                                                                \
            outcome |= (test) ? 1u << i : 0;                                                                 \
        }                                                                                                    \
        ptx_set_predicate(w, in, 0, mask, outcome);                                                          \
        return PTX_OK;                                                                                       \
    }

/* ---- comparisons of less frequent types, and set ---- */

static bool compare_f64(ptx_compare compare, f64 x, f64 y) {
    switch (compare) {
#define COMPARISON(id, name, test)                                                                           \
    case PTX_COMPARE_##id:                                                                                   \
        return test;
#include "comparisons.def"
    default:
        return false;
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

/* f16x2 and bf16x2: the same comparison for the lower and the upper half, all ones where it holds. */
static u32 compare_halves(const ptx_instr *in, u32 x, u32 y, f32 (*of)(u32 bits)) {
    const ptx_compare compare = (ptx_compare)in->compare;
    return (compare_f64(compare, of(x & 0xffff), of(y & 0xffff)) ? 0xffffu : 0) |
           (compare_f64(compare, of(x >> 16), of(y >> 16)) ? 0xffff0000u : 0);
}

PTX_HANDLER(setp_half) {
    const ptx_u32 *a = ptx_lanes(w, in, 2), *b = ptx_lanes(w, in, 3);
    uint32_t outcome = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        outcome |= (uint32_t)compare_32(in, a[i], b[i]) << i;
    return store_result(w, in, mask, outcome);
}

/* A handler from an expression of the sources x and y. */
#define PTX_SET(name, value)                                                                                 \
    PTX_HANDLER(name) {                                                                                      \
        ptx_u32 *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_u32 *a = ptx_lanes(w, in, 1), *b = ptx_lanes(w, in, 2);                                    \
        for (uint32_t left = mask; left; left &= left - 1) {                                                 \
            const unsigned i = (unsigned)__builtin_ctz(left);                                                \
            const u32 x = a[i], y = b[i];                                                                    \
            d[i] = (value);                                                                                  \
        }                                                                                                    \
        return PTX_OK;                                                                                       \
    }

#include "interpreter/values.h"
#include "opcodes_compare.def"
