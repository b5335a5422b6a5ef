/* Parameters of the kernels that build and merge device-resident partial results. Read by C and CUDA, so all
   types are plain and of fixed size. */
#ifndef GR_STATES_PARAMS_H
#define GR_STATES_PARAMS_H

#include <stdint.h>

enum {
    GR_STATE_THREADS = 256, /* per block; no state of a sum has more words */
    GR_STATE_NDIM = 64,
};

/* How the values of two states are merged. Operations up to GR_STATE_COUNTED skip states without elements.
 */
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
    GR_STATE_MERGE_OPS,
};

/* Fields of a state. */
enum {
    GR_STATE_HAS_VALUE = 1,
    GR_STATE_HAS_COUNT = 2,
    GR_STATE_HAS_INDEX = 4,
    GR_STATE_HAS_SUM = 8,
    GR_STATE_HAS_SQUARES = 16,
};

/* States of `results` reductions in one allocation. Each field is an array over all results at the given
   byte offset. Digits of sums may have more than 32 bits and a sign: see exact/superaccumulator.h. */
typedef struct gr_state_params {
    uint64_t target, source;
    uint64_t results;
    uint64_t value, count, index, sum, squares;
    uint32_t sum_result_words, sum_words,
        square_words; /* words per result in `sum`, words per state in `sum`, words per state in `squares` */
    uint32_t has, merge_op, dtype, item_bytes; /* has: bits GR_STATE_HAS_*; the others describe `value` */
} gr_state_params;

/* Flags for building states from what reduction kernels wrote. */
enum {
    GR_STATE_INTEGER_SUMS = 1, /* Sums are integers of 64 bits, or of a low and a high half. */
    GR_STATE_LOW_SIGNED = 2,
    GR_STATE_HIGH_SIGNED = 4,
    GR_STATE_SECOND_SQUARES = 8, /* `more` has squares of another component. */
    GR_STATE_EQUAL_COUNTS = 16,  /* All results have `elements` elements; otherwise `count` has them. */
};

typedef struct gr_state_begin_params {
    gr_state_params states;  /* `source` is unused */
    uint64_t low, high;      /* addresses of sums of integers; `high`, in units of 2^32, may be 0 */
    uint64_t second_squares; /* address of squares, as kernels write them */
    uint64_t elements;
    uint32_t flags, ndim;
    /* Positions count in C order of `extent` and are converted to strides of the whole array, from `start`.
     */
    int64_t start;
    uint64_t extent[GR_STATE_NDIM];
    int64_t stride[GR_STATE_NDIM];
} gr_state_begin_params;

#endif
