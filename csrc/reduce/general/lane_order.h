/* The order of the elements of a result that are not contiguous: it follows from their number and from the
   operator. Who takes which lanes is free. */
#ifndef GR_REDUCE_GENERAL_LANE_ORDER_H
#define GR_REDUCE_GENERAL_LANE_ORDER_H

#include "reduce/general/layout.h"

/* Whether the results of a layout have such an order: if the operator has it, and one dimension of two or
   more elements is reduced, which are not neighbours in memory. */
bool gr_has_lanes(const gr_layout *layout, const gr_general_params *p);

/* The number n of lanes of `count` elements, a power of two: element k belongs to lane k mod n. */
uint32_t gr_lanes_of(uint64_t count);

#endif
