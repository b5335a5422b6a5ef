/* The staging ring: a reduction of a large host array in chunks of 4 MiB. Host threads copy each chunk to
 * pinned memory, a copy stream uploads it, and a kernel in another stream reduces it, all three at once
 * (software pipeline of 8 stages). Device memory is bounded by the ring, whatever the length of the array.
 * The result depends only on the elements and their number, as chunks have one size and are reduced in order.
 */
#ifndef GR_EXECUTOR_STAGING_RING_H
#define GR_EXECUTOR_STAGING_RING_H

#include "program/program.h"

/* A range of the elements of a reduction: `count` elements from index `first` on, of `total`. */
typedef struct gr_chunk_range {
    uint64_t first, count, total;
} gr_chunk_range;

/* A reduction of contiguous elements to one result. plan() makes the program of one chunk. The program has
 * the inputs, an output of up to 16 bytes and, if the chunk is one of several, a state in zeroed workspace,
 * which carries partial results from chunk to chunk. */
typedef struct gr_chunked_reduction {
    size_t inputs;     /* 1 or 2, of equal dtype and length */
    size_t item_bytes; /* size of an element in bytes */
    uint64_t count;
    void (*plan)(const void *request, const gr_device_caps *caps, const gr_chunk_range *part,
                 gr_program *out);
    const void *request;
} gr_chunked_reduction;

/* Progress of a long upload, reported on the calling thread about every 50 ms; true stops the call. `done`
 * and `total` are bytes. */
typedef struct gr_progress {
    bool (*report)(void *arg, uint64_t done, uint64_t total);
    void *arg;
} gr_progress;

/* Whether the reduction is large enough for the ring and all its elements are in host memory. */
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
