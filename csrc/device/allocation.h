/* Reference-counted device allocations, whose last user need not be the call that made them: results, and
 * memory that captured graphs use. */
#ifndef GR_DEVICE_ALLOCATION_H
#define GR_DEVICE_ALLOCATION_H

#include <stdatomic.h>

#include "device/backend.h"

typedef struct gr_allocation_list gr_allocation_list;

typedef struct gr_allocation {
    struct gr_allocation *next; /* next in the list of deferred frees */
    gr_allocation_list *list;
    gr_devptr address;
    size_t bytes;
    gr_stream_state stream_state; /* state of the stream in which the memory was allocated */
    atomic_int references;        /* one for the holder, one for a graph */
} gr_allocation;

/* All allocations of a device. The list is freed when the device is closed and the last allocation is gone,
 * as graphs may outlive the device. */
gr_status gr_allocation_list_open(gr_backend *backend, gr_allocation_list **out, gr_error *error);
void gr_allocation_list_close(gr_allocation_list *allocations); /* NULL is allowed */

/* Allocates in stream order. In a stream that is being captured the graph holds a reference. */
gr_status gr_allocation_acquire(gr_allocation_list *allocations, const gr_stream_state *stream_state,
                                size_t bytes, gr_allocation **out, gr_error *error);
/* Drops the reference of the holder, in stream order. `shared`: other streams may use the memory, so it is
 * freed later, after the device was synchronized. */
void gr_allocation_release(gr_allocation *allocation, bool shared);

/* Frees allocations without references. Waits for the device if there are any. */
void gr_allocation_list_collect(gr_allocation_list *allocations);

/* Asks other libraries of the process (PyTorch) to free memory of CUDA device `index`, which is current, that
 * their caches hold unused; true if any was freed. */
typedef bool (*gr_low_memory)(int index);
/* Sets the callback of the process; NULL for none. It is called without holding a lock of this library. */
void gr_on_low_memory(gr_low_memory callback);
/* Calls the callback after a failed allocation. True if another attempt may succeed. */
bool gr_release_caches(gr_backend *backend);

#endif
