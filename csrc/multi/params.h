/* Parameters of the kernels that reduce or scale a list of arrays in one launch. Read by C and CUDA, so all
   types are plain and of fixed size. */
#ifndef GR_MULTI_PARAMS_H
#define GR_MULTI_PARAMS_H

#include "exact/params.h"

enum {
    GR_MULTI_TILE_BYTES = 16384, /* unit in which arrays are distributed over blocks */
    GR_MULTI_THREADS = 256,      /* per block of the kernels without bins */
    GR_MULTI_BLOCKS = 8,         /* of those per SM */
    GR_MULTI_FINISH_THREADS = 128,
    GR_MULTI_SUM_BLOCKS = 3, /* per SM, of GR_EXACT_THREADS, of the kernels of sums */
    /* Threads and blocks per SM of the kernels of squares. On an H200, 10^9 elements of float32 take 910 us
       with 3 x 192, 958 with 5 x 128, 1,008 with 3 x 224. */
    GR_MULTI_SQUARE_THREADS = 192,
    GR_MULTI_SQUARE_BLOCKS = 3,
    GR_MULTI_HALF_SQUARE_THREADS = 128, /* float16 and bfloat16 */
    GR_MULTI_HALF_SQUARE_BLOCKS = 5,
    GR_MULTI_WORD_BYTES = 8,    /* of which a fingerprint takes one hash */
    GR_MULTI_SPECIAL_WORDS = 2, /* words of a state behind its digits: see gr_multi_params */
};

enum {
    GR_MULTI_EACH = 1,     /* A result per array instead of one result of all arrays. */
    GR_MULTI_ABSOLUTE = 2, /* Sums are of absolute values. */
};

/* A row of the table of arrays. Arrays without elements have no row. */
typedef struct gr_multi_array {
    uint64_t address;    /* of the first element */
    uint64_t count;      /* elements */
    uint64_t first_tile; /* of the tiles of a launch */
    uint64_t result;     /* number of the array's result */
    uint64_t position;   /* of the first word of a fingerprint among those of all arrays */
} gr_multi_array;

/* The state of an exact sum has digits like a superaccumulator, and two words instead of its count and flags:
   how many blocks read positive infinity (and, times 2^32, negative infinity), and how many NaN. States are
   added word by word, as integers. */
typedef struct gr_multi_params {
    uint64_t table;
    uint64_t out; /* states, maxima or fingerprints, to which blocks add; the norm, of arrays to be scaled */
    uint64_t first, arrays, tiles; /* rows of the table from `first` on, and the tiles of their arrays */
    uint64_t offset;               /* position of the first word of a fingerprint */
    double max_norm, eps;          /* arrays are scaled by min(max_norm / (norm + eps), 1) */
    uint32_t flags;
    uint32_t norm_bytes; /* 4 or 8: the norm is float32 or float64 */
    uint32_t item_bytes; /* of an element */
} gr_multi_params;

/* How a state becomes a result. */
enum {
    GR_MULTI_ROUND,  /* the sum, rounded */
    GR_MULTI_ROOT,   /* the square root of the sum, rounded */
    GR_MULTI_STATE,  /* the state, with carries propagated */
    GR_MULTI_FINITE, /* whether a maximum is finite, one byte */
};

typedef struct gr_multi_finish_params {
    uint64_t states; /* `count` states per result, or one maximum */
    uint64_t out;
    uint64_t results, count;
    uint32_t mode;
    uint32_t precision, exponent_bits, item_bytes; /* of the results */
} gr_multi_finish_params;

#endif
