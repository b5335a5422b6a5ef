/* What a segmented reduction is asked for. */
#ifndef GR_SEGMENTS_REQUEST_H
#define GR_SEGMENTS_REQUEST_H

#include "reduce/ops.h"

/* Which kernels add up segments: tests run the stream on few rows. */
typedef enum gr_segments_path { GR_SEGMENTS_ANY, GR_SEGMENTS_STREAM, GR_SEGMENTS_PATHS } gr_segments_path;

/* Input 0 is the elements; input 1 is the int64 offsets of the segments, one more than segments, followed by
   the permutation of rows, if any: see segments/params.h. */
typedef struct gr_segments {
    gr_op op;
    gr_dtype dtype;
    uint64_t lines, length, inner;                   /* of the elements */
    int64_t line_stride, along_stride, inner_stride; /* bytes, multiples of the element size */
    uint64_t segments;
    uint64_t permuted_rows; /* rows of the permutation; 0: none */
    gr_scalar empty_result; /* the result of an empty segment */
    double ddof;            /* variances divide by the number of elements less ddof */
    gr_segments_path path;
} gr_segments;

#endif
