/* What the general kernels are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_REDUCE_GENERAL_PARAMS_H
#define GR_REDUCE_GENERAL_PARAMS_H

#include <stdint.h>

enum {
    GR_GENERAL_THREADS = 256, /* of a block */
    GR_TOGETHER = 4,          /* results that a thread of `whole` takes at once */
    GR_MAX_DIMS = 5,          /* of each kind, after neighbours that lie evenly are merged */
    GR_STATE_BYTES = 32,      /* room for a State of any operator */
    GR_INITIAL_BYTES = 16,    /* room for an element of any dtype */
    GR_MAX_SEGMENT = 1 << 30, /* elements, so that a thread counts them in 32 bits */
    GR_VECTOR_BYTES = 16,     /* the most that a thread loads at once */
    GR_MAX_COLUMNS = 8,    /* results that a thread of `columns` takes at once: their States are registers */
    GR_MAP_VECTORS = 4,    /* that a thread of `map` loads at once */
    GR_LAST_IN_FLIGHT = 8, /* States that a thread of `last` loads at once */
    GR_TILE_BYTES = 16384, /* of elements in the shared memory of a block of `tiles` */
};

enum {
    GR_FINAL = 1,       /* write results; otherwise States, for a later launch */
    GR_HAS_INITIAL = 2, /* `initial` takes part, once */
    GR_HAS_WHERE = 4,   /* only elements whose byte at `second` is not 0 take part */
    GR_ALONG_FIRST = 8, /* neighbouring threads take neighbouring elements of one result */
    GR_RAGGED = 16,     /* columns: a row is no whole number of vectors */
    GR_FOLD = 32,       /* columns: a block holds all replicas of its columns, and folds them */
    GR_EARLY = 128,     /* the next kernel may come in at once */
    GR_APART = 64,      /* `place` and `repeat` count: results do not just lie one after the other */
};

/* What a division by a number of 2 or more becomes: n / d = n * magic >> 64 + shift, for n below 2^63. */
typedef struct gr_fast_divmod {
    uint64_t magic;
    uint64_t shift;
} gr_fast_divmod;

/* Merged dimensions, those first whose elements lie closest; strides in bytes. Unused ones have extent 1. */
typedef struct gr_dims {
    uint64_t extent[GR_MAX_DIMS];
    int64_t stride[GR_MAX_DIMS];
    int64_t second_stride[GR_MAX_DIMS]; /* of `second` */
    gr_fast_divmod by[GR_MAX_DIMS];     /* the extents */
} gr_dims;

/* How a thread goes along the first two dimensions of `along`: the host divides, kernels add, and what they
   add are constants that take no registers. */
typedef struct gr_walk {
    uint64_t step;           /* elements from one of a thread to its next */
    gr_fast_divmod by;       /* that, where it is 2 or more */
    uint64_t extent, within; /* of the first dimension, and of a step in it; ~0 where there is no second */
    int64_t ahead, second_ahead; /* bytes of a step */
    int64_t wrap, second_wrap;   /* bytes from behind a turn of the first dimension to the next turn */
} gr_walk;

/* From the number of a result to its place among the results, in elements. */
typedef struct gr_output_layout {
    uint64_t extent[GR_MAX_DIMS];
    int64_t stride[GR_MAX_DIMS];
    gr_fast_divmod by[GR_MAX_DIMS];
} gr_output_layout;

/* For `rows`: a result is made from runs of neighbouring elements, along.extent[1] of them, and each run is
   cut into segments. `lanes` threads side by side take a segment at a time. */
typedef struct gr_rows {
    uint64_t run;      /* elements */
    uint64_t segment;  /* elements, up to GR_MAX_SEGMENT; the last one of a run may be shorter */
    uint64_t segments; /* of a run */
    uint64_t pieces;   /* segments of all runs of a result */
    uint32_t lanes;    /* a power of two that divides threads_along */
} gr_rows;

/* For `columns`: a slot is a vector of neighbouring columns, and a thread takes every so-manieth row of a
   slot. Where rows are no whole number of vectors, the elements of a batch are read as vectors one after the
   other, from the first aligned one on, and `period` of them on lie the same columns again: each column then
   has `replicas` places in a period. A slot of `spread` is of as many columns, which lie `across` elements
   apart, or words. */
typedef struct gr_columns {
    uint64_t width;   /* columns of a batch */
    uint64_t slots;   /* of all batches */
    uint64_t period;  /* slots of a batch */
    uint32_t across;  /* slots that threads side by side take */
    uint32_t down;    /* threads that share a slot */
    uint32_t batches; /* groups of across * down threads in a block */
    uint32_t replicas;
    gr_fast_divmod by_period;    /* where that is 2 or more */
    uint32_t by_across, by_down; /* (n * by) >> 16 is the quotient for numbers of threads */
    uint32_t lead;     /* elements that a batch begins behind its first slot, so that words are aligned */
    int64_t low, high; /* from `in` to the first byte of all elements, and behind the last one */
} gr_columns;

/* For `tiles`: the elements are regions one after the other, each of `width` results that take turns. */
typedef struct gr_tiles {
    uint64_t regions;
    uint32_t region; /* elements */
    uint32_t width;
    uint32_t each;                  /* regions in a tile */
    uint32_t lanes;                 /* threads that share a result, a power of two up to 32 */
    uint32_t turn_shift, turn_mask; /* region >> shift & mask: the element that a thread begins with */
} gr_tiles;

typedef struct gr_general_params {
    uint64_t in;
    uint64_t second; /* the other vector of a dot product, or the `where` mask; else 0 */
    uint64_t out;
    uint64_t results; /* how many results there are */
    uint64_t count;   /* elements, or States, reduced into each */
    uint64_t divisor; /* what a mean divides by */
    uint64_t parts;   /* States that each result is made from */
    gr_dims keep;     /* where the elements of a result begin; of `last`, its State in a row, in States */
    gr_dims along;    /* from there to each of them */
    uint32_t flags;
    uint32_t threads_along;            /* threads of a block that share a result, a power of two */
    uint8_t initial[GR_INITIAL_BYTES]; /* an element of the result's dtype */
    union {
        gr_rows rows;
        gr_columns columns;
        gr_tiles tiles;
    };
    gr_walk walk;    /* of walk.step threads of a result side by side along the first two dimensions, ... */
    uint64_t groups; /* ... and groups of them, between which the other dimensions are shared */
    uint64_t states; /* last: in a row; several results may be made from one */
    uint64_t repeat; /* how often each element counts: axes that repeat what is there are not gone along */
    uint64_t repeat_bit;    /* the largest power of two up to that */
    gr_output_layout place; /* where a result goes */
} gr_general_params;

#endif
