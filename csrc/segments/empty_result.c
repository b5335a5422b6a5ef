/* The results of segments without elements. */
#include <math.h>
#include <string.h>

#include "segments/segments.h"

/* The result of an empty segment. */
typedef enum number { ZERO, ONE, MINUS_ONE, NOT_A_NUMBER, LARGEST, SMALLEST, ONES } number;

/* Returns an operator with the same result of no elements: in most cases the one that does not skip NaNs. */
static gr_op plain_of(gr_op op) {
    switch ((int)op) {
    case GR_OP_nanmean:
        return GR_OP_mean;
    case GR_OP_nanprod:
        return GR_OP_prod;
    case GR_OP_nanmin:
        return GR_OP_min;
    case GR_OP_nanmax:
    case GR_OP_logsumexp: /* the logarithm of 0 */
        return GR_OP_max;
    default:
        return op;
    }
}

static number number_of(gr_op op) {
    if (gr_op_is_positional(op))
        return MINUS_ONE;
    if (gr_op_is_mean(op) || gr_op_is_variance(op))
        return NOT_A_NUMBER;
    switch (gr_ops[op].identity) {
    case GR_IDENTITY_ONE:
        return ONE;
    case GR_IDENTITY_ONES:
        return ONES;
    case GR_IDENTITY_LARGEST:
        return LARGEST;
    case GR_IDENTITY_SMALLEST:
        return SMALLEST;
    case GR_IDENTITY_ZERO:
    case GR_IDENTITY_NONE:
        break;
    }
    return ZERO;
}

static void write_integer(gr_dtype dtype, number which, gr_scalar *out) {
    const size_t bytes = gr_dtypes[dtype].item_bytes;
    const bool is_signed = gr_dtype_is_signed_integer(dtype);
    uint64_t value = which == ONE ? 1 : 0;
    if (which == MINUS_ONE || which == ONES || (which == LARGEST && !is_signed))
        value = UINT64_MAX;
    else if (is_signed && (which == LARGEST || which == SMALLEST)) /* signed: 2^n - 1, or -2^n */
        value = ((uint64_t)1 << (8 * bytes - 1)) - (which == LARGEST ? 1 : 0);
    memcpy(out->bytes, &value, bytes); /* little-endian */
    if (dtype == GR_DTYPE_b8)
        out->as_gr_bool = value != 0;
}

/* Half precision: the bits of 1, infinity and a quiet NaN. */
typedef struct half_bits {
    uint16_t one, infinity, nan;
} half_bits;

static void write_half(half_bits bits, number which, gr_scalar *out) {
    enum { SIGN = 0x8000 };
    const uint16_t value = which == ONE            ? bits.one
                           : which == NOT_A_NUMBER ? bits.nan
                           : which == LARGEST      ? bits.infinity
                           : which == SMALLEST     ? (uint16_t)(bits.infinity | SIGN)
                                                   : (uint16_t)0;
    memcpy(out->bytes, &value, sizeof value);
}

static double value_of(number which) {
    return which == ONE            ? 1.0
           : which == NOT_A_NUMBER ? (double)NAN
           : which == LARGEST      ? (double)INFINITY
           : which == SMALLEST     ? -(double)INFINITY
                                   : 0.0;
}

gr_scalar gr_segments_empty_result(gr_op op, gr_dtype dtype) {
    const gr_dtype result = gr_op_result(op, dtype);
    const number which = number_of(plain_of(op));
    const double value = value_of(which), imaginary = which == ONE ? 0.0 : value;
    gr_scalar out = {.bytes = {0}};
    switch ((int)result) {
    case GR_DTYPE_f16:
        write_half((half_bits){0x3c00, 0x7c00, 0x7e00}, which, &out);
        break;
    case GR_DTYPE_bf16:
        write_half((half_bits){0x3f80, 0x7f80, 0x7fc0}, which, &out);
        break;
    case GR_DTYPE_f32:
        out.as_float = (float)value;
        break;
    case GR_DTYPE_f64:
        out.as_double = value;
        break;
    case GR_DTYPE_c64:
        memcpy(out.bytes, &(gr_c64){(float)value, (float)imaginary}, sizeof(gr_c64));
        break;
    case GR_DTYPE_c128:
        memcpy(out.bytes, &(gr_c128){value, imaginary}, sizeof(gr_c128));
        break;
    default:
        write_integer(result, which, &out);
    }
    return out;
}
