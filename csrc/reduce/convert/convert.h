/* Copies a strided array to C order, with or without a conversion of its dtype. Copies transpose through
   shared memory where the fastest dimensions of input and output differ. */
#ifndef GR_REDUCE_CONVERT_CONVERT_H
#define GR_REDUCE_CONVERT_CONVERT_H

#include "base/dtypes.h"
#include "program/program.h"
#include "reduce/general/layout.h"

typedef struct gr_conversion {
    gr_dtype from, to;
    size_t ndim;
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM]; /* strides of the input, in bytes */
} gr_conversion;

/* Appends a copy from one buffer to another, which keeps the dtype. `alignment`: what the addresses of both
   are multiples of, in bytes. Fails as gr_conversion_run does. */
void gr_copy_append(const gr_conversion *conversion, uint32_t in, uint32_t out, uint64_t alignment,
                    gr_program *program);

/* Does nothing if there are no elements. Returns GR_ERR_VALUE if the dimensions do not merge into
   GR_CONVERT_DIMS. */
gr_status gr_conversion_run(gr_device *device, const gr_conversion *conversion, const gr_binding *binding,
                            const gr_interrupt *interrupt, gr_error *error);

#endif
