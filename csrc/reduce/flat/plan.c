#include "reduce/flat/plan.h"

#include "reduce/ladder/plan.h"

enum { LATE = 0, EARLY = GR_FLAT_EARLY };

const gr_flat_shape gr_flat_shapes[] = {
#define GR_SHAPE(up_to, kernel_, threads_, blocks, flags_)                                                   \
    {.up_to_bytes = up_to,                                                                                   \
     .kernel = #kernel_,                                                                                     \
     .is_ring = #kernel_[0] == 'r',                                                                          \
     .threads = threads_,                                                                                    \
     .most_blocks = blocks,                                                                                  \
     .flags = flags_},
#include "reduce/flat/shapes.def"
#undef GR_SHAPE
};
const size_t gr_flat_shape_count = sizeof gr_flat_shapes / sizeof gr_flat_shapes[0];

enum { RING_BYTES = GR_RING_STAGES * GR_RING_STAGE_BYTES };

bool gr_flat_shape_fits(const gr_flat_shape *shape, bool pair, const gr_abilities *can) {
    return !shape->is_ring || (!pair && can->capability >= GR_HOPPER && can->shared_per_block >= RING_BYTES);
}

static const gr_flat_shape *shape_for(uint64_t bytes, bool pair, const gr_abilities *can) {
    const gr_flat_shape *shape = gr_flat_shapes;
    while (shape->up_to_bytes < bytes)
        ++shape;
    return gr_flat_shape_fits(shape, pair, can) ? shape : shape - 1;
}

void gr_flat_plan_shape(const gr_flat_shape *shape, uint64_t count, size_t item_bytes, gr_flat_launch *out) {
    const uint64_t chunks = (uint64_t)shape->threads * GR_FLAT_CHUNKS;
    const uint64_t blocks =
        shape->is_ring ? shape->most_blocks : gr_ceil_div(count * item_bytes, chunks * 16);
    *out = (gr_flat_launch){
        .kernel = shape->kernel,
        .grid = (uint32_t)(blocks < 1                    ? 1
                           : blocks < shape->most_blocks ? blocks
                                                         : shape->most_blocks),
        .block = shape->threads,
        .shared_bytes = shape->is_ring ? RING_BYTES : 0,
        .params = {.count = count, .divisor = count, .flags = shape->flags},
    };
}

void gr_flat_plan_make(uint64_t count, size_t item_bytes, bool pair, const gr_abilities *can,
                       gr_flat_launch *out) {
    gr_flat_plan_shape(shape_for(count * item_bytes, pair, can), count, item_bytes, out);
}
