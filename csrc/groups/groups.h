/* Exact group sums: sums and means of rows by label, correctly rounded, so that their bits depend on neither
   the order of the rows nor the device. Elements are added to integers, which commute, by atomic operations.
 */
#ifndef GR_GROUPS_GROUPS_H
#define GR_GROUPS_GROUPS_H

#include "program/program.h"
#include "reduce/ops.h"

/* Input 0 is the elements, input 1 the labels, one per row. Results are in C order: lines, groups, columns.
 */
typedef struct gr_groups {
    gr_op op;
    gr_dtype dtype, label_dtype;                     /* label_dtype: an integer dtype */
    uint64_t lines, length, inner;                   /* of the elements: lines of rows of columns */
    int64_t line_stride, along_stride, inner_stride; /* bytes, multiples of the element size */
    int64_t label_stride;                            /* bytes */
    uint64_t groups;
    gr_scalar empty_result; /* the result of an empty group */
} gr_groups;

/* Whether an operator has kernels for any dtype. */
bool gr_groups_have(gr_op op);

/* Whether the operator has such kernels for the dtype and the number of rows, and the workspace is in
   proportion: at most 12 bytes per element, 160 bytes per result and 16 MiB. */
bool gr_groups_take(const gr_groups *self);

/* Plans and runs a reduction. Does nothing if there are no results. */
gr_status gr_groups_run(gr_device *device, const gr_groups *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error);

#endif
