/* How the general kernels for many results share out their work: which kernel, and which threads take what.
 */
#ifndef GR_REDUCE_GENERAL_AXIS_H
#define GR_REDUCE_GENERAL_AXIS_H

#include "reduce/general/layout.h"

/* `launch->params` holds the merged dimensions, results and count. Fills in the kernel, the grid, and as
   `parts` the number of States that each result is made from; 1 when the launch writes results itself. False
   when the results are too many for one grid. */
bool gr_axis_plan(const gr_layout *layout, const gr_limits *limits, gr_general_launch *launch);

/* The same for the launch that makes results from `params.count` rows of States. */
bool gr_last_plan(const gr_limits *limits, gr_general_launch *launch);

#endif
