#include "dtypes.h"

#include <math.h>
#include <string.h>

const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT] = {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope)                                          \
    {#name, #numpy_name, sizeof(In), GR_KIND_##kind, GR_DTYPE_##sum, GR_DTYPE_##mean, GR_SCOPE_##scope},
#include "dtypes.def"
#undef GR_DTYPE
};

const gr_op_row gr_ops[GR_OP_COUNT] = {
#define GR_OP_ROW(name, functor, takes, result, scope, ...)                                                  \
    {#name, GR_TAKES_##takes, GR_RESULT_##result, GR_SCOPE_##scope},
#include "ops.def"
    GR_OPS(GR_OP_ROW, )
#undef GR_OP_ROW
};

bool gr_op_find(const char *name, gr_op *out) {
    for (int i = 0; i < GR_OP_COUNT; ++i) {
        if (strcmp(gr_ops[i].name, name) == 0) {
            *out = (gr_op)i;
            return true;
        }
    }
    return false;
}

bool gr_op_takes(gr_op op, gr_dtype dtype) {
    return gr_ops[op].takes != GR_TAKES_BITS || gr_dtypes[dtype].kind == GR_KIND_BITS;
}

gr_dtype gr_op_result(gr_op op, gr_dtype dtype) {
    switch (gr_ops[op].result) {
    case GR_RESULT_SUM:
        return gr_dtypes[dtype].sum;
    case GR_RESULT_MEAN:
        return gr_dtypes[dtype].mean;
    case GR_RESULT_B8:
        return GR_DTYPE_b8;
    case GR_RESULT_I64:
        return GR_DTYPE_i64;
    case GR_RESULT_SAME:
        break;
    }
    return dtype;
}

void gr_canonical_nan(gr_dtype dtype, gr_scalar *value) {
    if (dtype == GR_DTYPE_f32 && isnan(value->as_float))
        value->as_float = NAN;
    if (dtype == GR_DTYPE_f64 && isnan(value->as_double))
        value->as_double = (double)NAN;
}

gr_scalar gr_identity(gr_op op) {
    (void)op; /* sum, the only one so far, has zero bits as its identity in every dtype */
    return (gr_scalar){.bytes = {0}};
}
