/* The rows of dtypes.def and ops.def as C data. */
#ifndef GR_DTYPES_H
#define GR_DTYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "element_types.h"

typedef enum gr_dtype {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope) GR_DTYPE_##name,
#include "dtypes.def"
#undef GR_DTYPE
    GR_DTYPE_COUNT
} gr_dtype;

typedef enum gr_op {
#define GR_OP_ENUM(name, functor, takes, result, scope, ...) GR_OP_##name,
#include "ops.def"
    GR_OPS(GR_OP_ENUM, ) GR_OP_COUNT
#undef GR_OP_ENUM
} gr_op;

typedef enum gr_scope { GR_SCOPE_LADDER, GR_SCOPE_GENERAL } gr_scope;
typedef enum gr_kind { GR_KIND_BITS, GR_KIND_NUMBER } gr_kind;
typedef enum gr_takes { GR_TAKES_ALL, GR_TAKES_BITS, GR_TAKES_PAIR } gr_takes;
typedef enum gr_result {
    GR_RESULT_SAME,
    GR_RESULT_SUM,
    GR_RESULT_MEAN,
    GR_RESULT_B8,
    GR_RESULT_I64
} gr_result;

typedef struct gr_dtype_row {
    const char *name;
    const char *numpy_name;
    size_t item_bytes;
    gr_kind kind;
    gr_dtype sum, mean; /* the dtypes of these results */
    gr_scope scope;
} gr_dtype_row;

typedef struct gr_op_row {
    const char *name;
    gr_takes takes;
    gr_result result;
    gr_scope scope;
} gr_op_row;

extern const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT];
extern const gr_op_row gr_ops[GR_OP_COUNT];

/* One element of any dtype. */
typedef union gr_scalar {
    float as_float;
    double as_double;
    int64_t as_int64_t;
    unsigned char bytes[16];
} gr_scalar;

/* Finds an operator by its public name; false if there is none. */
bool gr_op_find(const char *name, gr_op *out);
/* Whether there are kernels for the operator on elements of this dtype. */
bool gr_op_takes(gr_op op, gr_dtype dtype);
/* The dtype of its result, as NumPy has it. */
gr_dtype gr_op_result(gr_op op, gr_dtype dtype);

/* Replaces a NaN in a sum of the ladder by the quiet NaN that NumPy calls nan. PTX leaves open which NaN an
   addition of two returns, and ptxas swaps the operands of add.f64 as it likes (v1 on sm_90), so only this is
   the same everywhere. `dtype` is that of the value. */
void gr_canonical_nan(gr_dtype dtype, gr_scalar *value);

/* The identity of a ladder operator, as an element of its result. */
gr_scalar gr_identity(gr_op op);

#endif
