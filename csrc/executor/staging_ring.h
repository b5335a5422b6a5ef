/* The staging ring: a reduction of a large host array in chunks of 4 MiB. Host threads copy each chunk to
 * pinned memory, a copy stream uploads it, and a kernel in another stream reduces it, all three at once
 * (software pipeline of 8 stages). Device memory is bounded by the ring, whatever the length of the array.
 * The result depends only on the elements and their number, as chunks have one size and are reduced in order.
 */
#ifndef GR_EXECUTOR_STAGING_RING_H
#define GR_EXECUTOR_STAGING_RING_H

#include "executor/chunked.h"

bool gr_staging_ring_can_reduce(const gr_device *device, const gr_chunked_reduction *reduction,
                                const gr_binding *binding);

/* Runs a reduction for which gr_staging_ring_can_reduce is true. */
gr_status gr_staging_ring_reduce(gr_device *device, const gr_chunked_reduction *reduction,
                                 const gr_binding *binding, const gr_progress *progress,
                                 const gr_interrupt *interrupt, gr_error *error);

/* Whether an upload through the ring is faster than one copy by the driver, which also goes through pinned
 * memory, but with one thread. */
bool gr_staging_ring_is_faster(const gr_device *device, const gr_source *source);

/* Uploads host memory for which gr_staging_ring_is_faster is true to device memory of the legacy default
 * stream. Returns when the copy is complete. */
gr_status gr_staging_ring_upload(gr_device *device, const gr_source *source, gr_devptr to,
                                 const gr_interrupt *interrupt, gr_error *error);

#endif
