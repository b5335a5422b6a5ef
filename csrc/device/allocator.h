/* The allocator of a device: workspace for single calls. Workspace is stream-ordered: the next call in the
 * same stream may reuse it at once. */
#ifndef GR_DEVICE_ALLOCATOR_H
#define GR_DEVICE_ALLOCATOR_H

#include "device/allocation.h"
#include "device/free_list.h"

enum {
    GR_ZEROED_BYTES = 72 << 10
}; /* bytes of a cached zeroed workspace; row-streaming segmented reductions need the most, 66 KB */

/* Sources of memory: cached objects for each stream, allocations of results, and workspace of captured
 * graphs. */
typedef struct gr_allocator {
    gr_free_list free_list; /* first member: a gr_free_list * of a device is a gr_allocator * */
    gr_allocation_list *allocations;
} gr_allocator;

gr_status gr_allocator_open(gr_allocator *allocator, gr_backend *backend, gr_error *error);
void gr_allocator_close(gr_allocator *allocator);
/* Frees everything that is unused. */
void gr_allocator_clear(gr_allocator *allocator);

/* Frees device memory before another attempt at a failed allocation: on attempt 0 unused memory of this
 * library, on attempt 1 the caches of other libraries. False if nothing is left to free. */
bool gr_allocator_reclaim(gr_allocator *allocator, unsigned attempt);

/* Stream-ordered allocation that retries after gr_allocator_reclaim. The caller frees it by free_async. */
gr_status gr_allocator_alloc(gr_allocator *allocator, gr_stream stream, size_t bytes, gr_devptr *out,
                             gr_error *error);

typedef struct gr_memory {
    gr_devptr address;            /* device address, 0 for none */
    gr_stream_state stream_state; /* state of the stream when the memory was allocated */
    gr_cached *cached;            /* the cached object that the memory is part of, or NULL */
    size_t checked;               /* bytes that gr_memory_check reads */
} gr_memory;

/* Allocates workspace for a call. `zeroed` workspace is zero; a call that frees it as `usable` has left it
 * zero. On a backend that detects accesses out of bounds each workspace is an allocation of exact size. */
gr_status gr_memory_alloc(gr_allocator *allocator, const gr_stream_state *stream_state, size_t bytes,
                          bool zeroed, gr_memory *out, gr_error *error);
void gr_memory_free(gr_allocator *allocator, gr_memory *memory, bool usable);
/* After a call: fails if zeroed workspace is not zero, which would be an error of the kernels. Only a backend
   that detects accesses out of bounds checks that; on others the next call would add to what is left. */
gr_status gr_memory_check(gr_allocator *allocator, const gr_memory *memory, gr_error *error);

#endif
