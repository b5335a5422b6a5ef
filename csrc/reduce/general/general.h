/* Any operator over any layout: a planned launch or two of the general kernels, from host or device elements.
 */
#ifndef GR_REDUCE_GENERAL_GENERAL_H
#define GR_REDUCE_GENERAL_GENERAL_H

#include "device/device.h"
#include "reduce/flat/plan.h"
#include "reduce/general/plan.h"

/* Where the elements of an input lie: `bytes` of host memory to upload, or on the device already. */
typedef struct gr_source {
    const void *host; /* NULL: on the device */
    size_t bytes;
    uint64_t origin; /* of the first element: an offset into the host bytes, or a device address */
} gr_source;

/* Gives the device address of the first element. What lies in host memory is copied into *owned, which is the
   caller's to free, also after a failure. */
gr_status gr_source_upload(gr_backend *backend, const gr_source *source, gr_devptr *owned, uint64_t *first,
                           gr_error *error);

/* Told from time to time, on the calling thread, how far a long upload has come; true stops it. */
typedef struct gr_progress {
    bool (*report)(void *arg, uint64_t done, uint64_t total);
    void *arg;
} gr_progress;

typedef struct gr_general_request {
    gr_op op;
    gr_dtype dtype;
    gr_layout layout;
    gr_source source;
    gr_source second;    /* used when layout.has_second: a mask, or the other vector of a dot product */
    const void *initial; /* an element of the result's dtype, or NULL */
    void *host_out;      /* room for the results in host memory; NULL: they go to device_out */
    gr_devptr device_out;
    const gr_progress *progress; /* of a stream of chunks, or NULL */
    const gr_flat_shape *shape;  /* of a flat kernel that is timed, in place of the best one; or NULL */
} gr_general_request;

/* `plan` is that of request->layout. */
gr_status gr_general(gr_registry *registry, gr_device *device, const gr_general_request *request,
                     const gr_general_plan *plan, const gr_interrupt *interrupt, gr_error *error);

/* What is timed: the request's reduction over several inputs alike, one after the other, so that none is
   found in the L2. */
typedef struct gr_general_timing {
    size_t buffers;
    const gr_devptr *sources; /* on the device, one a buffer */
    const gr_devptr *seconds; /* the other vectors of a dot product, or NULL */
    const gr_devptr *outs;    /* room for the results, one a buffer */
    size_t rounds;            /* times round all the buffers in one graph */
    size_t repeats;           /* graph replays, one figure each */
} gr_general_timing;

/* Takes request->source and device_out from `timing`. Writes one figure a repeat, the mean microseconds of a
   reduction with all its passes in that replay. GR_ERR_VALUE on a device that has no clock. */
gr_status gr_general_time(gr_registry *registry, gr_device *device, const gr_general_request *request,
                          const gr_general_plan *plan, const gr_general_timing *timing, double *microseconds,
                          gr_error *error);

#endif
