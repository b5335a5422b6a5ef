#include "dtypes.h"

#include <math.h>

const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT] = {
#define GR_DTYPE(name, numpy_name, In, Acc, partial)                                                         \
    {#name, #numpy_name, sizeof(In), sizeof(Acc), GR_DTYPE_##partial},
#include "dtypes.def"
#undef GR_DTYPE
};

const char *const gr_op_names[GR_OP_COUNT] = {
#define GR_OP_NAME(name, functor, ...) #name,
#include "ops.def"
    GR_OPS(GR_OP_NAME, )
#undef GR_OP_NAME
};

static void canonical_nan_float(gr_scalar *value) {
    if (isnan(value->as_float))
        value->as_float = NAN;
}

static void canonical_nan_double(gr_scalar *value) {
    if (isnan(value->as_double))
        value->as_double = (double)NAN;
}

static void canonical_nan_int64_t(gr_scalar *value) {
    (void)value;
}

void gr_canonical_nan(gr_dtype dtype, gr_scalar *value) {
    switch (dtype) {
#define GR_DTYPE(name, numpy_name, In, Acc, partial)                                                         \
    case GR_DTYPE_##name:                                                                                    \
        canonical_nan_##Acc(value);                                                                          \
        break;
#include "dtypes.def"
#undef GR_DTYPE
    case GR_DTYPE_COUNT:
        break;
    }
}

gr_scalar gr_identity(gr_op op, gr_dtype dtype) {
    (void)op; /* sum, the only operator so far, has zero bits as its identity in every accumulator */
    (void)dtype;
    return (gr_scalar){.bytes = {0}};
}
