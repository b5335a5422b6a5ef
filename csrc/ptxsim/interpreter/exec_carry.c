/* Handlers of extended-precision arithmetic: add, sub and mad with carry-in and carry-out (.cc, addc, subc,
   madc). */
#include "interpreter/exec.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

/* `value` is an expression of the sources x, y, z and of the carry-in c, in the type `wide`: the bits beyond
   T are the carry-out or the borrow. */
#define CARRYING(name, T, wide, takes, gives, value)                                                         \
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
            (void)z;                                                                                         \
            const wide result = (value);                                                                     \
            d[i] = (T)result;                                                                                \
            after |= (uint32_t)(result >> 8 * sizeof(T) != 0) << i;                                          \
        }                                                                                                    \
        if (gives)                                                                                           \
            *carry = (*carry & ~mask) | after;                                                               \
        return PTX_OK;                                                                                       \
    }

/* The three forms: with carry-out, with carry-in, with both. */
#define CHAIN(name, T, wide, value)                                                                          \
    CARRYING(name##_cc_##T, T, wide, false, true, value)                                                     \
    CARRYING(name##c_##T, T, wide, true, false, value)                                                       \
    CARRYING(name##c_cc_##T, T, wide, true, true, value)
#define PRODUCT(name, type, T, wide, value)                                                                  \
    CARRYING(mad_##name##_cc_##type, T, wide, false, true, value)                                            \
    CARRYING(madc_##name##_##type, T, wide, true, false, value)                                              \
    CARRYING(madc_##name##_cc_##type, T, wide, true, true, value)

CHAIN(add, u32, u64, x + y + c)
CHAIN(add, u64, u128, x + y + c)
CHAIN(sub, u32, u64, x - y - c)
CHAIN(sub, u64, u128, x - y - c)
PRODUCT(lo, u32, u32, u64, (u32)(x *y) + z + c)
PRODUCT(lo, u64, u64, u128, (u128)(u64)(x *y) + z + c)
PRODUCT(hi, u32, u32, u64, (x * y >> 32) + z + c)
PRODUCT(hi, s32, u32, u64, (u64)(u32)((s64)(s32)x *(s32)y >> 32) + z + c)
PRODUCT(hi, u64, u64, u128, (x * y >> 64) + z + c)
PRODUCT(hi, s64, u64, u128, (u128)(u64)((s128)(s64)x *(s64)y >> 64) + z + c)
