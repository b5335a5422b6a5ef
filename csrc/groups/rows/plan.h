/* Exact group sums of rows of several columns: the rows are sorted by group, by their labels alone, and added
   up in registers. */
#ifndef GR_GROUPS_ROWS_PLAN_H
#define GR_GROUPS_ROWS_PLAN_H

#include "groups/params.h"
#include "groups/request.h"

/* Whether there are such kernels for the numbers of rows, columns and groups, and their workspace is in
   proportion. */
bool gr_sorted_rows_fit(const gr_groups *self);

/* Whether these kernels are estimated to be faster than additions to planes. */
bool gr_sorted_rows_are_faster(const gr_groups *self);

/* Appends the steps of the plan. `rows`: the parameters of the elements and labels. */
void gr_sorted_rows_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                         gr_program *program);

#endif
