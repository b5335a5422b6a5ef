#include "device/memory.h"

#include <stdlib.h>

/* Pieces of a kind are all of one size, so that calls of any sort share them; larger ones are not kept. */
enum { PLAIN_BYTES = 1 << 20, MOST_PLAIN = 2, MOST_CLEAN = 8 };

typedef struct piece {
    gr_kept kept;
    gr_devptr address;
} piece;

gr_status gr_memory_clear(gr_backend *backend, gr_devptr address, size_t bytes, gr_error *error) {
    void *zeroes = calloc(1, bytes);
    if (zeroes == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu bytes", bytes);
    const gr_status status = backend->upload(backend, address, zeroes, bytes, error);
    free(zeroes);
    return status;
}

static gr_status allocate(gr_backend *backend, size_t bytes, bool clean, gr_devptr *out, gr_error *error) {
    gr_status status = backend->alloc(backend, bytes, out, error);
    if (status == GR_OK && clean && (status = gr_memory_clear(backend, *out, bytes, error)) != GR_OK) {
        backend->free(backend, *out);
        *out = 0;
    }
    return status;
}

static gr_status plain_open(gr_backend *backend, gr_kept *self, gr_error *error) {
    return allocate(backend, self->bytes, false, &((piece *)self)->address, error);
}

static gr_status clean_open(gr_backend *backend, gr_kept *self, gr_error *error) {
    return allocate(backend, self->bytes, true, &((piece *)self)->address, error);
}

static void piece_close(gr_backend *backend, gr_kept *self) {
    backend->free(backend, ((piece *)self)->address);
}

static const gr_kept_kind plain = {
    .name = "a call", .size = sizeof(piece), .most = MOST_PLAIN, .open = plain_open, .close = piece_close};
static const gr_kept_kind cleaned = {
    .name = "a call", .size = sizeof(piece), .most = MOST_CLEAN, .open = clean_open, .close = piece_close};

gr_status gr_memory_take(gr_shelf *shelf, size_t bytes, bool clean, gr_memory *out, gr_error *error) {
    const size_t size = clean ? GR_CLEAN_BYTES : PLAIN_BYTES;
    *out = (gr_memory){.address = 0};
    if (bytes > size || shelf->backend->guards)
        return allocate(shelf->backend, bytes, clean, &out->address, error);
    const gr_status status = gr_shelf_take(shelf, clean ? &cleaned : &plain, size, &out->kept, error);
    if (status == GR_OK)
        out->address = ((piece *)out->kept)->address;
    return status;
}

void gr_memory_give(gr_shelf *shelf, gr_memory *memory, bool usable) {
    if (memory->kept != NULL)
        gr_shelf_give(shelf, memory->kept, usable);
    else
        shelf->backend->free(shelf->backend, memory->address);
    *memory = (gr_memory){.address = 0};
}
