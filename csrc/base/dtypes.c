#include "base/dtypes.h"

#include <string.h>

const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT] = {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope)                                          \
    {#name, #numpy_name, sizeof(In), GR_KIND_##kind, GR_DTYPE_##sum, GR_DTYPE_##mean, GR_SCOPE_##scope},
#include "base/dtypes.def"
#undef GR_DTYPE
};

/* A number is finite unless all bits of its exponent are set. */
static bool halves_finite(const unsigned char *bytes, size_t count, uint16_t exponent) {
    uint16_t bits;
    unsigned bad = 0; /* no way out of the loop, which compilers make vectors of */
    for (size_t i = 0; i < count; ++i) {
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return bad == 0;
}

static bool floats_finite(const unsigned char *bytes, size_t count) {
    const uint32_t exponent = 0x7f800000;
    uint32_t bits;
    unsigned bad = 0;
    for (size_t i = 0; i < count; ++i) {
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return bad == 0;
}

static bool doubles_finite(const unsigned char *bytes, size_t count) {
    const uint64_t exponent = 0x7ff0000000000000;
    uint64_t bits;
    unsigned bad = 0;
    for (size_t i = 0; i < count; ++i) {
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return bad == 0;
}

bool gr_all_finite(gr_dtype dtype, const void *elements, size_t count) {
    switch ((int)dtype) {
    case GR_DTYPE_f16:
        return halves_finite(elements, count, 0x7c00);
    case GR_DTYPE_bf16:
        return halves_finite(elements, count, 0x7f80);
    case GR_DTYPE_f32:
        return floats_finite(elements, count);
    case GR_DTYPE_c64:
        return floats_finite(elements, 2 * count);
    case GR_DTYPE_f64:
        return doubles_finite(elements, count);
    case GR_DTYPE_c128:
        return doubles_finite(elements, 2 * count);
    default:
        return true;
    }
}
