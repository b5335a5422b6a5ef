/* The order in which the rows of a segment are combined, where results depend on it: it follows from the
   length of the segment alone.

   A segment of up to GR_ORDERED_CHUNK rows is one chunk. A longer one is divided, from its first row on, into
   chunks of 2^gr_ordered_chunk_shift rows. The n rows of a chunk are dealt to gr_ordered_strips(n) strips:
   strip i has the rows i, i + strips, i + 2 strips, ..., which are combined one after the other. A binary
   tree combines strips that are neighbours, then neighbouring pairs, and so on. The chunks of a segment are
   combined in the same way, in gr_ordered_chunk_strips strips. Read by C and CUDA. */
#ifndef GR_SEGMENTS_ORDERED_PARAMS_H
#define GR_SEGMENTS_ORDERED_PARAMS_H

#include <stdint.h>

#ifdef __CUDACC__
#define GR_ORDERED_FUNCTION static inline __host__ __device__
#else
#define GR_ORDERED_FUNCTION static inline
#endif

enum {
    GR_ORDERED_CHUNK_SHIFT = 9,
    GR_ORDERED_CHUNK = 1 << GR_ORDERED_CHUNK_SHIFT, /* rows of the smallest chunks of a divided segment */
    GR_ORDERED_STRIP = 16,                          /* rows of a strip, unless there are 32 strips */
    GR_ORDERED_LEVELS = 6,                          /* of a tree of up to 32 strips, the leaves included */
    GR_ORDERED_STRIP_CHUNKS = 8,                    /* chunks up to which there is one strip of them */
    GR_ORDERED_FEW_CHUNKS = 256,        /* chunks up to which there are at most 32 strips of them */
    GR_ORDERED_MANY_STRIPS = 256,       /* strips of more chunks */
    GR_ORDERED_WARPS = 8,               /* per block */
    GR_ORDERED_BLOCKS_PER_SM = 2,       /* blocks that an SM holds at once (occupancy) */
    GR_ORDERED_SMALL_BLOCKS_PER_SM = 3, /* of States of 8 bytes */
    GR_ORDERED_ROWS = 8,                /* rows of a lane in flight */
    GR_ORDERED_MIN_RANGE = 256,         /* rows and weights per range of one column, at least */
    GR_ORDERED_MAX_RANGE = 1 << 17,     /* at most; such a segment has up to GR_ORDERED_FEW_CHUNKS chunks */
    GR_ORDERED_SLOT_BYTES = 16,
    GR_ORDERED_THROUGH = 1, /* in the slot of a block: no segment begins or ends in it; */
    GR_ORDERED_ENDS = 2,    /* one does */
};

/* The binary logarithm of the rows of a chunk, given the rows of its segment. */
GR_ORDERED_FUNCTION uint32_t gr_ordered_chunk_shift(int64_t rows) {
    return rows <= 1 << 16 ? 9u : rows <= 1 << 22 ? 10u : rows <= 1 << 26 ? 11u : 12u;
}

/* The strips of a chunk: a power of two, and not more than there are rows. */
GR_ORDERED_FUNCTION uint32_t gr_ordered_strips(uint32_t rows) {
    uint32_t strips = 1;
    while (strips < 32 && strips * GR_ORDERED_STRIP < rows)
        strips *= 2;
    return strips;
}

/* The strips of the chunks of a segment: a power of two, and not more than there are chunks. */
GR_ORDERED_FUNCTION uint32_t gr_ordered_chunk_strips(uint32_t chunks) {
    uint32_t strips = 1;
    if (chunks > GR_ORDERED_FEW_CHUNKS)
        return GR_ORDERED_MANY_STRIPS;
    while (chunks > GR_ORDERED_STRIP_CHUNKS && strips < 32 && 2 * strips <= chunks)
        strips *= 2;
    return strips;
}

/* Segmented reduction of rows in this order. Rows have `inner` columns, of which up to 2^columns_shift share
   a warp. A chain is a line of rows and such columns. Its rows and the beginnings of its segments, each of
   which counts as `weight` rows, are divided into `line_ranges` ranges, one per warp. */
typedef struct gr_ordered_params {
    uint64_t in;
    uint64_t out;
    uint64_t offsets;     /* as in gr_segment_params */
    uint64_t permutation; /* as in gr_segment_params */
    uint64_t chunks;      /* address of chain_chunks States of chunks per chain and column; 0 if no segment is
                             divided */
    uint64_t slots; /* address of one slot per block, zero before and after; 0 if no segment is divided, or
                       each line has one range */
    uint64_t rows, segments, inner, stripes, ranges, line_ranges, chain_chunks;
    int64_t line_stride, along_stride, inner_stride; /* in bytes */
    double segments_per_range, inverse_ranges;       /* inverse_ranges: 1 / line_ranges */
    double ddof;
    uint32_t from, to; /* rows of dtypes.def */
    uint32_t flags;
    uint32_t columns_shift, weight;
    uint32_t dense; /* whether elements are side by side */
    uint32_t result_bytes;
    uint32_t blocks, first;    /* as in gr_stream_params */
    uint32_t root, nan_of_few; /* of variances: the result is a root; NaN without degrees of freedom */
    uint8_t empty_result[16];
} gr_ordered_params;

#endif
