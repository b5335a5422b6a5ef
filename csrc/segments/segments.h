/* Segmented reduction: reduces consecutive rows along an axis, or rows that a permutation groups, to one
   result per segment. Four kernel families: a stream of contiguous rows, a warp or a block for each segment
   of an exact sum, merge-path tiles for any strides, and those of ordered/ for variances, products and
   logsumexp. */
#ifndef GR_SEGMENTS_SEGMENTS_H
#define GR_SEGMENTS_SEGMENTS_H

#include "program/program.h"
#include "segments/request.h"

/* Whether there are kernels for an operator on elements of a dtype. */
bool gr_segments_take(gr_op op, gr_dtype dtype);

/* The result of a segment without elements. */
gr_scalar gr_segments_empty_result(gr_op op, gr_dtype dtype);

/* Plans and runs a reduction. Does nothing if there are no results. */
gr_status gr_segments_run(gr_device *device, const gr_segments *self, const gr_binding *binding,
                          const gr_interrupt *interrupt, gr_error *error);

#endif
