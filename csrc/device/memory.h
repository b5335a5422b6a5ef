/* Device memory for the time of one call: it is there for what the call puts into its stream, and the next
   call of that stream may have it at once. */
#ifndef GR_DEVICE_MEMORY_H
#define GR_DEVICE_MEMORY_H

#include "device/block.h"
#include "device/kept.h"

enum {
    GR_CLEAN_BYTES = 72 << 10
}; /* of a piece that is kept; streams of segments, which ask for most, take 66 KB */

/* What memory is taken from: what is kept for each stream, and what captured graphs hold. */
typedef struct gr_store {
    gr_shelf shelf;
    gr_block_list *blocks;
    struct gr_shared *shared; /* clean memory of captures, under the shelf's lock */
} gr_store;

gr_status gr_store_open(gr_store *store, gr_backend *backend, gr_error *error);
void gr_store_close(gr_store *store);
/* Frees what nobody uses. */
void gr_store_clear(gr_store *store);

/* Makes memory of the device free for another attempt at an allocation that failed: first what this library
   keeps unused, then the caches of other libraries. False where nothing is left to free. */
bool gr_store_reclaim(gr_store *store, unsigned attempt);

/* Allocates in the order of a stream, and tries again after each gr_store_reclaim. The caller drops it. */
gr_status gr_store_alloc(gr_store *store, gr_stream stream, size_t bytes, gr_devptr *out, gr_error *error);

typedef struct gr_memory {
    gr_devptr address; /* 0: none */
    gr_order order;    /* where it was taken */
    gr_kept *kept;     /* where it comes from, or NULL: taken for this call alone */
} gr_memory;

/* `clean` memory is zero, and has to be so again when it is given back as usable. On a backend that knows the
   ends of each allocation a piece is as large as asked for, and nobody else's. */
gr_status gr_memory_take(gr_store *store, const gr_order *order, size_t bytes, bool clean, gr_memory *out,
                         gr_error *error);
void gr_memory_give(gr_store *store, gr_memory *memory, bool usable);

#endif
