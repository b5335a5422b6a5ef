/* Any operator over any layout, by the general kernels or, to one result from elements side by side, by the
   flat ones: what `auto` means. */
#ifndef GR_REDUCE_REDUCE_H
#define GR_REDUCE_REDUCE_H

#include "executor/executor.h"
#include "reduce/flat/plan.h"
#include "reduce/general/plan.h"
#include "reduce/ops.h"

/* Its inputs are the elements and, when layout.has_second, a mask or the other vector of a dot product. */
typedef struct gr_reduction {
    gr_op op;
    gr_dtype dtype;
    gr_layout layout;
    gr_general_plan plan;       /* of that layout */
    const void *initial;        /* an element of the result's dtype, or NULL */
    uint64_t parameter;         /* of an operator to which one is given */
    const gr_flat_shape *shape; /* of a flat kernel that is timed, in place of the best one; or NULL */
} gr_reduction;

size_t gr_reduction_result_bytes(const gr_reduction *reduction); /* of one result */

/* The program of a plan that has results. */
void gr_reduction_plan(const gr_reduction *reduction, const gr_device_caps *caps, gr_program *program);

/* Runs it in the way that is best. Nothing is done where there are no results. */
gr_status gr_reduction_run(gr_device *device, const gr_reduction *reduction, const gr_binding *binding,
                           const gr_progress *progress, const gr_interrupt *interrupt, gr_error *error);

#endif
