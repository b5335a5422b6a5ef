/* Plans launches for results whose elements have lanes: see lane_order.h. */
#ifndef GR_REDUCE_GENERAL_LANE_PLAN_H
#define GR_REDUCE_GENERAL_LANE_PLAN_H

#include "reduce/general/layout.h"

/* Plans `lanes`, `axis` or `whole`. Returns false if the results are too many for one grid. */
bool gr_lanes_plan(const gr_layout *layout, gr_general_launch *launch);

#endif
