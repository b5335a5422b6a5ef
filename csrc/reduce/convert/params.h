/* What the kernel `convert` is told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_REDUCE_CONVERT_PARAMS_H
#define GR_REDUCE_CONVERT_PARAMS_H

#include "reduce/general/params.h"

enum {
    GR_CONVERT_THREADS = 256, /* of a block */
    GR_CONVERT_EACH = 4,      /* elements that a thread takes at a time */
};

typedef struct gr_convert_params {
    uint64_t in;
    uint64_t out; /* in C order */
    uint64_t count;
    gr_dims dims;
    uint32_t from, to; /* rows of dtypes.def */
} gr_convert_params;

#endif
