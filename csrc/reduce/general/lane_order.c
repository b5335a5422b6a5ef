/* How many lanes the elements of a result have, and how threads share them. */
#include "reduce/general/lane_order.h"

#include "base/powers.h"
#include "reduce/lanes/params.h"

/* Measured on an H200: benchmarks/results/gaps_order_h200.json. */
enum {
    LANE_ELEMENTS = 4,       /* min. elements of a lane, */
    LARGE_LANE_ELEMENTS = 8, /* if States are large, as these take long to combine */
    LARGE_STATE = 8,         /* bytes, from which on they are */
    MAX_LANES = 128,         /* lanes of a part */
    CHAIN = 4,
    PART_ELEMENTS = 2048,
    MAX_PARTS = 512,
};

bool gr_has_lanes(const gr_layout *layout, const gr_general_params *p) {
    const int64_t item = (int64_t)layout->item_bytes;
    return layout->has_pieces && p->along.extent[1] == 1 && p->along.stride[0] != item &&
           p->keep.stride[0] != item;
}

gr_lane_order gr_lane_order_of(const gr_layout *layout, uint64_t count) {
    const uint64_t each = layout->state_bytes > LARGE_STATE ? LARGE_LANE_ELEMENTS : LANE_ELEMENTS;
    const uint32_t lanes = gr_power_of_two_up_to(gr_max(count / each, 1), MAX_LANES);
    const uint32_t chain = lanes < CHAIN ? lanes : CHAIN;
    const uint64_t parts = gr_min(count / PART_ELEMENTS, MAX_PARTS);
    return (gr_lane_order){.tree = lanes / chain, .chain = chain, .parts = gr_max(parts, 1)};
}

uint32_t gr_lanes_share(gr_general_launch *launch, const gr_lane_order *order, bool wide) {
    gr_general_params *p = &launch->params;
    p->flags &= ~(uint32_t)(GR_LANES_MASK << GR_LANES_SHIFT | GR_LANES_MASK << GR_CHAIN_SHIFT);
    p->flags |= gr_log2(order->chain) << (wide ? GR_LANES_SHIFT : GR_CHAIN_SHIFT);
    launch->of_pieces = true;
    return wide ? order->tree : order->tree * order->chain;
}
