/* What makes variances of segments of their squares about the means is told: read by C and CUDA alike. */
#ifndef GR_SEGMENTS_SPREAD_PARAMS_H
#define GR_SEGMENTS_SPREAD_PARAMS_H

#include <stdint.h>

enum { GR_SPREAD_THREADS = 256 }; /* of a block */

typedef struct gr_spread_params {
    uint64_t squares; /* double, one a result */
    uint64_t out;
    uint64_t offsets;
    uint64_t rows, results, segments, inner; /* rows: that offsets count */
    double ddof;
    uint32_t to, root; /* to: a row of dtypes.def */
    uint32_t nothing_bytes;
    uint8_t nothing[16]; /* the result of no elements */
} gr_spread_params;

#endif
