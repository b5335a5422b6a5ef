/* Planner of the general reduction kernels: chooses the kernel by the memory layout (`map`, `tiles`, `rows`,
   `columns`, `spread`, `whole` or `axis`), its grid, and the mapping of threads to results and elements.
   plan.c calls it after it has merged the dimensions. */
#ifndef GR_REDUCE_GENERAL_AXIS_H
#define GR_REDUCE_GENERAL_AXIS_H

#include "reduce/general/layout.h"

/* `launch->params` holds the merged dimensions, the number of results and the elements per result. Fills in
   the kernel, the grid and `parts`, the number of States that each result is made from: 1 if the launch
   writes results itself. Returns false if the results are too many for one grid. */
bool gr_axis_plan(const gr_layout *layout, gr_general_launch *launch);

/* Plans pass 2, which combines `params.count` rows of States into results. */
bool gr_last_plan(gr_general_launch *launch);

#endif
