/* Plans of exact sums of many groups: rows are put in order of partitions, runs of groups whose windows fit
   in shared memory, before they are added up. */
#ifndef GR_GROUPS_PARTITION_PLAN_H
#define GR_GROUPS_PARTITION_PLAN_H

#include "groups/kind.h"
#include "groups/partition/params.h"

/* Sets the parameters of the partitions, all but params->sums, which the caller sets for either plan. Returns
   false if there are no such kernels for the request, if their workspace is not in proportion, or if another
   plan takes less time. */
bool gr_partition_set(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                      gr_partition_params *params);

/* Appends the two steps, one that partitions the rows and one that writes the results. `at`: the buffers of
   params->sums. */
void gr_partition_plan(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                       const gr_group_buffers *at, gr_partition_params *params, gr_program *program);

#endif
