/* What the general kernels are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_GENERAL_PARAMS_H
#define GR_GENERAL_PARAMS_H

#include <stdint.h>

enum {
    GR_GENERAL_THREADS = 256, /* of a block */
    GR_TOGETHER = 4,          /* results that a thread takes at once under GR_WHOLE */
    GR_MAX_DIMS = 4,          /* of each kind, after neighbours that lie evenly are merged */
    GR_STATE_BYTES = 32,      /* room for a State of any operator */
    GR_INITIAL_BYTES = 16,    /* room for an element of any dtype */
};

enum {
    GR_FINAL = 1,       /* write results; otherwise States, for a later launch */
    GR_HAS_INITIAL = 2, /* `initial` takes part, once */
    GR_HAS_WHERE = 4,   /* only elements whose byte at `second` is not 0 take part */
    GR_ALONG_FIRST = 8, /* neighbouring threads take neighbouring elements of one result */
    GR_WHOLE = 16,      /* a thread takes GR_TOGETHER whole results, of few elements each */
};

/* Merged dimensions, the fastest first; strides in bytes. Unused ones have extent 1. */
typedef struct gr_dims {
    uint64_t extent[GR_MAX_DIMS];
    int64_t stride[GR_MAX_DIMS];
    int64_t second_stride[GR_MAX_DIMS]; /* of `second` */
} gr_dims;

typedef struct gr_general_params {
    uint64_t in;
    uint64_t second; /* the other vector of a dot product, or the `where` mask; else 0 */
    uint64_t out;
    uint64_t results; /* how many results there are */
    uint64_t count;   /* elements, or States, reduced into each */
    uint64_t divisor; /* what a mean divides by */
    uint64_t parts;   /* States that each result is made from: the grid's y extent */
    gr_dims keep;     /* where the elements of a result begin */
    gr_dims along;    /* from there to each of them */
    uint32_t flags;
    uint32_t threads_along;            /* threads of a block that share a result, a power of two */
    uint8_t initial[GR_INITIAL_BYTES]; /* an element of the result's dtype */
} gr_general_params;

#endif
