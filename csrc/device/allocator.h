/* Device memory for the time of one call: it is there for what the call puts into its stream, and the next
   call of that stream may have it at once. */
#ifndef GR_DEVICE_ALLOCATOR_H
#define GR_DEVICE_ALLOCATOR_H

#include "device/allocation.h"
#include "device/free_list.h"

enum {
    GR_ZEROED_BYTES = 72 << 10
}; /* of a piece that is kept; streams of segments, which ask for most, take 66 KB */

/* What memory is taken from: what is kept for each stream, and what captured graphs hold. */
typedef struct gr_allocator {
    gr_free_list free_list;
    gr_allocation_list *allocations;
    struct gr_capture_workspace *shared; /* clean memory of captures, under the shelf's lock */
} gr_allocator;

gr_status gr_allocator_open(gr_allocator *allocator, gr_backend *backend, gr_error *error);
void gr_allocator_close(gr_allocator *allocator);
/* Frees what nobody uses. */
void gr_allocator_clear(gr_allocator *allocator);

/* Makes memory of the device free for another attempt at an allocation that failed: first what this library
   keeps unused, then the caches of other libraries. False where nothing is left to free. */
bool gr_allocator_reclaim(gr_allocator *allocator, unsigned attempt);

/* Allocates in the order of a stream, and tries again after each gr_allocator_reclaim. The caller drops it.
 */
gr_status gr_allocator_alloc(gr_allocator *allocator, gr_stream stream, size_t bytes, gr_devptr *out,
                             gr_error *error);

typedef struct gr_memory {
    gr_devptr address;            /* 0: none */
    gr_stream_state stream_state; /* where it was taken */
    gr_cached *cached;            /* where it comes from, or NULL: taken for this call alone */
} gr_memory;

/* `clean` memory is zero, and has to be so again when it is given back as usable. On a backend that knows the
   ends of each allocation a piece is as large as asked for, and nobody else's. */
gr_status gr_memory_alloc(gr_allocator *allocator, const gr_stream_state *stream_state, size_t bytes,
                          bool zeroed, gr_memory *out, gr_error *error);
void gr_memory_free(gr_allocator *allocator, gr_memory *memory, bool usable);

#endif
