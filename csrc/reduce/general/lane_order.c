/* How many lanes the elements of a result have. */
#include "reduce/general/lane_order.h"

#include "base/powers.h"
#include "reduce/general/launch.h"

/* Measured on an H200: benchmarks/results/columns_order_h200.json. */
enum {
    LANE_ELEMENTS = 8,       /* min. elements per lane, up to FEW_LANES lanes */
    LONG_LANE_ELEMENTS = 16, /* min. elements per lane above FEW_LANES lanes */
    FEW_LANES = 256,
    MAX_LANES = 1 << 16,
};

/* Whether the elements of a result are pairs of neighbours with gaps between them, as the parts of complex
   numbers in a column are. */
static bool has_neighbours(const gr_layout *layout, const gr_dims *along) {
    return along->extent[0] == 2 && along->extent[2] == 1 && has_adjacent_elements(layout, along) &&
           !layout->pair;
}

bool gr_has_lanes(const gr_layout *layout, const gr_general_params *p) {
    const bool single = p->along.extent[1] == 1;
    return (layout->has_pieces || layout->pair_elements > 0) && p->count > 1 &&
           (single ? !has_adjacent_elements(layout, &p->along) : has_neighbours(layout, &p->along));
}

uint32_t gr_lanes_of(uint64_t count) {
    const uint64_t few = gr_min(count / LANE_ELEMENTS, FEW_LANES);
    return gr_power_of_two_up_to(gr_max(count / LONG_LANE_ELEMENTS, few), MAX_LANES);
}
