/* Reductions of segments: of rows that lie behind one another along an axis, or that an order names. */
#ifndef GR_SEGMENTS_SEGMENTS_H
#define GR_SEGMENTS_SEGMENTS_H

#include "program/program.h"
#include "reduce/ops.h"

/* Its inputs are the elements, and in int64 the offsets of the segments, one more than there are of them,
   behind which the order follows if there is one: see segments/params.h. */
typedef struct gr_segments {
    gr_op op;
    gr_dtype dtype;
    uint64_t lines, length, inner;                   /* of the elements */
    int64_t line_stride, along_stride, inner_stride; /* bytes, whole elements */
    uint64_t segments;
    uint64_t ordered;  /* rows that the order has; 0 for none */
    gr_scalar nothing; /* the result of no elements */
    double ddof;       /* of variances: what is taken off how many elements there are */
} gr_segments;

/* Whether there are kernels for an operator on elements of a dtype. */
bool gr_segments_take(gr_op op, gr_dtype dtype);

/* Of some results, for a device that can so much. */
void gr_segments_plan(const gr_segments *self, const gr_device_caps *caps, gr_program *program);

/* Nothing is done where there are no results. */
gr_status gr_segments_run(gr_device *device, const gr_segments *self, const gr_binding *binding,
                          const gr_interrupt *interrupt, gr_error *error);

#endif
