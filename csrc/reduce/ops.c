/* The operator table, and what it implies for an operator and a dtype: accepted dtypes, dtype of the result
   and of partial results, identity, conversion of the last partial result. */
#include "reduce/ops.h"

#include <math.h>
#include <string.h>

/* a position and an element */
enum { INDEXED_ELEMENT_BYTES = 16 };

const gr_op_row gr_ops[GR_OP_COUNT] = {
#define NO false
#define YES true
#define GR_OP_ROW(name_, functor, takes_, result_, identity_, tree, addition, library, file_, packed_,       \
                  state, traits_, ...)                                                                       \
    {.name = #name_,                                                                                         \
     .file = #file_,                                                                                         \
     .takes = GR_DTYPES_##takes_,                                                                            \
     .packed = GR_DTYPES_##packed_,                                                                          \
     .result = GR_RESULT_##result_,                                                                          \
     .identity = GR_IDENTITY_##identity_,                                                                    \
     .state_bytes = state,                                                                                   \
     .traits = traits_,                                                                                      \
     .in_set = {[GR_SET_TREE] = tree, [GR_SET_ADDITION] = addition, [GR_SET_LIBRARY] = library}},
#include "reduce/ops.def"
    GR_OPS(GR_OP_ROW, )
#undef GR_OP_ROW
#undef YES
#undef NO
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

static bool is_in(gr_dtype_set set, gr_dtype dtype) {
    return ((unsigned)set >> gr_dtypes[dtype].kind & 1) != 0;
}

bool gr_op_takes(gr_op op, gr_dtype dtype) {
    return is_in(gr_ops[op].takes, dtype);
}

bool gr_op_packed(gr_op op, gr_dtype dtype) {
    return is_in(gr_ops[op].packed, dtype);
}

static gr_dtype unsigned_of(gr_dtype dtype) {
    switch (gr_dtypes[dtype].item_bytes) {
    case 1:
        return GR_DTYPE_u8;
    case 2:
        return GR_DTYPE_u16;
    case 4:
        return GR_DTYPE_u32;
    default:
        return GR_DTYPE_u64;
    }
}

gr_dtype gr_op_kernel_dtype(gr_op op, gr_dtype dtype) {
    const bool is_signed = gr_dtype_is_signed_integer(dtype);
    const bool shared = (gr_op_has(op, GR_SAME_BYTES) && (is_signed || dtype == GR_DTYPE_b8)) ||
                        (gr_op_has(op, GR_SAME_SIGNS) && is_signed) ||
                        (gr_op_has(op, GR_SAME_LONG) && dtype == GR_DTYPE_i64);
    return shared ? unsigned_of(dtype) : dtype;
}

gr_dtype gr_op_last_dtype(gr_op op, gr_dtype dtype) {
    switch (gr_ops[op].result) {
    case GR_RESULT_MEAN:
        if (gr_dtypes[dtype].kind == GR_KIND_BITS) /* sums of 64 bits, or of 128 */
            return gr_dtypes[dtype].item_bytes <= 2 ? GR_DTYPE_i16 : GR_DTYPE_i64;
        return gr_op_result(op, dtype);
    case GR_RESULT_SUM:
    case GR_RESULT_SUMS:
    case GR_RESULT_B8:
    case GR_RESULT_I64:
        return gr_op_kernel_dtype(op, gr_op_result(op, dtype));
    default:
        return gr_op_kernel_dtype(op, dtype);
    }
}

static gr_dtype real_part(gr_dtype dtype) {
    return dtype == GR_DTYPE_c64 ? GR_DTYPE_f32 : dtype == GR_DTYPE_c128 ? GR_DTYPE_f64 : dtype;
}

uint64_t gr_op_max_exact_count(gr_op op, gr_dtype dtype) {
    enum { MEAN_COUNT_BITS = 38 }; /* see quotient_of in cuda_kernels/include/ops/wide_integers.cuh */
    if (gr_dtypes[dtype].kind != GR_KIND_BITS)
        return 0;
    if (gr_op_is_mean(op))
        return (uint64_t)1 << MEAN_COUNT_BITS;
    return gr_op_is_sum(op) && gr_dtypes[dtype].item_bytes <= 4 ? INT32_MAX : 0;
}

gr_dtype gr_op_result(gr_op op, gr_dtype dtype) {
    switch (gr_ops[op].result) {
    case GR_RESULT_SUM:
        return gr_dtypes[dtype].sum;
    case GR_RESULT_MEAN:
        return gr_dtypes[dtype].mean;
    case GR_RESULT_REAL:
        return real_part(gr_dtypes[dtype].mean);
    case GR_RESULT_SUMS:
        return GR_DTYPE_f64;
    case GR_RESULT_TWO:
        return dtype == GR_DTYPE_f64 ? GR_DTYPE_c128 : GR_DTYPE_c64;
    case GR_RESULT_B8:
        return GR_DTYPE_b8;
    case GR_RESULT_I64:
    case GR_RESULT_INDEX:
        return GR_DTYPE_i64;
    case GR_RESULT_SAME:
        break;
    }
    return dtype;
}

gr_dtype gr_op_partial(gr_op op, gr_dtype dtype) {
    if (gr_ops[op].result == GR_RESULT_INDEX)
        return dtype;
    const gr_dtype result = gr_op_result(op, dtype);
    return result == GR_DTYPE_b8 ? GR_DTYPE_i32 : result; /* 32-bit words, as atomics need them */
}

size_t gr_op_partial_bytes(gr_op op, gr_dtype dtype) {
    return gr_ops[op].result == GR_RESULT_INDEX ? INDEXED_ELEMENT_BYTES
                                                : gr_dtypes[gr_op_partial(op, dtype)].item_bytes;
}

gr_scalar gr_op_identity(gr_op op, gr_dtype partial) {
    const gr_identity_kind kind = gr_ops[op].identity;
    gr_scalar value = {.bytes = {0}};
    if (kind == GR_IDENTITY_ONES) {
        memset(&value, 0xff, sizeof value);
    } else if (kind != GR_IDENTITY_ZERO && kind != GR_IDENTITY_NONE) {
        const bool largest = kind == GR_IDENTITY_LARGEST, one = kind == GR_IDENTITY_ONE;
        if (partial == GR_DTYPE_f32)
            value.as_float = one ? 1.0F : largest ? INFINITY : -INFINITY;
        else if (partial == GR_DTYPE_f64)
            value.as_double = one ? 1.0 : largest ? (double)INFINITY : -(double)INFINITY;
        else if (partial == GR_DTYPE_i32)
            value.as_int32_t = one ? 1 : largest ? INT32_MAX : INT32_MIN;
        else
            value.as_int64_t = one ? 1 : largest ? INT64_MAX : INT64_MIN;
    }
    return value;
}

void gr_op_finish(gr_op op, gr_dtype partial, gr_scalar *value) {
    if (gr_ops[op].result == GR_RESULT_INDEX)
        return; /* the position comes first */
    /* Canonicalises NaN to NumPy's quiet NaN: PTX leaves open which NaN an addition of two returns, and
       ptxas swaps the operands of add.f64 (v1 on sm_90), so no other NaN is the same on all devices. */
    if (partial == GR_DTYPE_f32 && isnan(value->as_float))
        value->as_float = NAN;
    if (partial == GR_DTYPE_f64 && isnan(value->as_double))
        value->as_double = (double)NAN;
    if (gr_ops[op].result == GR_RESULT_B8) {
        const bool truth = value->as_int32_t != 0;
        value->as_gr_bool = truth;
    }
}
