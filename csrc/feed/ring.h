/* Contiguous elements in host memory, reduced to one result while they are on their way to the device: chunk
   after chunk goes through a ring of pinned memory, and a kernel takes in each as it arrives. The device
   holds as much as the ring, however long the array is.

   The result depends on the number of elements and on nothing else, as chunks have one size and are taken in
   their order. */
#ifndef GR_FEED_RING_H
#define GR_FEED_RING_H

#include "feed/flow.h"

bool gr_ring_takes(const gr_device *device, const gr_flow *flow, const gr_binding *binding);

/* For what gr_ring_takes. */
gr_status gr_ring_run(gr_device *device, const gr_flow *flow, const gr_binding *binding,
                      const gr_progress *progress, const gr_interrupt *interrupt, gr_error *error);

/* Whether memory of the host comes faster through the ring than by one copy of the driver, which has to bring
   it through pinned memory, too, but does that with one thread. */
bool gr_ring_brings(const gr_device *device, const gr_source *source);

/* Copies what gr_ring_brings to memory of the device, which belongs to the default stream. Returns when it is
   there. */
gr_status gr_ring_bring(gr_device *device, const gr_source *source, gr_devptr to,
                        const gr_interrupt *interrupt, gr_error *error);

#endif
