/* What the kernels of segments are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_SEGMENTS_PARAMS_H
#define GR_SEGMENTS_PARAMS_H

#include <stdint.h>

enum {
    GR_SEGMENT_THREADS = 256,     /* of a block */
    GR_SEGMENT_EACH = 16,         /* items, rows of elements and ends of segments, that a thread takes */
    GR_SEGMENT_PIECES = 4,        /* of a tile at most */
    GR_SEGMENT_BLOCKS = 3,        /* of a multiprocessor at once */
    GR_SEGMENT_MOST_COLUMNS = 32, /* of a tile */
    GR_SEGMENT_HEAD = 64,         /* bytes before the first node: the ticket */
};

enum {
    GR_STREAM_WARPS = 8,      /* of a block */
    GR_STREAM_BLOCKS = 4,     /* of a multiprocessor at once */
    GR_STREAM_FEW_BLOCKS = 3, /* the same where ends are few: the next kernel's have room beside these */
    GR_STREAM_FEW = 2048,     /* elements of a segment, on average, from which on they are few */
    GR_STREAM_BATCH = 512,    /* elements that a warp takes at a time, at most */
    GR_STREAM_VECTORS = 4,    /* loads of 16 bytes that each lane has on the way, at most */
    GR_STREAM_LEAST = 512,    /* rows and ends of a range at least, if not a whole line; few: twice as many */
    GR_STREAM_WEIGHT = 32,    /* rows that take as long as an end */
    GR_STREAM_SLOT_BYTES = 64, /* in which a block hands on what it has left open */
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
    uint64_t node_words; /* of eight bytes, with those of the ticket */
    uint32_t from, to;   /* dtypes, as rows of dtypes.def */
    uint32_t flags;
    uint32_t pieces; /* of a tile */
    uint32_t width, each, columns_shift, groups_shift;
    uint32_t nothing_bytes;
    uint8_t nothing[16]; /* the result of no elements */
} gr_segment_params;

/* What elements that lie side by side are loaded as: numbers, or bits of so many bytes. */
typedef enum gr_stream_kind {
    GR_STREAM_F32,
    GR_STREAM_F64,
    GR_STREAM_F16,
    GR_STREAM_BF16,
    GR_STREAM_BITS8,
    GR_STREAM_BITS16,
    GR_STREAM_BITS32,
    GR_STREAM_BITS64,
} gr_stream_kind;

/* The same where rows have one column, lie side by side and have no order: the rows and ends of a line, an
   end counted as `weight` rows, are cut into `line_ranges` of them, each for a warp. Bits stand for the
   integer
   ((bits & mask) ^ turn) - less, or for whether that is not 0. */
typedef struct gr_stream_params {
    uint64_t in;
    uint64_t out;
    uint64_t offsets;
    uint64_t slots; /* of blocks, zero before and after; 0 where a line has one range */
    uint64_t rows, segments;
    int64_t line_stride; /* in elements */
    uint64_t ranges, line_ranges;
    double each_range, ends_each; /* one by line_ranges; how many ends a range has, on average */
    uint64_t mask, turn, less;
    uint32_t kind, item; /* item: bytes */
    uint32_t to, flags;
    uint32_t weight;
    uint32_t nothing_bytes;
    uint8_t nothing[16];
} gr_stream_params;

#endif
