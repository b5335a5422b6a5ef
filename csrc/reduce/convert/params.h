/* What the kernels of `convert` and `copy` are told: read by C and CUDA alike, so only plain types of fixed
   size. */
#ifndef GR_REDUCE_CONVERT_PARAMS_H
#define GR_REDUCE_CONVERT_PARAMS_H

#include <stdint.h>

#include "reduce/general/params.h"

enum {
    GR_CONVERT_EACH = 4, /* elements that a thread takes */
    GR_CONVERT_DIMS = 5, /* after neighbours that lie evenly are merged */
};

enum {
    GR_COPY_THREADS = 256,
    GR_COPY_VECTOR = 16, /* bytes that a thread moves at once where elements lie side by side */
    GR_COPY_EACH = 4,    /* of these for a thread, or elements where they do not, ... */
    GR_COPY_NARROW = 8,  /* ... or so many of one byte or two */
};

/* Elements that go where they belong one by one, or runs of them; strides in bytes, the dimensions of the
   fastest first, unused ones of extent 1. Of runs the first one counts bytes. */
typedef struct gr_copy_params {
    uint64_t in, out;
    uint64_t count; /* bytes in runs, else elements without those along `inner` */
    uint64_t extent[GR_CONVERT_DIMS];
    gr_fast_divmod by[GR_CONVERT_DIMS];
    uint32_t magic[GR_CONVERT_DIMS], shift[GR_CONVERT_DIMS]; /* the same in 32 bits, of numbers below 2^31 */
    int64_t stride[GR_CONVERT_DIMS], out_stride[GR_CONVERT_DIMS];
    int64_t low, high; /* runs: from `in` to the first byte of all elements, and behind the last */
    uint32_t dims;     /* that count */
    uint64_t inner;    /* elements close to each other in `in` alone, which a thread takes, too */
    int64_t inner_in, inner_out;
} gr_copy_params;

typedef struct gr_convert_params {
    gr_copy_params at; /* single elements, none of them along `inner` */
    uint32_t from, to; /* rows of dtypes.def */
} gr_convert_params;

enum {
    GR_TURN_EDGE = 64,         /* elements along both sides of a tile that goes element by element, ... */
    GR_TURN_WIDE_EDGE = 32,    /* ... of 16 bytes each */
    GR_TURN_BYTES_DOWN = 128,  /* of a tile of vectors of elements of one byte: along the rows of `in`, ... */
    GR_TURN_BYTES_ACROSS = 64, /* ... and of `out` */
    GR_TURN_PAIRS_DOWN = 64,   /* the same of two bytes */
    GR_TURN_PAIRS_ACROSS = 128,
    GR_TURN_VECTOR_THREADS = 128, /* of a block that takes vectors */
    GR_TURN_OUTER = GR_CONVERT_DIMS - 2,
};

/* Elements whose neighbours in `in`, `down` of them, are not those in `out`, `across` of them; and dimensions
   around these two. Strides in bytes. */
typedef struct gr_turn_params {
    uint64_t in, out;
    uint64_t across, down;
    int64_t in_across, in_down, out_down;
    int64_t outer_in[GR_TURN_OUTER], outer_out[GR_TURN_OUTER];
    uint32_t outer[GR_TURN_OUTER]; /* extents; unused ones are 1 */
    uint32_t tiles_across, tiles_down;
} gr_turn_params;

#endif
