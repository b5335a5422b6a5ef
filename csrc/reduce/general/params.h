/* Parameters of the general reduction kernels, which reduce any axes of an array of any strides. Read by C
   and CUDA, so all types are plain and of fixed size. */
#ifndef GR_REDUCE_GENERAL_PARAMS_H
#define GR_REDUCE_GENERAL_PARAMS_H

#include <stdint.h>

enum {
    GR_GENERAL_THREADS = 256,  /* per block */
    GR_RESULTS_PER_THREAD = 4, /* results that a thread of `whole` reduces at once */
    GR_MAX_DIMS = 5,           /* kept or reduced dimensions after contiguous neighbours are merged */
    GR_STATE_BYTES = 32,       /* capacity for a State */
    GR_LARGE_STATE_BYTES = 48, /* capacity in kernels that include grid/large_states.cuh */
    GR_INITIAL_BYTES = 16,     /* capacity for an element of any dtype */
    GR_MAX_SEGMENT = 1 << 30,  /* elements: a thread counts them in 32 bits */
    GR_VECTOR_BYTES = 16,      /* bytes of the widest load of a thread */
    GR_MAX_COLUMNS = 8,        /* results per thread of `columns`, whose States are in registers */
    GR_MAP_VECTORS = 4,        /* vectors that a thread of `map` loads at once */
    GR_LAST_IN_FLIGHT = 8,     /* States that a thread of `last` loads at once */
    GR_STRIP_BYTES = 128,      /* bytes of a strip of `pieces`, of one lane */
    GR_STRIPS_APART = 2,       /* strips of a group of lanes, of a piece that several groups share */
    GR_PAIR_STRIPS = 8,        /* strips of a piece of two vectors, */
    GR_PAIR_STRIPS_APART = 4,  /* and of a group of lanes, if several groups share a piece */
    GR_PIECE_BRANCHES = 8,     /* branches of a node of the tree that combines pieces, */
    GR_PIECE_LEVELS = 4,       /* and its largest height */
    GR_TILE_BYTES = 16384,     /* bytes of elements in the shared memory of a block of `tiles` */
};

/* Elements of a lane in a strip of two vectors, whose loads are in flight at once. Large States take long to
   combine: an average has more elements per lane. */
#define GR_PAIR_ELEMENTS(item_bytes, is_average)                                                             \
    ((item_bytes) > 8 || ((item_bytes) > 4 && !(is_average)) ? 4 : 8)

/* Blocks per multiprocessor that the registers of general kernels must allow (__launch_bounds__): loads of
   fewer threads do not saturate memory. `width`: results of a thread of `columns`. */
#define GR_ROWS_OCCUPANCY(state_bytes, item_bytes)                                                           \
    (4 - ((state_bytes) > 8) - ((item_bytes) == 1 || (state_bytes) > 16))
#define GR_COLUMNS_OCCUPANCY(state_bytes, width)                                                             \
    ((state_bytes) * (width) > 64 ? 2 : (state_bytes) > 8 || (state_bytes) * (width) > 32 ? 3 : 4)
#define GR_AXIS_OCCUPANCY(state_bytes) ((state_bytes) > 16 ? 2 : (state_bytes) > 8 ? 3 : 4)

enum {
    GR_FINAL = 1,                  /* Write results; otherwise write States for a later launch. */
    GR_HAS_INITIAL = 2,            /* Combine `initial` once with each result. */
    GR_HAS_WHERE = 4,              /* Reduce only elements whose byte at `second` is not 0. */
    GR_COALESCE_ALONG_REDUCED = 8, /* Neighbouring threads read neighbouring elements of one result. */
    GR_UNALIGNED_ROWS = 16,   /* `columns`: a row is not a whole number of 16-byte vectors. `pieces`: rows
                                 do not begin at multiples of 16 bytes. */
    GR_FOLD = 32,             /* `columns`: a block holds all replicas of its columns and combines them. */
    GR_TRIGGER_EARLY = 128,   /* Trigger the dependent launch when the kernel starts. */
    GR_OF_PIECES = 1 << 10,   /* `last`: the States are those of pieces, or of nodes of their tree. */
    GR_OF_LANES = 1 << 11,    /* `last`: with GR_OF_PIECES, the tree is binary. */
    GR_IN_LANES = 1 << 12,    /* `axis`: elements of a lane are lanes.step bytes apart. */
    GR_SCATTERED_OUTPUT = 64, /* output_layout or multiplicity is not trivial. */
};

