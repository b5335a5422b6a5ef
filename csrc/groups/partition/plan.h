/* Plans of exact sums of many groups: rows are put in order of partitions, runs of groups whose windows fit
   in shared memory, before they are added up. */
#ifndef GR_GROUPS_PARTITION_PLAN_H
#define GR_GROUPS_PARTITION_PLAN_H

#include "groups/kind.h"
#include "groups/partition/params.h"

/* Sets everything but the sums' parameters that both plans have, which are in params->sums. Returns false if
   there are no such kernels for the request, or if another plan takes less time. */
bool gr_partition_set(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                      gr_partition_params *params);

/* Whether a device with as much shared memory as the reference device sums by partitions. */
bool gr_partition_takes(const gr_groups *self, const gr_group_kind *of);

/* Appends the two steps that write the results. `at` are the buffers of the sums. */
void gr_partition_plan(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                       const gr_group_buffers *at, gr_partition_params *params, gr_program *program);

#endif
