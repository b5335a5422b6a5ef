/* Contiguous elements in host memory, reduced to one result while they are on their way to the device: chunk
   after chunk goes through a ring of pinned memory, and a kernel takes in each as it arrives. The device
   holds as much as the ring, however long the array is.

   The result depends on the number of elements and on nothing else, as chunks have one size and are taken in
   their order. */
#ifndef GR_EXECUTOR_STAGING_RING_H
#define GR_EXECUTOR_STAGING_RING_H

#include "executor/chunked.h"

bool gr_staging_ring_can_reduce(const gr_device *device, const gr_chunked_reduction *reduction,
                                const gr_binding *binding);

/* For what gr_staging_ring_can_reduce. */
gr_status gr_staging_ring_reduce(gr_device *device, const gr_chunked_reduction *reduction,
                                 const gr_binding *binding, const gr_progress *progress,
                                 const gr_interrupt *interrupt, gr_error *error);

/* Whether memory of the host comes faster through the ring than by one copy of the driver, which has to bring
   it through pinned memory, too, but does that with one thread. */
bool gr_staging_ring_is_faster(const gr_device *device, const gr_source *source);

/* Copies what gr_staging_ring_is_faster to memory of the device, which belongs to the default stream. Returns
   when it is there. */
gr_status gr_staging_ring_upload(gr_device *device, const gr_source *source, gr_devptr to,
                                 const gr_interrupt *interrupt, gr_error *error);

#endif
