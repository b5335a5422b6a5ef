/* The main path: host elements in, one scalar out; and the timing of its device part. */
#ifndef GR_REDUCE_REDUCE_H
#define GR_REDUCE_REDUCE_H

#include "device/device.h"
#include "reduce/general/general.h"
#include "reduce/ladder/params.h"
#include "reduce/ladder/plan.h"

/* Reduces the request->n elements of `source` on `device` into `result`, of dtype gr_op_result. They lie side
   by side. */
gr_status gr_reduce(gr_registry *registry, gr_device *device, const gr_request *request,
                    const gr_source *source, const gr_interrupt *interrupt, gr_scalar *result,
                    gr_error *error);

typedef struct gr_timing_request {
    size_t buffers; /* copies of the input to rotate over, so that no launch finds its input in the L2 */
    size_t rounds;  /* times round all the buffers in one graph */
    size_t repeats; /* graph replays, one figure each */
} gr_timing_request;

/* Times the first pass alone and all passes together: `first_pass` and `all_passes` take one figure a repeat,
   the mean microseconds of a reduction in that replay. GR_ERR_VALUE on a device that has no clock. */
gr_status gr_time(gr_registry *registry, gr_device *device, const gr_request *request, const void *data,
                  const gr_timing_request *timing, double *first_pass, double *all_passes, gr_error *error);

#endif
