/* The launch plan: which kernels run, over how much, with how many blocks. A pure function of its
   arguments, the same for both backends, so that the simulator runs what the GPU runs. */
#ifndef GR_REDUCE_LADDER_PLAN_H
#define GR_REDUCE_LADDER_PLAN_H

#include "reduce/ladder/registry.h"

/* What an OCCUPANCY grid is made from. Given as numbers, never read off the device that runs it: the order
   of a floating sum, and so its last bits, depend on them. */
typedef struct gr_limits {
    uint32_t multiprocessors;
    uint32_t threads_per_multiprocessor;
    uint32_t waves;
} gr_limits;

/* The reference device, an H200: 132 multiprocessors with 2048 resident threads each, filled once. */
extern const gr_limits gr_reference_limits;

/* The most blocks of a FIXED grid. */
enum { GR_FIXED_GRID = 1024 };

/* A grid of 2^31 - 1 blocks of 64 divides n by 64 or more each pass, so that six passes reach one block. */
enum { GR_MAX_PASSES = 8, GR_MAX_GRID = 2147483647 };

static inline uint64_t gr_ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* Where a pass reads: the input, or what the pass before it wrote. It writes partials[pass % 2]. */
typedef struct gr_pass {
    char kernel[GR_KERNEL_NAME_BYTES];
    uint64_t n; /* elements it reads */
    uint32_t grid;
    uint32_t block;
    uint32_t cluster; /* blocks of one; it divides the grid */
    uint32_t shared_bytes;
} gr_pass;

typedef struct gr_plan {
    size_t count; /* at least 1, also for n = 0: a kernel writes the identity */
    gr_pass passes[GR_MAX_PASSES];
    size_t partials_bytes[2];  /* room for what the passes write, alternating; 0: not needed */
    bool single_pass;          /* the last block finishes: the block results go to partials[1] */
    bool starts_from_identity; /* partials[0] must hold the identity before the first pass */
} gr_plan;

typedef struct gr_request {
    const gr_variant *variant;
    gr_op op;
    gr_dtype dtype;
    uint64_t n;
    int64_t block; /* 0: the default */
    int64_t grid;  /* 0: chosen here */
} gr_request;

gr_status gr_plan_make(const gr_request *request, const gr_limits *limits, gr_plan *plan, gr_error *error);

#endif
