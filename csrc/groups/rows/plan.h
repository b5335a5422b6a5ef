/* Exact group sums of rows of several columns: the rows are sorted by group, by their labels alone, and added
   up in registers. */
#ifndef GR_GROUPS_ROWS_PLAN_H
#define GR_GROUPS_ROWS_PLAN_H

#include "groups/params.h"
#include "groups/request.h"

/* Whether there are such kernels for the numbers of rows, columns and groups, and their workspace is in
   proportion. */
bool gr_sorted_rows_fit(const gr_groups *self);

/* Whether they are faster than additions to planes. */
bool gr_sorted_rows_win(const gr_groups *self);

/* Appends their steps. `rows`: the parameters of all kernels of group sums. */
void gr_sorted_rows_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                         gr_program *program);

#endif
