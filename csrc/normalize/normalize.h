/* Functions that reduce a row and write a result for each of its elements: softmax, log_softmax, rms_norm and
   layer_norm, one launch each. The order of each sum follows from the length of a row alone, so the bits of a
   row depend neither on the number of rows, nor on its place, nor on the device. */
#ifndef GR_NORMALIZE_NORMALIZE_H
#define GR_NORMALIZE_NORMALIZE_H

#include "base/dtypes.h"
#include "program/program.h"

typedef enum gr_normalize_op {
#define GR_NORMALIZE(name, Functor, weight, bias, residual) GR_NORMALIZE_##name,
#include "normalize/ops.def"
#undef GR_NORMALIZE
    GR_NORMALIZE_OPS
} gr_normalize_op;

typedef struct gr_normalize_row {
    const char *name;
    bool weight, bias, residual;
} gr_normalize_row;

extern const gr_normalize_row gr_normalize_ops[GR_NORMALIZE_OPS];

/* Rows as in gr_normalize_params, of which there are `lines` * `inner`; strides are bytes. */
typedef struct gr_normalize {
    gr_normalize_op op;
    gr_dtype dtype;
    uint64_t lines, length, inner;
    int64_t line_stride, along_stride, inner_stride;
    uint32_t weight, bias, residual; /* numbers of these inputs, the elements being input 0; 0: not passed */
    bool aligned;                    /* the addresses of all arrays are multiples of 16 */
    double eps;
} gr_normalize;

/* Whether the functions take a dtype. */
bool gr_normalize_takes(gr_dtype dtype);

/* Plans and runs a call of at least one element. */
gr_status gr_normalize_run(gr_device *device, const gr_normalize *self, const gr_binding *binding,
                           const gr_interrupt *interrupt, gr_error *error);

#endif
