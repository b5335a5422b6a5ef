/* Workspace for calls: cached zeroed pieces for each stream, stream-ordered allocations, and memory that
 * captured graphs own. */
#include "device/allocator.h"

#include <stdlib.h>

/* Max cached zeroed workspaces. A program with more streams sometimes waits for the device. */
enum { MAX_ZEROED = 64 };

/* Zeroed workspace of a stream during a capture. The captured work of a stream is ordered, so all its calls
 * share one workspace. */
typedef struct gr_capture_workspace {
    struct gr_capture_workspace *next;
    uint64_t stream, capture;
    gr_devptr address;
} gr_capture_workspace;

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

static gr_status zeroed_open(gr_backend *backend, gr_cached *self, gr_error *error) {
    return alloc(backend, &self->stream_state, self->bytes, true, &((zeroed_workspace *)self)->address,
                 error);
}

/* The stream may be destroyed already, so stream-ordered free is not possible. */
static void zeroed_close(gr_backend *backend, gr_cached *self) {
    gr_error ignored;
    if (backend->sync(backend, &ignored) == GR_OK)
        backend->free(backend, ((zeroed_workspace *)self)->address);
}

static const gr_cached_kind zeroed_pieces = {"a call", sizeof(zeroed_workspace), MAX_ZEROED, zeroed_open,
                                             zeroed_close};

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
    while (allocator->shared != NULL) {
        gr_capture_workspace *self = allocator->shared;
        allocator->shared = self->next;
        free(self);
    }
}

static gr_devptr find_capture_workspace(gr_allocator *allocator, const gr_stream_state *stream_state) {
    gr_devptr found = 0;
    pthread_mutex_lock(&allocator->free_list.lock);
    for (const gr_capture_workspace *self = allocator->shared; found == 0 && self != NULL; self = self->next)
        if (self->stream == stream_state->id && self->capture == stream_state->capture)
            found = self->address;
    pthread_mutex_unlock(&allocator->free_list.lock);
    return found;
}

/* Another thread may have captured from the same stream meanwhile: then both workspaces are valid. Captures
 * of a stream follow one another, so the workspace of an earlier capture is not needed again. */
static void add_capture_workspace(gr_allocator *allocator, gr_capture_workspace *self) {
    pthread_mutex_lock(&allocator->free_list.lock);
    gr_capture_workspace **place = &allocator->shared;
    while (*place != NULL && (*place)->stream != self->stream)
        place = &(*place)->next;
    gr_capture_workspace *old = *place;
    self->next = old != NULL ? old->next : NULL;
    *place = self;
    pthread_mutex_unlock(&allocator->free_list.lock);
    free(old);
}

/* Workspace of a graph; the graph owns it. */
static gr_status alloc_for_graph(gr_allocator *allocator, const gr_stream_state *stream_state, size_t bytes,
                                 bool zeroed, gr_devptr *out, gr_error *error) {
    gr_backend *backend = allocator->free_list.backend;
    if (zeroed && (*out = find_capture_workspace(allocator, stream_state)) != 0)
        return GR_OK;
    gr_capture_workspace *shared = zeroed ? malloc(sizeof *shared) : NULL;
    if (zeroed && shared == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a captured call");
    gr_allocation *allocation = NULL;
    gr_status status = gr_allocation_acquire(allocator->allocations, stream_state, bytes, &allocation, error);
    if (status == GR_OK && zeroed) {
        status =
            backend->memset_async(backend, backend->internal_stream, allocation->address, 0, bytes, error);
        if (status == GR_OK)
            status = backend->wait(backend, backend->internal_stream, error);
        *shared = (gr_capture_workspace){
            .stream = stream_state->id, .capture = stream_state->capture, .address = allocation->address};
        if (status == GR_OK)
            add_capture_workspace(allocator, shared);
    }
    if (status == GR_OK)
        *out = allocation->address;
    else
        free(shared);
    if (allocation != NULL)
        gr_allocation_release(allocation, false);
    return status;
}

static gr_status alloc_once(gr_allocator *allocator, const gr_stream_state *stream_state, size_t bytes,
                            bool zeroed, gr_memory *out, gr_error *error) {
    gr_backend *backend = allocator->free_list.backend;
    *out = (gr_memory){.stream_state = *stream_state};
    if (stream_state->capture != 0 && zeroed && bytes > GR_ZEROED_BYTES)
        return gr_fail(error, GR_ERR_VALUE, "a call that is captured has no %zu bytes of clean memory",
                       bytes);
    if (stream_state->capture != 0)
        return alloc_for_graph(allocator, stream_state, zeroed ? GR_ZEROED_BYTES : bytes, zeroed,
                               &out->address, error);
    if (!zeroed || bytes > GR_ZEROED_BYTES || backend->detects_out_of_bounds)
        return alloc(backend, stream_state, bytes, zeroed, &out->address, error);
    const gr_status status = gr_free_list_acquire(&allocator->free_list, &zeroed_pieces, GR_ZEROED_BYTES,
                                                  stream_state, &out->cached, error);
    if (status == GR_OK)
        out->address = ((zeroed_workspace *)out->cached)->address;
    return status;
}

bool gr_allocator_reclaim(gr_allocator *allocator, unsigned attempt) {
    gr_backend *backend = allocator->free_list.backend;
    if (attempt > 0)
        return attempt == 1 && gr_release_caches(backend);
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
