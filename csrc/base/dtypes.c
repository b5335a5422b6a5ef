/* The dtype table, and vectorisable tests for infinities and NaNs in contiguous elements. */
#include "base/dtypes.h"

#include <string.h>

const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT] = {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                   \
    {#name, #numpy_name, bytes, GR_KIND_##kind, GR_DTYPE_##sum, GR_DTYPE_##mean, GR_SCOPE_##scope},
#include "base/dtypes.def"
#undef GR_DTYPE
};

#define FLOAT_EXPONENT UINT32_C(0x7f800000)
#define DOUBLE_EXPONENT UINT64_C(0x7ff0000000000000)

/* Whether all numbers of type `Word` are finite: not all bits of the exponent are set. The loop has no early
   exit, so that compilers vectorise it. */
#define ALL_FINITE(name, Word)                                                                               \
    static bool name(const unsigned char *bytes, size_t count, Word exponent) {                              \
        Word bits;                                                                                           \
        unsigned bad = 0;                                                                                    \
        for (size_t i = 0; i < count; ++i) {                                                                 \
            memcpy(&bits, bytes + i * sizeof bits, sizeof bits);                                             \
            bad |= (bits & exponent) == exponent;                                                            \
        }                                                                                                    \
        return bad == 0;                                                                                     \
    }
ALL_FINITE(halves_finite, uint16_t)
ALL_FINITE(floats_finite, uint32_t)
ALL_FINITE(doubles_finite, uint64_t)
#undef ALL_FINITE

bool gr_all_finite(gr_dtype dtype, const void *elements, size_t count) {
    switch ((int)dtype) {
    case GR_DTYPE_f16:
        return halves_finite(elements, count, 0x7c00);
    case GR_DTYPE_bf16:
        return halves_finite(elements, count, 0x7f80);
    case GR_DTYPE_f32:
        return floats_finite(elements, count, FLOAT_EXPONENT);
    case GR_DTYPE_c64:
        return floats_finite(elements, 2 * count, FLOAT_EXPONENT);
    case GR_DTYPE_f64:
        return doubles_finite(elements, count, DOUBLE_EXPONENT);
    case GR_DTYPE_c128:
        return doubles_finite(elements, 2 * count, DOUBLE_EXPONENT);
    default:
        return true;
    }
}
