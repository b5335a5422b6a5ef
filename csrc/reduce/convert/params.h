/* What the kernel `convert` is told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_REDUCE_CONVERT_PARAMS_H
#define GR_REDUCE_CONVERT_PARAMS_H

#include <stdint.h>

enum {
    GR_CONVERT_THREADS = 256, /* of a block */
    GR_CONVERT_EACH = 4,      /* elements that a thread takes, where the grid is not full */
    GR_CONVERT_DIMS = 5,      /* after neighbours that lie evenly are merged */
};

typedef struct gr_convert_params {
    uint64_t in;
    uint64_t out; /* in C order */
    uint64_t count;
    uint64_t extent[GR_CONVERT_DIMS]; /* the fastest first; unused ones are 1 */
    int64_t stride[GR_CONVERT_DIMS];  /* in bytes */
    uint32_t from, to;                /* rows of dtypes.def */
} gr_convert_params;

#endif
