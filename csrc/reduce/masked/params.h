/* How a row under a mask is cut into strips, and what its kernels make of it. Read by C and CUDA. */
#ifndef GR_REDUCE_MASKED_PARAMS_H
#define GR_REDUCE_MASKED_PARAMS_H

/* Elements of a lane in a strip, whose loads are in flight at once. */
#define GR_MASKED_ELEMENTS(item_bytes) ((item_bytes) > 8 ? 4 : 8)

/* Strips of a group of lanes, if several groups share a piece: their States are in shared memory. */
#define GR_MASKED_STRIPS_APART(state_bytes) ((state_bytes) > 32 ? 2 : 4)

/* Bits of `flags`: several operators share the kernels of means and products. */
enum {
    GR_MASKED_SUM = 1 << 16,      /* The result of the kernel of means is the sum. */
    GR_MASKED_SKIP_NAN = 1 << 17, /* NaNs are left out, too. */
};

#endif
