/* The launch of a flat kernel: a pure function of count and dtype, like launch_plan. */
#ifndef GR_FLAT_PLAN_H
#define GR_FLAT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "flat_params.h"

typedef struct gr_flat_launch {
    const char *kernel; /* "flat" or "ring" */
    uint32_t grid, block, shared_bytes;
    gr_flat_params params; /* addresses, GR_FLAT_FINAL and initial are the caller's to fill in */
} gr_flat_launch;

/* `pair`: of two vectors. `hopper`: the device has compute capability 9.0 or more. */
void gr_flat_plan_make(uint64_t count, size_t item_bytes, bool pair, bool hopper, gr_flat_launch *out);

#endif
