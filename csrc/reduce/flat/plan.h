/* The launch of a flat kernel: a pure function of count and dtype, like launch_plan. */
#ifndef GR_REDUCE_FLAT_PLAN_H
#define GR_REDUCE_FLAT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "device/backend.h"
#include "reduce/flat/params.h"

typedef struct gr_flat_launch {
    const char *kernel; /* "flat" or "ring" */
    uint32_t grid, block, shared_bytes;
    gr_flat_params params; /* addresses, GR_FLAT_FINAL and initial are the caller's to fill in */
} gr_flat_launch;

/* A row of flat_shapes.def. Any of them is right for any count. */
typedef struct gr_flat_shape {
    uint64_t up_to_bytes; /* of input, for which gr_flat_plan_make takes it */
    const char *kernel;
    bool is_ring;
    uint32_t threads, most_blocks, flags;
} gr_flat_shape;

extern const gr_flat_shape gr_flat_shapes[];
extern const size_t gr_flat_shape_count;

/* Whether a device can run the shape. */
bool gr_flat_shape_fits(const gr_flat_shape *shape, bool pair, const gr_abilities *can);
void gr_flat_plan_shape(const gr_flat_shape *shape, uint64_t count, size_t item_bytes, gr_flat_launch *out);

/* The shape that is best for so many bytes, of those that the device can run. `pair`: of two vectors. */
void gr_flat_plan_make(uint64_t count, size_t item_bytes, bool pair, const gr_abilities *can,
                       gr_flat_launch *out);

#endif
