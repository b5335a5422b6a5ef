/* The rows of dtypes.def and ops.def as C data. */
#ifndef GR_DTYPES_H
#define GR_DTYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum gr_dtype {
#define GR_DTYPE(name, numpy_name, In, Acc, partial) GR_DTYPE_##name,
#include "dtypes.def"
#undef GR_DTYPE
    GR_DTYPE_COUNT
} gr_dtype;

typedef enum gr_op {
#define GR_OP_ENUM(name, functor, ...) GR_OP_##name,
#include "ops.def"
    GR_OPS(GR_OP_ENUM, ) GR_OP_COUNT
#undef GR_OP_ENUM
} gr_op;

typedef struct gr_dtype_row {
    const char *name;
    const char *numpy_name;
    size_t item_bytes;
    size_t acc_bytes;
    gr_dtype partial;
} gr_dtype_row;

extern const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT];
extern const char *const gr_op_names[GR_OP_COUNT];

/* One accumulator of any dtype. */
typedef union gr_scalar {
    float as_float;
    double as_double;
    int64_t as_int64_t;
    unsigned char bytes[16];
} gr_scalar;

/* Replaces a NaN by the quiet NaN that NumPy calls nan. PTX leaves open which NaN an addition of two returns,
   and ptxas swaps the operands of add.f64 as it likes (v1 on sm_90), so only this is the same everywhere. */
void gr_canonical_nan(gr_dtype dtype, gr_scalar *value);

/* The identity of `op`, in the accumulator of `dtype`. */
gr_scalar gr_identity(gr_op op, gr_dtype dtype);

#endif
