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

/* Whether a device with as much shared memory as the reference device sums by partitions. */
bool gr_partition_takes(const gr_groups *self, const gr_group_kind *of);

/* Buffers of both steps: see gr_partition_params. */
typedef struct gr_partition_buffers {
    uint32_t values, locals, table, state;
} gr_partition_buffers;

/* Appends the step that puts rows in order of partitions, of the buffers of elements and labels. */
gr_partition_buffers gr_partition_rows(const gr_groups *self, const gr_group_kind *of,
                                       const gr_device_caps *caps, uint32_t in, uint32_t labels,
                                       const gr_partition_params *params, gr_program *program);

/* Blocks of the step after it, whose parameters begin with gr_partition_params. */
uint64_t gr_partition_blocks(const gr_partition_params *params);

/* Gives the last step the addresses of the buffers. */
void gr_partition_relocate(gr_program *program, const gr_partition_buffers *at);

/* Appends the two steps, one that partitions the rows and one that writes the results. `at`: the buffers of
   params->sums. */
void gr_partition_plan(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                       const gr_group_buffers *at, const gr_partition_params *params, gr_program *program);

#endif
