/* Plans segmented reductions whose results depend on the order: variances, products and logsumexp. See
   segments/ordered/params.h. */
#ifndef GR_SEGMENTS_ORDERED_PLAN_H
#define GR_SEGMENTS_ORDERED_PLAN_H

#include "program/program.h"
#include "segments/request.h"

/* Appends the launch of the kernel of an operator, "prod", "var" or "logsumexp", for a type of values, "real"
   or "pair". `flags`: of gr_segment_params. */
void gr_ordered_segments_plan(const gr_segments *self, const char *op, const char *kind, uint32_t flags,
                              const gr_device_caps *caps, gr_program *program);

#endif
