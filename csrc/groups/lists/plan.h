/* Planner of exact group sums of few rows of several columns: one launch, in which each block reads all
   labels and lists the rows of its groups. */
#ifndef GR_GROUPS_LISTS_PLAN_H
#define GR_GROUPS_LISTS_PLAN_H

#include "groups/kind.h"

/* Whether the kernel can compute the results: sums and means of floats. */
bool gr_group_lists_fit(const gr_groups *self);

/* Whether it is expected to be faster than the other kernels. */
bool gr_group_lists_are_faster(const gr_groups *self);

void gr_group_lists_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                         gr_program *program);

#endif
