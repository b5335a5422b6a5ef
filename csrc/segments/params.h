/* What the kernels of segments are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_SEGMENTS_PARAMS_H
#define GR_SEGMENTS_PARAMS_H

#include <stdint.h>

enum {
    GR_SEGMENT_THREADS = 256,     /* of a block */
    GR_SEGMENT_EACH = 16,         /* items, rows of elements and ends of segments, that a thread takes */
    GR_SEGMENT_PIECES = 4,        /* of a tile at most */
    GR_SEGMENT_BLOCKS = 4,        /* of a multiprocessor at once */
    GR_SEGMENT_MOST_COLUMNS = 32, /* of a tile */
    GR_SEGMENT_HEAD = 64,         /* bytes before the first node: the ticket */
};

enum {
    GR_SEGMENT_LINEAR = 1, /* rows lie side by side, and have all columns */
    GR_SEGMENT_MEAN = 2,   /* results are divided by how many there are */
    GR_SEGMENT_TRUTH = 4,  /* elements are 1 where they are not 0 */
    GR_SEGMENT_ANY = 8,    /* results are whether they are not 0 */
    GR_SEGMENT_ALL = 16,   /* results are whether they are as many as there are elements */
};

/* Lines of `length` rows of `inner` columns each, cut into segments alike: of the rows from offsets[s] to
   before offsets[s + 1], which ascend. With an order, row i is that which the order has at i. Rows and ends,
   merged, are cut into pieces of as many as the threads of a column take, and these into tiles, of which each
   line and stripe has a chain. Results are in C order: lines, segments, columns. */
typedef struct gr_segment_params {
    uint64_t in;
    uint64_t out;
    uint64_t offsets; /* int64, one more than segments; the order of `rows` rows follows, if there is one */
    uint64_t starts;  /* the first segment of each piece, and `segments`; 0 where there is one */
    uint64_t nodes;   /* a ticket, and a node for each column of each tile, all zero; 0 where there is one */
    uint64_t order;   /* where in `offsets` the order begins, or 0 */
    uint64_t rows;    /* that offsets count: of a line, or of the order */
    uint64_t lines, length, inner, segments;
    int64_t line_stride, along_stride, inner_stride; /* of the elements, which they count */
    uint64_t chains, chain_tiles, chain_nodes, chain_pieces, stripes;
    uint32_t from, to; /* dtypes, as rows of dtypes.def */
    uint32_t flags;
    uint32_t pieces; /* of a tile */
    uint32_t width, each, columns_shift, groups_shift;
    uint32_t nothing_bytes;
    uint8_t nothing[16]; /* the result of no elements */
} gr_segment_params;

#endif
