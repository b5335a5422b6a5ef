/* Parameters of the kernels that copy and convert strided arrays. Read by C and CUDA, so all types are plain
   and of fixed size. */
#ifndef GR_REDUCE_CONVERT_PARAMS_H
#define GR_REDUCE_CONVERT_PARAMS_H

#include <stdint.h>

#include "reduce/general/params.h"

enum {
    GR_CONVERT_ITEMS_PER_THREAD = 4, /* elements per thread */
    GR_CONVERT_DIMS = 5,             /* dimensions after contiguous neighbours are merged */
};

enum {
    GR_COPY_THREADS = 256,
    GR_COPY_VECTOR = 16,                 /* bytes per load and store of contiguous elements */
    GR_COPY_ITEMS_PER_THREAD = 4,        /* such vectors per thread, or elements that are not contiguous */
    GR_COPY_NARROW_ITEMS_PER_THREAD = 8, /* elements of 1 or 2 bytes per thread */
};

/* A copy of single elements or of contiguous runs. Strides in bytes, the fastest dimension first; unused
   dimensions have extent 1. The first extent of runs is in bytes. */
typedef struct gr_copy_params {
    uint64_t in, out;
    uint64_t count; /* runs: bytes of output; otherwise elements, without those along `inner` */
    uint64_t extent[GR_CONVERT_DIMS];
    gr_fast_divmod by[GR_CONVERT_DIMS];
    uint32_t magic[GR_CONVERT_DIMS], shift[GR_CONVERT_DIMS]; /* `by` in 32 bits, for numbers below 2^31 */
    int64_t stride[GR_CONVERT_DIMS], out_stride[GR_CONVERT_DIMS];
    int64_t low, high; /* runs: bytes from `in` to the lowest and to the end of the highest element */
    uint32_t dims;     /* dimensions in use */
    uint64_t inner;    /* elements per thread along a dimension that is contiguous in `in` only */
    int64_t inner_in, inner_out;
} gr_copy_params;

typedef struct gr_convert_params {
    gr_copy_params at; /* single elements; inner = 1 */
    uint32_t from, to; /* rows of dtypes.def */
} gr_convert_params;

enum {
    GR_TRANSPOSE_EDGE = 64, /* elements along both edges of a tile that is transposed element by element */
    GR_TRANSPOSE_WIDE_EDGE = 32,   /* elements along these edges, for elements of 16 bytes */
    GR_TRANSPOSE_BYTES_DOWN = 128, /* a tile of vectors of 1-byte elements: elements along the rows of `in` */
    GR_TRANSPOSE_BYTES_ACROSS = 64, /* elements along the rows of `out` */
    GR_TRANSPOSE_PAIRS_DOWN = 64,   /* a tile of vectors of 2-byte elements: along the rows of `in` */
    GR_TRANSPOSE_PAIRS_ACROSS = 128,
    GR_TRANSPOSE_VECTOR_THREADS = 128, /* per block that transposes vectors */
    GR_TRANSPOSE_OUTER_DIMS = GR_CONVERT_DIMS - 2,
};

/* A transpose: `down` elements are contiguous in `in`, `across` elements in `out`; other dimensions surround
   these two. Strides in bytes. */
typedef struct gr_transpose_params {
    uint64_t in, out;
    uint64_t across, down;
    int64_t in_across, in_down, out_down;
    int64_t outer_in[GR_TRANSPOSE_OUTER_DIMS], outer_out[GR_TRANSPOSE_OUTER_DIMS];
    uint32_t outer[GR_TRANSPOSE_OUTER_DIMS]; /* extents; unused ones are 1 */
    uint32_t tiles_across, tiles_down;
} gr_transpose_params;

#endif
