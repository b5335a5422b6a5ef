/* Parameters of the kernels of the reduction ladder. Read by C and CUDA, so all types are plain and of fixed
   size. */
#ifndef GR_REDUCE_LADDER_PARAMS_H
#define GR_REDUCE_LADDER_PARAMS_H

#include <stdint.h>

enum {
    GR_LADDER_STAGES = 6,        /* pipeline stages of v12: bulk copies of a block in flight */
    GR_LADDER_STAGE_VECTORS = 2, /* 16-byte vectors per thread in a stage */
};

/* Kernels take (const In *in, Acc *out, uint64_t n); single-pass kernels take (..., Acc *block_sums,
   unsigned *ticket). */
typedef struct gr_ladder_params {
    uint64_t in, out, n;
    uint64_t block_sums; /* address of one result per block */
    uint64_t ticket;     /* address of a counter of finished blocks, 0 before and after a launch */
} gr_ladder_params;

#endif
