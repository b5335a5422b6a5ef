/* Reduces any axes of any array by any operator: what `variant="auto"` runs. One result from contiguous
   elements is for the flat kernels, everything else for the general kernels. */
#ifndef GR_REDUCE_REDUCE_H
#define GR_REDUCE_REDUCE_H

#include "executor/staging_ring.h"
#include "reduce/flat/plan.h"
#include "reduce/general/plan.h"
#include "reduce/ops.h"

/* A reduction. Its inputs are the elements and, if layout.has_second, a mask or the second vector of a dot
   product. */
typedef struct gr_reduction {
    gr_op op;
    gr_dtype dtype;
    gr_layout layout;
    gr_general_plan plan;       /* made from `layout` */
    const void *initial;        /* an element of the result's dtype, or NULL */
    uint64_t parameter;         /* `finish` parameter of an operator whose row says GIVEN */
    bool out_aligned;           /* Results begin at a multiple of 16 bytes. */
    const gr_flat_shape *shape; /* a flat shape to time, instead of the best one; or NULL */
} gr_reduction;

/* Sets the fields of the layout that follow from the operator and the dtype: all but the dimensions, `origin`
   and `has_second`. `exact`: the layout is for gr_exact_plan. Without a device (NULL) the operator counts as
   having all its kernels. */
void gr_reduction_fill_layout(gr_reduction *reduction, const gr_device *device, bool exact);

/* Writes the name of the general kernel of a pass. */
void gr_reduction_general_entry(const gr_reduction *reduction, size_t pass, char entry[GR_KERNEL_NAME_BYTES]);

/* Whether each result is the position of the only element of its row: 0, which a memset writes. */
bool gr_reduction_is_only_position(const gr_reduction *reduction);

/* Plans the program of a gr_reduction that has at least one result. */
gr_planner gr_reduction_plan;

/* Runs the reduction by the fastest transport. Does nothing if there are no results. */
gr_status gr_reduction_run(gr_device *device, const gr_reduction *reduction, const gr_binding *binding,
                           const gr_progress *progress, const gr_interrupt *interrupt, gr_error *error);

#endif
