/* Reference-counted allocations and their deferred frees, and the callback that frees caches of other
 * libraries. */
#include "device/allocation.h"

#include <stdlib.h>

/* Limits of deferred frees; beyond them the next allocation frees them. */
enum { MAX_DEFERRED_BYTES = 256 << 20, MAX_DEFERRED = 1024 };

/* A lock-free stack of deferred frees: the destructor of a graph runs in a thread of the driver, possibly
 * during fork(). */
struct gr_allocation_list {
    gr_backend *backend;
    _Atomic(gr_allocation *) deferred;
    atomic_size_t deferred_bytes, deferred_count;
    atomic_size_t references; /* references: the device and each allocation */
};

static _Atomic(gr_low_memory) low_memory;

void gr_on_low_memory(gr_low_memory callback) {
    atomic_store(&low_memory, callback);
}

bool gr_release_caches(gr_backend *backend) {
    const gr_low_memory callback = atomic_load(&low_memory);
    gr_error ignored;
    if (callback == NULL || backend->info.kind != GR_DEVICE_CUDA ||
        backend->enter(backend, &ignored) != GR_OK)
        return false;
    const bool released = callback(backend->info.index);
    backend->leave(backend);
    return released;
}

gr_status gr_allocation_list_open(gr_backend *backend, gr_allocation_list **out, gr_error *error) {
    gr_allocation_list *allocations = calloc(1, sizeof *allocations);
    if (allocations == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for the blocks of a device");
    allocations->backend = backend;
    atomic_init(&allocations->references, 1);
    *out = allocations;
    return GR_OK;
}

static void unreference_list(gr_allocation_list *allocations) {
    if (atomic_fetch_sub(&allocations->references, 1) > 1)
        return;
    for (gr_allocation *allocation = atomic_load(&allocations->deferred), *next; allocation != NULL;
         allocation = next) {
        next = allocation->next;
        free(allocation); /* the device and its memory are closed already */
    }
    free(allocations);
}

void gr_allocation_list_close(gr_allocation_list *allocations) {
    if (allocations == NULL)
        return;
    gr_allocation_list_collect(allocations);
    unreference_list(allocations);
}

static void defer(gr_allocation_list *allocations, gr_allocation *allocation) {
    allocation->next = atomic_load(&allocations->deferred);
    while (!atomic_compare_exchange_weak(&allocations->deferred, &allocation->next, allocation))
        ;
}

/* Drops a reference; the last one defers the free. */
static void release(void *arg) {
    gr_allocation *allocation = arg;
    gr_allocation_list *list = allocation->list;
    if (atomic_fetch_sub(&allocation->references, 1) > 1)
        return;
    atomic_fetch_add(&list->deferred_bytes, allocation->bytes);
    atomic_fetch_add(&list->deferred_count, 1);
    defer(list, allocation);
    unreference_list(list);
}

void gr_allocation_list_collect(gr_allocation_list *allocations) {
    gr_backend *backend = allocations->backend;
    gr_error ignored;
    gr_allocation *allocation =
        atomic_exchange(&allocations->deferred,
                        NULL); /* exchanged before the synchronization, which does not cover later frees */
    const bool idle = allocation != NULL && backend->sync(backend, &ignored) == GR_OK;
    while (allocation != NULL) {
        gr_allocation *next = allocation->next;
        if (idle) {
            atomic_fetch_sub(&allocations->deferred_bytes, allocation->bytes);
            atomic_fetch_sub(&allocations->deferred_count, 1);
            backend->free(backend, allocation->address);
            free(allocation);
        } else {
            defer(allocations,
                  allocation); /* the device cannot be synchronized now, for example during a capture */
        }
        allocation = next;
    }
}

/* Allocated before the graph runs, and for all of its runs: not a memory node of the graph. */
static gr_status alloc_for_graph(gr_allocation_list *allocations, const gr_stream_state *stream_state,
                                 gr_allocation *allocation, gr_error *error) {
    gr_backend *backend = allocations->backend;
    gr_status status = backend->streams->alloc_async(backend, backend->internal_stream, allocation->bytes,
                                                     &allocation->address, error);
    if (status != GR_OK)
        return status;
    atomic_store(&allocation->references, 2);
    status = backend->wait(backend, backend->internal_stream, error);
    if (status == GR_OK)
        status = backend->streams->retain_in_graph(backend, stream_state, release, allocation, error);
    if (status != GR_OK)
        backend->streams->free_async(backend, backend->internal_stream, allocation->address);
    return status;
}

static gr_status alloc(gr_allocation_list *allocations, const gr_stream_state *stream_state,
                       gr_allocation *allocation, gr_error *error) {
    gr_backend *backend = allocations->backend;
    return stream_state->capture != 0
               ? alloc_for_graph(allocations, stream_state, allocation, error)
               : backend->streams->alloc_async(backend, stream_state->stream, allocation->bytes,
                                               &allocation->address, error);
}

gr_status gr_allocation_acquire(gr_allocation_list *allocations, const gr_stream_state *stream_state,
                                size_t bytes, gr_allocation **out, gr_error *error) {
    if (stream_state->capture == 0 && (atomic_load(&allocations->deferred_bytes) > MAX_DEFERRED_BYTES ||
                                       atomic_load(&allocations->deferred_count) > MAX_DEFERRED))
        gr_allocation_list_collect(allocations);
    gr_allocation *allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a block of device memory");
    *allocation = (gr_allocation){.list = allocations, .bytes = bytes, .stream_state = *stream_state};
    atomic_init(&allocation->references, 1);
    gr_status status = alloc(allocations, stream_state, allocation, error);
    if (status == GR_ERR_MEMORY && stream_state->capture == 0) {
        gr_allocation_list_collect(allocations);
        status = alloc(allocations, stream_state, allocation, error);
        if (status == GR_ERR_MEMORY && gr_release_caches(allocations->backend))
            status = alloc(allocations, stream_state, allocation, error);
    }
    if (status != GR_OK) {
        free(allocation);
        return status;
    }
    atomic_fetch_add(&allocations->references, 1);
    *out = allocation;
    return GR_OK;
}

/* Frees memory in the order of its stream. False if the stream is destroyed, or is being captured. */
static bool free_in_stream(const gr_allocation *allocation) {
    gr_backend *backend = allocation->list->backend;
    const gr_stream_state *state = &allocation->stream_state;
    gr_stream_state now;
    gr_error ignored;
    const bool usable = backend->streams->get_state(backend, state->stream, &now, &ignored) == GR_OK &&
                        !now.capture_would_invalidate && now.id == state->id && now.capture == 0;
    if (usable)
        backend->streams->free_async(backend, state->stream, allocation->address);
    return usable;
}

void gr_allocation_release(gr_allocation *allocation, bool shared) {
    gr_allocation_list *list = allocation->list;
    gr_backend *backend = list->backend;
    gr_error ignored;
    bool freed = false;
    if (!shared && allocation->stream_state.capture == 0) {
        const bool attached = backend->attach != NULL && backend->attach(backend, &ignored) == GR_OK;
        freed = free_in_stream(allocation);
        if (attached)
            backend->detach(backend);
    }
    if (!freed) {
        release(allocation);
        return;
    }
    free(allocation);
    unreference_list(list);
}
