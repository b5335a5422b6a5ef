/* The dtype table: the rows of dtypes.def as C data, a scalar of any dtype, and a test for non-finite
   elements. */
#ifndef GR_BASE_DTYPES_H
#define GR_BASE_DTYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/element_types.h"

typedef enum gr_dtype {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes) GR_DTYPE_##name,
#include "base/dtypes.def"
#undef GR_DTYPE
    GR_DTYPE_COUNT
} gr_dtype;

typedef enum gr_scope { GR_SCOPE_LADDER, GR_SCOPE_GENERAL } gr_scope;
typedef enum gr_kind { GR_KIND_BITS, GR_KIND_REAL, GR_KIND_COMPLEX } gr_kind;
typedef struct gr_dtype_row {
    const char *name;
    const char *numpy_name;
    size_t item_bytes;
    gr_kind kind;
    gr_dtype sum, mean; /* dtypes of the results of sum and mean */
    gr_scope scope;
} gr_dtype_row;

extern const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT];

static inline bool gr_dtype_is_complex(gr_dtype dtype) {
    return gr_dtypes[dtype].kind == GR_KIND_COMPLEX;
}

static inline bool gr_dtype_is_signed_integer(gr_dtype dtype) {
    return gr_dtypes[dtype].name[0] == 'i';
}

/* One element of any dtype. */
typedef union gr_scalar {
    float as_float;
    double as_double;
    int32_t as_int32_t;
    int64_t as_int64_t;
    gr_bool as_gr_bool;
    unsigned char bytes[16];
} gr_scalar;

/* Whether none of the contiguous elements is infinite or NaN. */
bool gr_all_finite(gr_dtype dtype, const void *elements, size_t count);

#endif
