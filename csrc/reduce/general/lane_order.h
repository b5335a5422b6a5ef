/* The order of the elements of a result that are not a contiguous row: it follows from their number and from
   the operator. Who takes which lanes is free. */
#ifndef GR_REDUCE_GENERAL_LANE_ORDER_H
#define GR_REDUCE_GENERAL_LANE_ORDER_H

#include "reduce/general/layout.h"

/* Whether the order is by lanes: the operator has lanes, and the reduced elements lie along one dimension and
   are not neighbours in memory, or are pairs of neighbours along one dimension, as the parts of complex
   numbers in a column are. */
bool gr_has_lanes(const gr_layout *layout, const gr_general_params *p);

/* The number n of lanes of `count` elements, a power of two: element k belongs to lane k mod n. */
uint32_t gr_lanes_of(uint64_t count);

#endif
