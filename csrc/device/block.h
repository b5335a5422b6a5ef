/* Device memory whose last user need not be the call that took it: results, and what captured graphs work
   with. */
#ifndef GR_DEVICE_BLOCK_H
#define GR_DEVICE_BLOCK_H

#include <stdatomic.h>

#include "device/backend.h"

typedef struct gr_block_list gr_block_list;

typedef struct gr_block {
    struct gr_block *next; /* among those that nobody uses any more */
    gr_block_list *home;
    gr_devptr address;
    size_t bytes;
    gr_order order;   /* of the stream it was taken in */
    atomic_int users; /* who holds it, and the graph that works with it */
} gr_block;

/* The blocks of a device. Graphs may outlive the device, so this lives until both have let go of it. */
gr_status gr_block_list_open(gr_backend *backend, gr_block_list **out, gr_error *error);
void gr_block_list_close(gr_block_list *blocks); /* NULL is allowed */

/* Memory for the work of a stream from now on. Of a stream that is being captured it stays as long as the
   graph. */
gr_status gr_block_take(gr_block_list *blocks, const gr_order *order, size_t bytes, gr_block **out,
                        gr_error *error);
/* Ends the use by the one who took it, in the order of the stream. `shared`: others may work with it in any
   stream, so it goes when the device was waited for, at a later time. */
void gr_block_give(gr_block *block, bool shared);

/* Frees what nobody uses any more. Waits for the device, where there is such memory. */
void gr_block_list_free(gr_block_list *blocks);

#endif
