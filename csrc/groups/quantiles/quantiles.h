/* Quantiles of groups from sorted elements, in two launches: gathers labels in the order of the sorted
   elements, and picks the quantile of each group. */
#ifndef GR_GROUPS_QUANTILES_QUANTILES_H
#define GR_GROUPS_QUANTILES_QUANTILES_H

#include "base/dtypes.h"
#include "program/program.h"

/* Input 0 is the labels, input 1 the int64 indices of the sorted elements; both contiguous. */
typedef struct gr_gather_labels {
    gr_dtype dtype; /* int32 or int64 */
    uint64_t count;
} gr_gather_labels;

gr_status gr_gather_labels_run(gr_device *device, const gr_gather_labels *self, const gr_binding *binding,
                               const gr_interrupt *interrupt, gr_error *error);

/* Input 0 is the sorted elements, input 1 the segments, as gr_labels_run writes them; both contiguous. */
typedef struct gr_group_quantile {
    gr_dtype dtype; /* floating-point */
    uint64_t groups;
    double q;
} gr_group_quantile;

gr_status gr_group_quantile_run(gr_device *device, const gr_group_quantile *self, const gr_binding *binding,
                                const gr_interrupt *interrupt, gr_error *error);

#endif
