/* Plans of order_sampled.cu: selection of one rank, of two adjacent ones, or of the first elements up to one.
   A block selects from a short line. Of a long line, a sample gives a window of keys, one reading of the line
   keeps the elements of the window in a list, and the selection reads the list. */
#ifndef GR_ORDER_FEW_LINES_H
#define GR_ORDER_FEW_LINES_H

#include "order/planner.h"

/* Whether a block selects from each line. */
bool gr_order_selects_few(const gr_order_planner *self);

/* Whether each line gets a window, and whether a block then selects from its list. */
bool gr_order_samples_lines(const gr_order_planner *self);
bool gr_order_selects_from_list(const gr_order_planner *self);

/* Appends the launches that keep the elements of each line's window in a list, `indexed` with their indices.
   Later launches, with the parameters and buffers of `self`, read the lists. */
void gr_order_plan_window(gr_order_planner *self, bool indexed);

/* Appends one launch, in which a block selects from each line or its list. */
void gr_order_plan_block(gr_order_planner *self);

#endif
