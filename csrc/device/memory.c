#include "device/memory.h"

#include <stdlib.h>

#include "device/low_memory.h"

/* Of pieces that are kept; a program with more streams than that waits for the device now and then. */
enum { MOST_CLEAN = 64 };

/* Clean memory of a stream while a graph is captured from it. What one capture takes from a stream runs in
   its order, so that all calls share one piece. */
typedef struct gr_shared {
    struct gr_shared *next;
    uint64_t stream, capture;
    gr_devptr address;
} gr_shared;

typedef struct piece {
    gr_kept kept;
    gr_devptr address;
} piece;

static gr_status take(gr_backend *backend, const gr_order *order, size_t bytes, bool clean, gr_devptr *out,
                      gr_error *error) {
    gr_status status = backend->streams->take(backend, order->stream, bytes, out, error);
    if (status == GR_OK && clean &&
        (status = backend->fill(backend, order->stream, *out, 0, bytes, error)) != GR_OK) {
        backend->streams->drop(backend, order->stream, *out);
        *out = 0;
    }
    return status;
}

static gr_status piece_open(gr_backend *backend, gr_kept *self, gr_error *error) {
    return take(backend, &self->order, self->bytes, true, &((piece *)self)->address, error);
}

/* Its stream may be no more, so this cannot be in its order. */
static void piece_close(gr_backend *backend, gr_kept *self) {
    gr_error ignored;
    if (backend->sync(backend, &ignored) == GR_OK)
        backend->free(backend, ((piece *)self)->address);
}

static const gr_kept_kind clean_pieces = {.name = "a call",
                                          .size = sizeof(piece),
                                          .most = MOST_CLEAN,
                                          .of_process = true,
                                          .open = piece_open,
                                          .close = piece_close};

gr_status gr_store_open(gr_store *store, gr_backend *backend, gr_error *error) {
    store->shelf.backend = backend;
    return gr_block_list_open(backend, &store->blocks, error);
}

void gr_store_clear(gr_store *store) {
    gr_backend *backend = store->shelf.backend;
    gr_shelf_clear(&store->shelf);
    gr_block_list_free(store->blocks);
    if (backend->trim != NULL)
        backend->trim(backend);
}

void gr_store_close(gr_store *store) {
    if (store->blocks == NULL)
        return;
    gr_shelf_clear(&store->shelf);
    gr_block_list_close(store->blocks);
    while (store->shared != NULL) {
        gr_shared *self = store->shared;
        store->shared = self->next;
        free(self);
    }
}

static gr_devptr find_shared(gr_store *store, const gr_order *order) {
    gr_devptr found = 0;
    pthread_mutex_lock(&store->shelf.lock);
    for (const gr_shared *self = store->shared; found == 0 && self != NULL; self = self->next)
        if (self->stream == order->id && self->capture == order->capture)
            found = self->address;
    pthread_mutex_unlock(&store->shelf.lock);
    return found;
}

/* Another thread may have captured from the same stream meanwhile: then both pieces are right. Streams are
   captured one time after the other, so the piece of an earlier capture is not asked for any more. */
static void add_shared(gr_store *store, gr_shared *self) {
    pthread_mutex_lock(&store->shelf.lock);
    gr_shared **place = &store->shared;
    while (*place != NULL && (*place)->stream != self->stream)
        place = &(*place)->next;
    gr_shared *old = *place;
    self->next = old != NULL ? old->next : NULL;
    *place = self;
    pthread_mutex_unlock(&store->shelf.lock);
    free(old);
}

/* Memory of a graph, which nobody but the graph has to give back. */
static gr_status take_for_graph(gr_store *store, const gr_order *order, size_t bytes, bool clean,
                                gr_devptr *out, gr_error *error) {
    gr_backend *backend = store->shelf.backend;
    if (clean && (*out = find_shared(store, order)) != 0)
        return GR_OK;
    gr_shared *shared = clean ? malloc(sizeof *shared) : NULL;
    if (clean && shared == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a captured call");
    gr_block *block = NULL;
    gr_status status = gr_block_take(store->blocks, order, bytes, &block, error);
    if (status == GR_OK && clean) {
        status = backend->fill(backend, backend->own, block->address, 0, bytes, error);
        if (status == GR_OK)
            status = backend->wait(backend, backend->own, error);
        *shared = (gr_shared){.stream = order->id, .capture = order->capture, .address = block->address};
        if (status == GR_OK)
            add_shared(store, shared);
    }
    if (status == GR_OK)
        *out = block->address;
    else
        free(shared);
    if (block != NULL)
        gr_block_give(block, false);
    return status;
}

static gr_status take_once(gr_store *store, const gr_order *order, size_t bytes, bool clean, gr_memory *out,
                           gr_error *error) {
    gr_backend *backend = store->shelf.backend;
    *out = (gr_memory){.order = *order};
    if (order->capture != 0 && clean && bytes > GR_CLEAN_BYTES)
        return gr_fail(error, GR_ERR_VALUE, "a call that is captured has no %zu bytes of clean memory",
                       bytes);
    if (order->capture != 0)
        return take_for_graph(store, order, clean ? GR_CLEAN_BYTES : bytes, clean, &out->address, error);
    if (!clean || bytes > GR_CLEAN_BYTES || backend->guards)
        return take(backend, order, bytes, clean, &out->address, error);
    const gr_status status =
        gr_shelf_take(&store->shelf, &clean_pieces, GR_CLEAN_BYTES, order, &out->kept, error);
    if (status == GR_OK)
        out->address = ((piece *)out->kept)->address;
    return status;
}

bool gr_store_reclaim(gr_store *store, unsigned attempt) {
    gr_backend *backend = store->shelf.backend;
    if (attempt > 0)
        return attempt == 1 && gr_release_caches(backend);
    gr_block_list_free(store->blocks);
    if (backend->trim != NULL)
        backend->trim(backend);
    return true;
}

gr_status gr_store_alloc(gr_store *store, gr_stream stream, size_t bytes, gr_devptr *out, gr_error *error) {
    gr_backend *backend = store->shelf.backend;
    gr_status status = backend->streams->take(backend, stream, bytes, out, error);
    for (unsigned i = 0; status == GR_ERR_MEMORY && gr_store_reclaim(store, i); ++i)
        status = backend->streams->take(backend, stream, bytes, out, error);
    return status;
}

gr_status gr_memory_take(gr_store *store, const gr_order *order, size_t bytes, bool clean, gr_memory *out,
                         gr_error *error) {
    gr_status status = take_once(store, order, bytes, clean, out, error);
    for (unsigned i = 0; status == GR_ERR_MEMORY && order->capture == 0 && gr_store_reclaim(store, i); ++i)
        status = take_once(store, order, bytes, clean, out, error);
    return status;
}

void gr_memory_give(gr_store *store, gr_memory *memory, bool usable) {
    gr_backend *backend = store->shelf.backend;
    if (memory->kept != NULL)
        gr_shelf_give(&store->shelf, memory->kept, usable);
    else if (memory->order.capture == 0)
        backend->streams->drop(backend, memory->order.stream, memory->address);
    *memory = (gr_memory){.address = 0};
}