/* Division by an invariant d >= 2 (Granlund and Montgomery; CUTLASS FastDivmod): n / d = n * magic >> 64 +
   shift for n < 2^63. */
typedef struct gr_fast_divmod {
    uint64_t magic;
    uint64_t shift;
} gr_fast_divmod;

/* Merged dimensions, that with the smallest stride first; strides in bytes. Unused dimensions have extent 1.
 */
typedef struct gr_dims {
    uint64_t extent[GR_MAX_DIMS];
    int64_t stride[GR_MAX_DIMS];
    int64_t second_stride[GR_MAX_DIMS]; /* strides of `second` */
    gr_fast_divmod by[GR_MAX_DIMS];     /* fast divisors of the extents */
} gr_dims;

/* Increments of a strided iterator over the first two dimensions of `along`. The host divides; kernels only
   add, and the increments are constants that occupy no registers. */
typedef struct gr_strided_iterator {
    uint64_t step;                       /* elements from one access of a thread to its next */
    gr_fast_divmod by;                   /* fast divisor of `step`, if step >= 2 */
    uint64_t extent, step_remainder;     /* first extent, or ~0 without a second one; step % extent */
    int64_t increment, second_increment; /* bytes per step */
    int64_t wrap_increment, second_wrap_increment; /* bytes added when the first index wraps */
} gr_strided_iterator;

/* Maps the number of a result to its offset in the output, in elements. */
typedef struct gr_output_layout {
    uint64_t extent[GR_MAX_DIMS];
    int64_t stride[GR_MAX_DIMS];
    gr_fast_divmod by[GR_MAX_DIMS];
} gr_output_layout;

/* Work of `rows`: each result has along.extent[1] runs of contiguous elements, and each run is split into
   segments. `lanes` neighbouring threads read a segment together. */
typedef struct gr_rows {
    uint64_t run;      /* elements per run */
    uint64_t segment;  /* elements per segment, up to GR_MAX_SEGMENT; the last one of a run may be shorter */
    uint64_t segments; /* segments per run */
    uint64_t pieces;   /* segments per result */
    uint32_t lanes;    /* threads per segment, a power of two that divides threads_along */
} gr_rows;

/* Work of `pieces`: a row of `run` elements is cut into pieces, which 2^lane_bits lanes read, and a piece
   into strips. 2^share_bits groups of lanes take `each` neighbouring strips of a piece. */
typedef struct gr_pieces {
    uint64_t run;
    uint64_t length; /* elements per piece, whole strips of all lanes; the last piece may be shorter */
    uint32_t pieces;
    uint32_t lane_bits;
    uint32_t share_bits;
    uint32_t each; /* up to GR_STRIPS_APART, or all strips of a piece where share_bits is 0 */
} gr_pieces;

/* Work of `columns`: a slot is a 16-byte vector of neighbouring columns, and a thread reduces every down-th
   row of a slot. If rows are not a whole number of vectors (GR_UNALIGNED_ROWS), the elements of a batch are
   read as a sequence of aligned vectors, whose assignment of columns repeats after `period` vectors: each
   column has `replicas` positions in a period. A slot of `spread` has as many columns, `across` elements or
   4-byte words apart. */
