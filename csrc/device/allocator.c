/* Workspace for calls: cached zeroed pieces for each stream, stream-ordered allocations, and memory that
 * captured graphs own. */
#include "device/allocator.h"

/* Max. cached zeroed workspaces: of streams (a program that uses more streams sometimes waits for the
 * device); of streams, of more than GR_ZEROED_BYTES; of captures. */
enum { MAX_ZEROED = 64, MAX_LARGE = 4, MAX_CAPTURED = 16 };

typedef struct zeroed_workspace {
    gr_cached cached;
    gr_devptr address;
} zeroed_workspace;

static gr_status alloc(gr_backend *backend, const gr_stream_state *stream_state, size_t bytes, bool zeroed,
                       gr_devptr *out, gr_error *error) {
    gr_status status = backend->streams->alloc_async(backend, stream_state->stream, bytes, out, error);
    if (status == GR_OK && zeroed &&
        (status = backend->memset_async(backend, stream_state->stream, *out, 0, bytes, error)) != GR_OK) {
        backend->streams->free_async(backend, stream_state->stream, *out);
        *out = 0;
    }
    return status;
}

/* Allocates memory that the graph owns which is being captured. */
static gr_status alloc_for_graph(gr_allocation_list *allocations, const gr_stream_state *stream_state,
                                 size_t bytes, gr_devptr *out, gr_error *error) {
    gr_allocation *allocation = NULL;
    const gr_status status = gr_allocation_acquire(allocations, stream_state, bytes, &allocation, error);
    if (status != GR_OK)
        return status;
    *out = allocation->address;
    gr_allocation_release(allocation, false);
    return GR_OK;
}

static gr_status zeroed_open(gr_free_list *free_list, gr_cached *self, gr_error *error) {
    return alloc(free_list->backend, &self->stream_state, self->bytes, true,
                 &((zeroed_workspace *)self)->address, error);
}

/* The stream may be destroyed already, so stream-ordered free is not possible. */
static void zeroed_close(gr_free_list *free_list, gr_cached *self) {
    gr_backend *backend = free_list->backend;
    gr_error ignored;
    if (backend->sync(backend, &ignored) == GR_OK)
        backend->free(backend, ((zeroed_workspace *)self)->address);
}

/* Zeroed workspace of a stream during a capture; the graph owns it. The captured work of a stream is ordered,
 * so all its calls share one workspace, unless threads capture from one stream at once. */
static gr_status captured_open(gr_free_list *free_list, gr_cached *self, gr_error *error) {
    gr_backend *backend = free_list->backend;
    gr_devptr *address = &((zeroed_workspace *)self)->address;
    gr_allocation_list *allocations = ((gr_allocator *)free_list)->allocations;
    gr_status status = alloc_for_graph(allocations, &self->stream_state, self->bytes, address, error);
    if (status == GR_OK)
        status = backend->memset_async(backend, backend->internal_stream, *address, 0, self->bytes, error);
    return status == GR_OK ? backend->wait(backend, backend->internal_stream, error) : status;
}

static void captured_close(gr_free_list *free_list, gr_cached *self) {
    (void)free_list;
    (void)self;
}

static const gr_cached_kind zeroed_pieces = {"a call", sizeof(zeroed_workspace), MAX_ZEROED, zeroed_open,
                                             zeroed_close},
                            large_pieces = {"a call", sizeof(zeroed_workspace), MAX_LARGE, zeroed_open,
                                            zeroed_close},
                            captured_pieces = {"a captured call", sizeof(zeroed_workspace), MAX_CAPTURED,
                                               captured_open, captured_close};

gr_status gr_allocator_open(gr_allocator *allocator, gr_backend *backend, gr_error *error) {
    allocator->free_list.backend = backend;
    return gr_allocation_list_open(backend, &allocator->allocations, error);
}

void gr_allocator_clear(gr_allocator *allocator) {
    gr_backend *backend = allocator->free_list.backend;
    gr_free_list_clear(&allocator->free_list);
    gr_allocation_list_collect(allocator->allocations);
    if (backend->release_cached != NULL)
        backend->release_cached(backend);
}

void gr_allocator_close(gr_allocator *allocator) {
    if (allocator->allocations == NULL)
        return;
    gr_free_list_clear(&allocator->free_list);
    gr_allocation_list_close(allocator->allocations);
}

