/* Products and quotients of weighted group sums and means. */
#ifndef GR_GROUPS_WEIGHTS_WEIGHTS_H
#define GR_GROUPS_WEIGHTS_WEIGHTS_H

#include "base/dtypes.h"
#include "program/program.h"

/* Input 0 is the weights, input 1 the elements, if any; all have one dtype, float32 or float64. */
typedef struct gr_products {
    gr_dtype dtype;
    bool has_elements; /* else the products are the weights */
    bool wide;         /* exact products of float32 as float64; else float32 or float64, with their errors */
    uint64_t lines, length, inner;
    int64_t weight_strides[3], in_strides[3]; /* bytes, multiples of the element size */
} gr_products;

/* Returns the dtype of the products. */
gr_dtype gr_products_dtype(const gr_products *self);
/* Returns 2 if each row of products is followed by a row of their rounding errors, else 1. */
uint64_t gr_products_parts(const gr_products *self);

gr_status gr_products_run(gr_device *device, const gr_products *self, const gr_binding *binding,
                          const gr_interrupt *interrupt, gr_error *error);

/* Input 0 is the dividends, input 1 the divisors: float64, contiguous. */
typedef struct gr_quotients {
    gr_dtype to; /* float32 or float64 */
    uint64_t count;
} gr_quotients;

gr_status gr_quotients_run(gr_device *device, const gr_quotients *self, const gr_binding *binding,
                           const gr_interrupt *interrupt, gr_error *error);

#endif
