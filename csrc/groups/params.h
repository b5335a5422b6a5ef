/* Parameters of the kernels of exact group sums. Read by C and CUDA, so all types are plain and of fixed
   size. */
#ifndef GR_GROUPS_PARAMS_H
#define GR_GROUPS_PARAMS_H

#include <stdint.h>

#include "exact/superaccumulator.h"

enum {
    GR_GROUP_THREADS = 256,              /* per block, of all kernels but the window kernels */
    GR_GROUP_ROWS_PER_THREAD = 8,        /* rows that a thread has in flight */
    GR_GROUP_MAX_COLUMNS_SHIFT = 5,      /* log2 of max. columns that neighbouring threads of a block take */
    GR_GROUP_WINDOW_THREADS = 1024,      /* per block of the window kernels */
    GR_GROUP_SAMPLES = 1024,             /* elements whose exponents choose the window */
    GR_GROUP_WINDOW_ROWS_PER_THREAD = 4, /* rows that a thread of the window kernels has in flight */
    GR_GROUP_WINDOW_PREFETCHED_ROWS = 3 * 4096, /* that a block of the window kernels prefetches first */
    GR_GROUP_SLAB_SHARERS = 32,                 /* threads that add up the slabs of a group */
    GR_GROUP_FINISH_GROUPS = 4 * GR_GROUP_THREADS / GR_GROUP_SLAB_SHARERS, /* per block that adds slabs */
};

/* Planes (in shared memory: windows): 64-bit integers per result, each for the addends of some exponents. */
enum {
    GR_GROUP_FLOAT_BITS = 16, /* exponents per plane of float32, float16 and bfloat16: addends have 39 bits */
    GR_GROUP_FLOAT_PLANES = 17,
    GR_GROUP_HALF_FIRST = 7, /* first plane of float32 that float16 uses */
    GR_GROUP_HALF_PLANES = 3,
    GR_GROUP_DOUBLE_BITS = 32, /* planes of float64 are the digits of a wide state: addends have 32 bits */
    GR_GROUP_DOUBLE_PLANES = 67,
    GR_GROUP_INTEGER_PLANES = 2,          /* of means: 32 bits each; sums have one plane */
    GR_GROUP_MAX_INTEGER_ROWS_SHIFT = 31, /* log2 of rows of integers whose mean two planes hold */
    GR_GROUP_MAX_ROWS_SHIFT = 24,         /* log2 of rows of float32 that a plane holds */
    GR_GROUP_WINDOW_EXPONENTS = 20,       /* exponents per window: addends have 44 bits */
    GR_GROUP_WINDOW_MAX_ROWS_SHIFT = 19,  /* log2 of rows that a window holds */
    GR_GROUP_MAX_WINDOWS = 2,
};

/* Bits of the flags per result. */
enum {
    /* GR_EXACT_NAN, GR_EXACT_INFINITY, GR_EXACT_MINUS_INFINITY */
    GR_GROUP_MINUS_ZERO = 8, /* an element was -0 */
    GR_GROUP_OPEN_SIGN = 16, /* the sum is 0 and has a -0 among its elements: it is -0 if all are */
    GR_GROUP_FAR = 32,       /* an element has digits for which the partition has no planes */
};

enum {
    GR_GROUP_MEAN = 1,  /* Results are divided by the number of elements of their group. */
    GR_GROUP_SPILL = 2, /* A plane may overflow: an addition that overflows it carries into the next plane. */
    GR_GROUP_REPEATS = 4, /* All rows are one integer in memory. */
};

/* Indices of 32-bit words that all blocks share, zero before and after a call. */
enum {
    GR_GROUP_USED = 0,       /* three words: bit k is set if an element was added to plane k */
    GR_GROUP_OPEN_SIGNS = 3, /* the number of results with GR_GROUP_OPEN_SIGN */
    GR_GROUP_TICKET = 4,     /* counts the blocks of group_signs that are done */
    GR_GROUP_FIRST = 5,      /* first exponent of the windows */
    GR_GROUP_WINDOWS = 6,    /* number of windows in use */
    GR_GROUP_HEADER_WORDS = 7,
    GR_GROUP_HEADER_BYTES = 64,
};

/* Sums of rows by label. Elements have lines of `length` rows of `inner` columns; row i of every line belongs
   to group labels[i]. Results are in C order: lines, groups, columns. A complex element is two columns. */
typedef struct gr_group_params {
    uint64_t in;
    uint64_t labels;
    uint64_t out;
    uint64_t header; /* address of the words above */
    uint64_t planes; /* address of int64 [plane][result], zero before and after a call */
    uint64_t counts; /* address of uint64 [group], of means, zero before and after; else 0 */
    uint64_t flags;  /* address of uint32 [result], zero before and after */
    uint64_t slabs;  /* address of uint32 [block][word][group] that the window kernels write: the words of all
                        windows, then, of means, the number of rows; the groups are padded to a multiple of
                        4; else 0 */
    uint64_t lines, length, inner, groups, results;
    int64_t line_stride, along_stride, inner_stride; /* in components of elements */
    int64_t label_stride;                            /* in bytes */
    uint64_t label_sign;                             /* sign bit of a label, or 0 */
    uint64_t share;           /* rows per block of the window kernels: a multiple of 4 */
    uint64_t empty_result[2]; /* the bytes of the result of an empty group */
    uint32_t label_bytes;
    uint32_t components;    /* per element: 2 if complex */
    uint32_t columns_shift; /* log2 of columns that neighbouring threads take */
    uint32_t blocks;        /* of the window kernels */
    uint32_t slab_words;    /* words per block in `slabs`: a multiple of 4 */
    uint32_t windows;       /* for which the window kernels have shared memory */
    uint32_t options;
    uint32_t from; /* integers: a row of dtypes.def */
} gr_group_params;

#endif
