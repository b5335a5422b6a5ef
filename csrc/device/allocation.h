/* Device memory whose last user need not be the call that took it: results, and what captured graphs work
   with. */
#ifndef GR_DEVICE_ALLOCATION_H
#define GR_DEVICE_ALLOCATION_H

#include <stdatomic.h>

#include "device/backend.h"

typedef struct gr_allocation_list gr_allocation_list;

typedef struct gr_allocation {
    struct gr_allocation *next; /* among those that nobody uses any more */
    gr_allocation_list *list;
    gr_devptr address;
    size_t bytes;
    gr_stream_state stream_state; /* of the stream it was taken in */
    atomic_int references;        /* who holds it, and the graph that works with it */
} gr_allocation;

/* The blocks of a device. Graphs may outlive the device, so this lives until both have let go of it. */
gr_status gr_allocation_list_open(gr_backend *backend, gr_allocation_list **out, gr_error *error);
void gr_allocation_list_close(gr_allocation_list *allocations); /* NULL is allowed */

/* Memory for the work of a stream from now on. Of a stream that is being captured it stays as long as the
   graph. */
gr_status gr_allocation_acquire(gr_allocation_list *allocations, const gr_stream_state *stream_state,
                                size_t bytes, gr_allocation **out, gr_error *error);
/* Ends the use by the one who took it, in the order of the stream. `shared`: others may work with it in any
   stream, so it goes when the device was waited for, at a later time. */
void gr_allocation_release(gr_allocation *allocation, bool shared);

/* Frees what nobody uses any more. Waits for the device, where there is such memory. */
void gr_allocation_list_collect(gr_allocation_list *allocations);

#endif
