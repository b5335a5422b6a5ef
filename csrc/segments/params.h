/* Parameters of the segmented reduction kernels. Read by C and CUDA, so all types are plain and of fixed
   size. */
#ifndef GR_SEGMENTS_PARAMS_H
#define GR_SEGMENTS_PARAMS_H

#include <stdint.h>

enum {
    GR_SEGMENT_THREADS = 256,         /* per block */
    GR_SEGMENT_ITEMS_PER_THREAD = 16, /* items (rows of elements and ends of segments) per thread */
    GR_SEGMENT_MAX_PIECES = 4,        /* max. pieces per tile */
    GR_SEGMENT_BLOCKS_PER_SM = 3,     /* blocks that an SM holds at once (occupancy) */
    GR_SEGMENT_MAX_COLUMNS = 32,      /* max. columns per tile */
    GR_SEGMENT_NODES_OFFSET = 64,     /* bytes before the first node, which hold the ticket */
};

enum {
    GR_STREAM_WARPS = 8,                  /* per block */
    GR_STREAM_BLOCKS_PER_SM = 4,          /* blocks that an SM holds at once (occupancy) */
    GR_STREAM_FEW_ENDS_BLOCKS_PER_SM = 3, /* for few ends: a block of the dependent launch fits, too */
    GR_STREAM_EXACT_BLOCKS_PER_SM = 3,    /* for exact sums, which have larger States */
    GR_STREAM_LONG_SEGMENT = 2048,        /* mean elements per segment from which ends count as few */
    GR_STREAM_BATCH = 512,                /* max. elements that a warp reads per iteration */
    GR_STREAM_VECTORS = 4,                /* max. 16-byte loads of a lane in flight */
    GR_STREAM_MIN_RANGE = 512, /* min. rows and ends of a range of a line; twice as many for few ends */
    GR_STREAM_END_WEIGHT = 32, /* rows that take as long as an end */
    GR_STREAM_SLOT_BYTES = 64, /* in which a block publishes the State of its last, open segment */
};

enum {
    GR_SEGMENT_LINEAR = 1,    /* Rows are contiguous and have all columns. */
    GR_SEGMENT_MEAN = 2,      /* Results are divided by the number of elements. */
    GR_SEGMENT_BOOL = 4,      /* Elements count as 1 if they are not 0. */
    GR_SEGMENT_ANY = 8,       /* Results are whether the sum is not 0. */
    GR_SEGMENT_ALL = 16,      /* Results are whether the sum is the number of elements. */
    GR_SEGMENT_SKIP_NAN = 32, /* NaNs do not count; with GR_SEGMENT_BOOL, other elements do. */
    GR_SEGMENT_BY_WARP = 64, /* segment_short: each warp has a segment; else a block, or several, have one. */
};

/* Segmented reduction by merge path (Merrill and Garland). Lines have `length` rows of `inner` columns.
   Segment s of every line is the rows from offsets[s] to before offsets[s + 1]; offsets ascend. With a
   permutation, row i is the row that the permutation names at i. The merged sequence of rows and segment
   ends is split into pieces, of `each` items for each thread of a column, and pieces into tiles, which are a
   look-back chain per line and stripe. Results are in C order: lines, segments, columns. */
typedef struct gr_segment_params {
    uint64_t in;
    uint64_t out;
    uint64_t offsets; /* address of segments + 1 int64 offsets, then of the permutation */
    uint64_t starts;  /* address of the first segment of each piece, then `segments`; 0 for one piece */
    uint64_t
        nodes; /* address of a ticket and of one node per column and tile, all zero; 0 if there is one tile */
    uint64_t permutation; /* index in `offsets` at which the permutation begins, or 0 */
    uint64_t lost;        /* of exact sums: see gr_lost_sums_params */
    uint64_t counts; /* address of int64, the elements of each result that are not NaN, or 0: all count */
    uint64_t rows;   /* rows that offsets count: of a line or of the permutation */
    uint64_t lines, length, inner, segments;
    int64_t line_stride, along_stride, inner_stride;                  /* in elements */
    uint64_t chains, chain_tiles, chain_nodes, chain_pieces, stripes; /* as in gr_scan_params */
    uint64_t node_words; /* 8-byte words of all nodes and the ticket */
    uint32_t from, to;   /* rows of dtypes.def */
    uint32_t flags;
    uint32_t pieces;                                   /* per tile */
    uint32_t width, each, columns_shift, groups_shift; /* as in gr_scan_params */
    uint32_t result_bytes;
    uint8_t empty_result[16]; /* the result of an empty segment */
} gr_segment_params;

/* The type that contiguous elements are loaded as: floating numbers, or bits of the given width. */
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

/* Segmented reduction of contiguous rows of one column without a permutation, streamed by warps. The rows
   and ends of a line, each end weighted as `weight` rows, are split into `line_ranges` ranges, one per warp.
   Bits stand for the integer ((bits & mask) ^ flip) - bias, or for whether that is not 0. */
typedef struct gr_stream_params {
    uint64_t in;
    uint64_t out;
    uint64_t offsets;
    uint64_t slots; /* address of one slot per block, zero before and after; 0 if a line has one range */
    uint64_t lost;  /* of exact sums: see gr_lost_sums_params */
    uint64_t rows, segments;
    int64_t line_stride;                   /* in elements */
    uint64_t ranges, line_ranges;          /* of all lines; per line */
    double inverse_ranges, ends_per_range; /* 1 / line_ranges; mean ends per range */
    uint64_t mask, flip, bias;
    uint32_t kind, item; /* item: bytes per element */
    uint32_t to, flags;  /* to: a row of dtypes.def */
    uint32_t weight;
    uint32_t result_bytes;
    uint32_t blocks,
        first; /* in all; number of the launch's first block, see first_block_offset in gr_launch */
    uint8_t empty_result[16];
} gr_stream_params;

enum {
    GR_LOST_SUMS_THREADS = 256,     /* per block */
    GR_SHORT_SUMS_THREADS = 512,    /* per block of segment_short, at most */
    GR_SHORT_SUMS_MAX_ROWS = 32768, /* of a segment that a block of it adds up, if segment_lost follows */
    GR_SHORT_SUMS_MAX_SPLITS = 32,  /* blocks that share a segment */
    GR_SHORT_SUMS_SLOT_BYTES = 24,  /* the sum of a block */
};

/* Sums that the segment kernels lost: their exponents lie so far apart that registers do not hold them
   exactly. A complex element is two columns. */
typedef struct gr_lost_sums_params {
    uint64_t in;
    uint64_t out; /* address of the results; those of lost sums are marked */
    uint64_t offsets;
    uint64_t lost;   /* address of two 32-bit words, zero before and after a call: whether there are lost
                        sums, and a ticket of the blocks */
    uint64_t states; /* where several blocks share a result, address of a state per result, zero before and
                        after a call */
    uint64_t permutation; /* index in `offsets` at which the permutation begins, or 0 */
    uint64_t rows, results, segments, columns;
    int64_t line_stride, along_stride, inner_stride; /* in components of elements */
    uint64_t counts;                                 /* as in gr_segment_params */
    uint32_t components;                             /* per element: 2 if complex */
    uint32_t flags;
    uint64_t slots;   /* segment_short: where several blocks share a segment, address of the sum of each
                         block of each result; else 0 */
    uint64_t tickets; /* then the address of uint32 [result], zero before and after a call */
    uint8_t empty_result[16]; /* segment_short: the result of an empty segment */
} gr_lost_sums_params;

#endif
