/* Parameters of the kernel that divides sums of squared deviations of segments by their degrees of freedom.
   Read by C and CUDA. */
#ifndef GR_SEGMENTS_VARIANCE_PARAMS_H
#define GR_SEGMENTS_VARIANCE_PARAMS_H

#include <stdint.h>

enum { GR_SEGMENT_VARIANCE_THREADS = 256 }; /* per block */

typedef struct gr_segment_variance_params {
    uint64_t squares; /* address of one double per result */
    uint64_t out;
    uint64_t offsets;
    uint64_t rows, results, segments, inner; /* rows: rows that offsets count */
    double ddof;
    uint32_t to, root; /* to: a row of dtypes.def */
    uint32_t result_bytes;
    uint8_t empty_result[16]; /* the result of an empty segment */
} gr_segment_variance_params;

#endif