/* The size that a zeroed workspace is cached by: powers of two, and three sizes between two of them. */
static size_t size_class(size_t bytes) {
    size_t step = GR_ZEROED_BYTES / 4;
    if (bytes <= GR_ZEROED_BYTES)
        return GR_ZEROED_BYTES;
    while (bytes / 8 >= step)
        step *= 2;
    return (bytes + step - 1) / step * step;
}

static gr_status alloc_once(gr_allocator *allocator, const gr_stream_state *stream_state, size_t bytes,
                            bool zeroed, gr_memory *out, gr_error *error) {
    gr_backend *backend = allocator->free_list.backend;
    const bool captured = stream_state->capture != 0;
    *out = (gr_memory){.stream_state = *stream_state};
    if (captured && !zeroed)
        return alloc_for_graph(allocator->allocations, stream_state, bytes, &out->address, error);
    if (!zeroed || backend->detects_out_of_bounds) {
        out->checked = zeroed ? bytes : 0;
        return alloc(backend, stream_state, bytes, zeroed, &out->address, error);
    }
    const gr_cached_kind *kind = captured                   ? &captured_pieces
                                 : bytes <= GR_ZEROED_BYTES ? &zeroed_pieces
                                                            : &large_pieces;
    const gr_status status = gr_free_list_acquire(&allocator->free_list, kind, size_class(bytes),
                                                  stream_state, &out->cached, error);
    if (status == GR_OK)
        out->address = ((zeroed_workspace *)out->cached)->address;
    return status;
}

bool gr_allocator_reclaim(gr_allocator *allocator, unsigned attempt) {
    gr_backend *backend = allocator->free_list.backend;
    if (attempt > 0)
        return attempt == 1 && gr_release_caches(backend);
    gr_free_list_close_idle(&allocator->free_list, &large_pieces);
    gr_allocation_list_collect(allocator->allocations);
    if (backend->release_cached != NULL)
        backend->release_cached(backend);
    return true;
}

gr_status gr_allocator_alloc(gr_allocator *allocator, gr_stream stream, size_t bytes, gr_devptr *out,
                             gr_error *error) {
    gr_backend *backend = allocator->free_list.backend;
    gr_status status = backend->streams->alloc_async(backend, stream, bytes, out, error);
    for (unsigned i = 0; status == GR_ERR_MEMORY && gr_allocator_reclaim(allocator, i); ++i)
        status = backend->streams->alloc_async(backend, stream, bytes, out, error);
    return status;
}

gr_status gr_memory_alloc(gr_allocator *allocator, const gr_stream_state *stream_state, size_t bytes,
                          bool zeroed, gr_memory *out, gr_error *error) {
    gr_status status = alloc_once(allocator, stream_state, bytes, zeroed, out, error);
    for (unsigned i = 0;
         status == GR_ERR_MEMORY && stream_state->capture == 0 && gr_allocator_reclaim(allocator, i); ++i)
        status = alloc_once(allocator, stream_state, bytes, zeroed, out, error);
    return status;
}

void gr_memory_free(gr_allocator *allocator, gr_memory *memory, bool usable) {
    gr_backend *backend = allocator->free_list.backend;
    if (memory->cached != NULL)
        gr_free_list_release(&allocator->free_list, memory->cached, usable);
    else if (memory->stream_state.capture == 0)
        backend->streams->free_async(backend, memory->stream_state.stream, memory->address);
    *memory = (gr_memory){.address = 0};
}

gr_status gr_memory_check(gr_allocator *allocator, const gr_memory *memory, gr_error *error) {
    gr_backend *backend = allocator->free_list.backend;
    unsigned char piece[4096];
    for (size_t done = 0; done < memory->checked;) {
        const size_t rest = memory->checked - done, bytes = rest < sizeof piece ? rest : sizeof piece;
        const gr_status status = backend->download(backend, memory->stream_state.stream, piece,
                                                   memory->address + done, bytes, error);
        if (status != GR_OK)
            return status;
        for (size_t i = 0; i < bytes; ++i)
            if (piece[i] != 0)
                return gr_fail(error, GR_ERR_SIMULATION,
                               "kernels left byte %zu of %zu of a zeroed workspace at 0x%02x", done + i,
                               memory->checked, piece[i]);
        done += bytes;
    }
    return GR_OK;
}
