/* The order of the elements of a row with gaps, for the kernel axis: it follows
   from the number of elements and from the operator. Who takes which lanes is free. */
#ifndef GR_REDUCE_GENERAL_LANE_ORDER_H
#define GR_REDUCE_GENERAL_LANE_ORDER_H

#include "reduce/general/layout.h"

/* Element k of a result belongs to lane k mod n, of n = tree * chain * parts lanes. */
typedef struct gr_lane_order {
    uint32_t tree;  /* lanes of a part that a tree combines, a power of two, */
    uint32_t chain; /* lanes, a power of two, whose States are combined one after the other before the tree */
    uint64_t parts; /* whose States pass 2 combines */
} gr_lane_order;

/* Whether the results of a layout have such an order: if one dimension is reduced, and neither the elements
   of a result nor the results are neighbours in memory. */
bool gr_has_lanes(const gr_layout *layout, const gr_general_params *p);

gr_lane_order gr_lane_order_of(const gr_layout *layout, uint64_t count);

/* Gives each thread `chain` lanes, if it is `wide`, or one lane. Returns the threads per part. */
uint32_t gr_lanes_share(gr_general_launch *launch, const gr_lane_order *order, bool wide);

#endif
