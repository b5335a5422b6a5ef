/* How many lanes the elements of a result have. */
#include "reduce/general/lane_order.h"

#include "base/powers.h"

/* Measured on an H200: benchmarks/results/columns_order_h200.json. */
enum {
    LANE_ELEMENTS = 8,       /* min. elements of a lane, of up to FEW_LANES, */
    LONG_LANE_ELEMENTS = 16, /* and of more */
    FEW_LANES = 256,
    MAX_LANES = 1 << 16,
};

bool gr_has_lanes(const gr_layout *layout, const gr_general_params *p) {
    return layout->has_pieces && p->along.extent[1] == 1 && p->count > 1 &&
           p->along.stride[0] != (int64_t)layout->item_bytes;
}

uint32_t gr_lanes_of(uint64_t count) {
    const uint64_t few = gr_min(count / LANE_ELEMENTS, FEW_LANES);
    return gr_power_of_two_up_to(gr_max(count / LONG_LANE_ELEMENTS, few), MAX_LANES);
}
