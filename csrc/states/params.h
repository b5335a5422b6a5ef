/* What the kernels of states are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_STATES_PARAMS_H
#define GR_STATES_PARAMS_H

#include <stdint.h>

enum {
    GR_STATE_THREADS = 256, /* of a block; no state of a sum has more words */
    GR_STATE_NDIM = 64,
};

/* How the values of two states become one. Those up to GR_STATE_COUNTED go by how many elements there are. */
enum {
    GR_STATE_NO_VALUE,
    GR_STATE_MIN,
    GR_STATE_MAX,
    GR_STATE_ARGMIN,
    GR_STATE_ARGMAX,
    GR_STATE_COUNTED = GR_STATE_ARGMAX,
    GR_STATE_ADD,
    GR_STATE_PROD,
    GR_STATE_AND,
    GR_STATE_OR,
    GR_STATE_XOR,
    GR_STATE_WAYS,
};

/* The fields that states have. */
enum {
    GR_STATE_HAS_VALUE = 1,
    GR_STATE_HAS_COUNT = 2,
    GR_STATE_HAS_INDEX = 4,
    GR_STATE_HAS_SUM = 8,
    GR_STATE_HAS_SQUARES = 16,
};

/* States of `results` reductions in one memory: each field of all of them, one after the other, so many bytes
   from its start. Digits of sums have some bits more than 32 there, and a sign: see exact/params.h. */
typedef struct gr_state_params {
    uint64_t mine, theirs;
    uint64_t results;
    uint64_t value, count, index, sum, squares;
    uint32_t sum_each, sum_words, square_words; /* words of a result's sums, and of one of them */
    uint32_t has, way, dtype, item_bytes;       /* the last three of values */
} gr_state_params;

/* What is left of kernels becomes states. */
enum {
    GR_STATE_WHOLE = 1, /* sums are of integers: of 64 bits, or of both halves of such */
    GR_STATE_LOW_SIGNED = 2,
    GR_STATE_HIGH_SIGNED = 4,
    GR_STATE_MORE = 8,  /* there are squares of another part */
    GR_STATE_SAME = 16, /* all have `elements` of them; else their counts are there */
};

typedef struct gr_state_begin_params {
    gr_state_params states; /* without theirs */
    uint64_t low, high;     /* sums of integers; `high`, which may be 0, counts in 2^32 */
    uint64_t more;          /* squares, as the kernels leave them */
    uint64_t elements;
    uint32_t flags, ndim;
    /* Positions count in C order of `extent`, and are to count in strides of the whole, from `start`. */
    int64_t start;
    uint64_t extent[GR_STATE_NDIM];
    int64_t stride[GR_STATE_NDIM];
} gr_state_begin_params;

#endif
