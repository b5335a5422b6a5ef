/* Contiguous elements in host memory, reduced to one result while they are on their way to the device: chunk
   after chunk goes through a ring of pinned memory, and a flat kernel takes in each as it arrives. The device
   holds as much as the ring, however long the array is.

   The result depends on the number of elements and on nothing else, as chunks have one size and are taken in
   their order. */
#ifndef GR_FEED_RING_H
#define GR_FEED_RING_H

#include "reduce/general/general.h"

/* What a stream holds: kept by the device from call to call, one for each call that runs at a time. */
typedef struct gr_ring gr_ring;

bool gr_host_stream_takes(const gr_device *device, const gr_general_request *request,
                          const gr_general_plan *plan);

/* For requests of `count` elements that gr_host_stream_takes. */
gr_status gr_host_stream(gr_registry *registry, gr_device *device, const gr_general_request *request,
                         uint64_t count, const gr_interrupt *interrupt, gr_error *error);

void gr_rings_close(gr_backend *backend, gr_ring *rings); /* all of a list; NULL is allowed */

#endif
