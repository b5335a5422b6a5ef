/* Parameters of the kernels of exact sums. Read by C and CUDA, so all types are plain and of fixed size. */
#ifndef GR_EXACT_PARAMS_H
#define GR_EXACT_PARAMS_H

#include "exact/superaccumulator.h"
#include "reduce/general/params.h"

enum {
    GR_EXACT_THREADS = 256,             /* max. per block of the narrow kernels */
    GR_EXACT_NARROW_BINS = 16,          /* per thread */
    GR_EXACT_HALF_THREADS = 512,        /* max. per block for bfloat16 */
    GR_EXACT_HALF_BYTES = 192,          /* bytes of a thread's bins for bfloat16 */
    GR_EXACT_NARROW_FOLD = 8192,        /* additions to a bin before it must be folded into digits */
    GR_EXACT_WIDE_THREADS = 224,        /* per block of the wide kernels, whose bins have 1 KB per thread */
    GR_EXACT_WIDE_BINS = 64,            /* per thread */
    GR_EXACT_WIDE_FOLD = 1024,          /* additions to a bin before it must be folded into digits */
    GR_EXACT_WINDOW_THREADS = 512,      /* max. per block of the window kernels, for few elements */
    GR_EXACT_WINDOW_MAX_ELEMENTS = 128, /* elements per thread, and two more at the ends of an array */
    GR_EXACT_WINDOW_LOADS = 4,          /* 16-byte loads of a thread in flight */
    GR_EXACT_WINDOW_HALF_LOADS = 2,     /* loads in flight for bfloat16 */
    GR_EXACT_WINDOW_DOT_LOADS = 2,      /* loads in flight per vector of a dot product */
    GR_EXACT_WINDOW_HALF_DOT_LOADS = 1, /* loads in flight per vector of a dot product of bfloat16 */
    GR_EXACT_SLOT_BYTES = 32,           /* bytes in which a block of the window kernels publishes its sum */
    GR_EXACT_PRODUCT_FIRST = 22,        /* first of the wide bins that products of float32 use */
    GR_EXACT_PRODUCT_BINS = 19,
    GR_EXACT_PRODUCT_BLOCKS_PER_SM = 3, /* blocks that an SM holds at once (occupancy) */
    GR_EXACT_SCAN_THREADS = 128,        /* per block of the kernels of cumulative sums */
    GR_EXACT_PREFIX_THREADS = 1024,     /* max. per block that adds the states of a column's pieces */
};

enum {
    GR_EXACT_PACKED = 1, /* The elements of a result are contiguous, and all of them count. */
    GR_EXACT_MASKED = 2, /* Only elements whose byte at `second` is not 0 count. */
    GR_EXACT_MEAN = 4,   /* The sum is divided by the number of elements that count. */
    GR_EXACT_STATES = 8, /* Results are states, whose carries need not be propagated; nothing is rounded. */
};

typedef struct gr_exact_params {
    uint64_t in;
    uint64_t second; /* address of the second vector of a dot product or of a mask; else 0 */
    uint64_t out;
    uint64_t states;  /* address of one state per result, all 0 before and after, if several blocks share a
                         result; in the window kernels followed by a slot for each of its blocks but one */
    uint64_t results; /* components (real, imaginary) of results count separately */
    uint64_t count;   /* elements per result; products, for a component of a complex dot product */
    gr_dims keep;     /* offset of the first element of each result */
    gr_dims along;    /* offsets of the elements of a result from its first one */
    uint32_t flags;
    uint32_t fold;                     /* additions to a bin between folds into digits; tests set fewer */
    uint32_t components;               /* 2 for complex elements, whose components are summed separately */
    uint32_t share;                    /* 16-byte vectors per block, in the window kernels */
    uint8_t initial[GR_INITIAL_BYTES]; /* an element, by component; it is added once */
} gr_exact_params;

/* Parameters of the kernels of cumulative sums. Columns are cut into pieces, of which a thread has one. The
   components (real, imaginary) of complex elements are columns of their own. */
typedef struct gr_exact_scan_params {
    uint64_t in;
    uint64_t out;                  /* lines of rows of components, in C order */
    uint64_t states;               /* of each piece of each column; 0 if there is one piece */
    uint64_t lines, length, inner; /* inner: columns of components */
    int64_t line_stride, along_stride, inner_stride; /* in components */
    uint64_t pieces, piece;                          /* pieces per column; elements per piece */
    uint64_t chunks; /* of neighbouring pieces of a column; one block adds the states of a chunk */
    uint64_t totals; /* address of a state per chunk, if columns have several */
    uint32_t words;  /* of a state */
    uint32_t components;
    uint32_t initial; /* 1: each column of results begins with 0 */
} gr_exact_scan_params;

/* Parameters of the rungs of the ladder, which sum contiguous float32. */
typedef struct gr_exact_rung_params {
    uint64_t in;
    uint64_t out;
    uint64_t count;
    uint64_t sums;  /* address of a sum and its error per block */
    uint64_t state; /* address of a state, all 0 before and after; rungs without a state use it as a ticket */
} gr_exact_rung_params;

#endif
