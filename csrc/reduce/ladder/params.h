/* What the kernels of the ladder are told: read by C and CUDA alike, so only plain types of fixed size. */
#ifndef GR_REDUCE_LADDER_PARAMS_H
#define GR_REDUCE_LADDER_PARAMS_H

#include <stdint.h>

enum {
    GR_LADDER_STAGES = 6,        /* pieces of a block of v12 that are on their way at once */
    GR_LADDER_STAGE_VECTORS = 2, /* 16-byte vectors of a piece for each thread */
};

/* (const In *in, Acc *out, uint64_t n), and for single-pass kernels (..., Acc *block_sums, unsigned *ticket).
 */
typedef struct gr_ladder_params {
    uint64_t in, out, n;
    uint64_t block_sums; /* room for the result of each block */
    uint64_t ticket;     /* a counter that is 0 before and after a launch */
} gr_ladder_params;

#endif