typedef struct gr_columns {
    uint64_t width;   /* columns per batch */
    uint64_t slots;   /* slots of all batches */
    uint64_t period;  /* slots per batch */
    uint32_t across;  /* slots that neighbouring threads read */
    uint32_t down;    /* threads per slot */
    uint32_t batches; /* groups of across * down threads per block */
    uint32_t replicas;
    gr_fast_divmod by_period;    /* fast divisor of `period`, if period >= 2 */
    uint32_t by_across, by_down; /* thread numbers are divided by (n * by) >> 16 */
    uint32_t lead;               /* elements before the batch in its first slot, which align 4-byte words */
    int64_t low, high; /* bytes from `in` to the first byte of all elements, and to the end of the last one */
} gr_columns;

/* Work of `lanes`. A group of `threads` threads reduces 2^(lane_bits + turn_bits) neighbouring lanes of
   `columns` neighbouring columns: 2^turn_bits sets of 2^lane_bits lanes, one set after the other, if in_sets,
   and otherwise 2^turn_bits neighbouring lanes per thread. `axis` reads `each`, `rest` and `step` alone. */
typedef struct gr_lanes {
    uint64_t width;    /* columns per batch */
    uint64_t slots;    /* groups of columns of all batches */
    uint64_t period;   /* groups of columns per batch */
    uint64_t each;     /* elements per lane, at least, */
    uint64_t rest;     /* and lanes that have one more */
    uint64_t step;     /* bytes from an element of a lane to the next one; of `lanes` whole vectors */
    int64_t low, high; /* bytes from `in` to the lowest address of all elements, and behind the highest */
    gr_fast_divmod by_period;     /* fast divisor of `period`, if period >= 2 */
    uint32_t columns, by_columns; /* n / columns is (n * by) >> 32, if columns >= 2 */
    uint32_t threads, by_threads; /* thread numbers are divided by (n * by) >> 16 */
    uint32_t vectors, by_vectors; /* threads per row, or per sequence, each of which loads one vector of it */
    uint32_t groups;              /* per block */
    uint32_t lane_bits, turn_bits;
    uint32_t in_sets;     /* whether a group takes sets of lanes: its rows may begin between two vectors */
    uint32_t is_sequence; /* whether the rows of a set are contiguous and count as one row */
} gr_lanes;

/* Work of `tiles`: the elements are contiguous regions, each of `width` results whose elements alternate.
 * Their order depends on `lanes` alone, or threads start with different elements of their regions: see
 * vector_tiles.cuh. */
typedef struct gr_tiles {
    uint64_t regions;
    uint32_t region; /* elements per region */
    uint32_t width;
    uint32_t each;                      /* regions per tile */
    uint32_t lanes;                     /* threads per result, a power of two up to 32 */
    uint32_t rotate_shift, rotate_mask; /* first element of a thread: region >> shift & mask */
    uint32_t gap, by_region; /* bytes behind a region in shared memory; (n * by_region) >> 32 is n / region */
} gr_tiles;

typedef struct gr_general_params {
    uint64_t in;
    uint64_t second; /* address of the second vector of a dot product or of the `where` mask; else 0 */
    uint64_t out;
    uint64_t results;
    uint64_t count;   /* elements, or States, per result */
    uint64_t divisor; /* divisor of a mean */
    uint64_t parts;   /* States that each result is made from */
    gr_dims keep;     /* offset of the first element of each result; `last`: of its State */
    gr_dims along;    /* offsets of the elements of a result from its first one */
    uint32_t flags;
    uint32_t threads_along;            /* threads of a block per result, a power of two */
    uint8_t initial[GR_INITIAL_BYTES]; /* an element of the result's dtype */
    union {
        gr_rows rows;
        gr_pieces pieces;
        gr_columns columns;
        gr_lanes lanes;
        gr_tiles tiles;
    };
    gr_strided_iterator
        iterator;          /* iterator of iterator.step neighbouring threads over the first two dimensions */
    uint64_t groups;       /* groups of iterator.step threads, which share the remaining dimensions */
    uint64_t states;       /* `last`: States per row; several results may be made from one State */
    uint64_t multiplicity; /* broadcast multiplicity: how often each element counts */
    uint64_t multiplicity_bit;      /* the largest power of two <= multiplicity */
    gr_output_layout output_layout; /* maps the number of a result to its offset in the output */
} gr_general_params;

#endif
