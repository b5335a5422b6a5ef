/* Planner of exact group sums of few rows of one column: one launch, in which each block reads all labels and
   adds up the rows of some groups in shared memory. */
#ifndef GR_GROUPS_SHARED_PLAN_H
#define GR_GROUPS_SHARED_PLAN_H

#include "groups/kind.h"

/* Whether the kernel can compute the results: sums and means of floats. */
bool gr_shared_groups_fit(const gr_groups *self);

/* Whether it is expected to be faster than the other kernels. */
bool gr_shared_groups_are_faster(const gr_groups *self);

void gr_shared_groups_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                           gr_program *program);

#endif
