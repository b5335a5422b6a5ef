/* Opening and closing devices, the registry, the locks around fork(), and the order between streams. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver.h"

void gr_device_close(gr_device *device) {
    if (device == NULL)
        return;
    if (device->backend != NULL) {
        gr_allocator_close(&device->allocator);
        gr_kernels_unload(&device->kernels);
        device->backend->close(device->backend);
    }
    pthread_mutex_destroy(&device->allocator.free_list.lock);
    pthread_mutex_destroy(&device->kernels.lock);
    free(device);
}

int gr_device_slot(gr_device_kind kind, long index) {
    const bool cuda = kind == GR_DEVICE_CUDA; /* otherwise the simulator */
    if (index < 0 || index >= (cuda ? GR_MAX_CUDA_DEVICES : GR_MAX_SIM_DEVICES))
        return -1;
    return (int)index + (cuda ? GR_MAX_SIM_DEVICES : 0);
}

gr_status gr_device_open(gr_device_kind kind, int index, const char *image_folder, gr_device **out,
                         gr_error *error) {
    gr_device *device = calloc(1, sizeof *device);
    if (device == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory to open a device");
    gr_free_list_init(&device->allocator.free_list);
    gr_kernels_init(&device->kernels, image_folder);
    gr_status status = kind == GR_DEVICE_CUDA ? gr_backend_cuda_open(index, &device->backend, error)
                                              : gr_backend_sim_open(&device->backend, error);
    if (status == GR_OK)
        status = gr_allocator_open(&device->allocator, device->backend, error);
    if (status != GR_OK) {
        gr_device_close(device);
        return status;
    }
    device->backend->info.index = index;
    device->kernels.backend = device->backend;
    *out = device;
    return GR_OK;
}

gr_status gr_registry_open(gr_registry *registry, const char *image_folder, gr_error *error) {
    memset(registry, 0, sizeof *registry);
    registry->image_folder = strdup(image_folder);
    if (registry->image_folder == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for the device registry");
    pthread_mutex_init(&registry->lock, NULL);
    return GR_OK;
}

void gr_registry_close(gr_registry *registry) {
    if (registry->image_folder == NULL)
        return;
    for (int i = 0; i < GR_DEVICES; ++i)
        gr_device_close(registry->devices[i]);
    pthread_mutex_destroy(&registry->lock);
    free(registry->image_folder);
    memset(registry, 0, sizeof *registry);
}

void gr_registry_release_cached(gr_registry *registry) {
    pthread_mutex_lock(&registry->lock); /* devices stay open until the registry closes */
    gr_device *devices[GR_DEVICES];
    memcpy(devices, registry->devices, sizeof devices);
    pthread_mutex_unlock(&registry->lock);
    for (int i = 0; i < GR_DEVICES; ++i)
        if (devices[i] != NULL)
            gr_allocator_clear(&devices[i]->allocator);
}

static void device_lock_for_fork(gr_device *device, bool taken) {
    if (device == NULL)
        return;
    gr_backend *backend = device->backend;
    pthread_mutex_t *const locks[] = {&device->kernels.lock, &device->allocator.free_list.lock};
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; ++i)
        (taken ? pthread_mutex_lock : pthread_mutex_unlock)(locks[i]);
    if (backend->lock_for_fork != NULL)
        backend->lock_for_fork(backend, taken);
}

void gr_registry_lock_for_fork(gr_registry *registry, bool taken) {
    if (registry->image_folder == NULL)
        return;
    if (taken)
        pthread_mutex_lock(&registry->lock);
    for (int i = 0; i < GR_DEVICES; ++i)
        device_lock_for_fork(registry->devices[i], taken);
    gr_cuda_driver_lock_for_fork(taken);
    if (!taken)
        pthread_mutex_unlock(&registry->lock);
}

gr_status gr_registry_device(gr_registry *registry, gr_device_kind kind, long index, gr_device **out,
                             gr_error *error) {
    if (registry->image_folder == NULL)
        return gr_fail(error, GR_ERR_DEVICE,
                       "the device registry is not open; import gpureduce, not its core");
    const bool cuda = kind == GR_DEVICE_CUDA;
    const int place = gr_device_slot(kind, index);
    if (place < 0)
        return gr_fail(error, GR_ERR_DEVICE, "%s:%ld: no such device; indices go from 0 to %d",
                       cuda ? "cuda" : "sim", index, (cuda ? GR_MAX_CUDA_DEVICES : GR_MAX_SIM_DEVICES) - 1);
    gr_device **slot = &registry->devices[place];
    pthread_mutex_lock(&registry->lock);
    gr_status status =
        *slot != NULL ? GR_OK : gr_device_open(kind, (int)index, registry->image_folder, slot, error);
    *out = *slot;
    pthread_mutex_unlock(&registry->lock);
    return status;
}

gr_status gr_device_attach(gr_device *device, gr_error *error) {
    gr_backend *backend = device->backend;
    return backend->attach != NULL ? backend->attach(backend, error) : GR_OK;
}

void gr_device_detach(gr_device *device) {
    if (device->backend->detach != NULL)
        device->backend->detach(device->backend);
}

gr_status gr_stream_get_state(gr_device *device, gr_stream stream, gr_stream_state *out, gr_error *error) {
    const gr_status status = device->backend->streams->get_state(device->backend, stream, out, error);
    if (status == GR_OK && out->capture_would_invalidate)
        return gr_fail(error, GR_ERR_DEVICE,
                       "the default stream cannot be used now: a stream that waits for it is being captured "
                       "into a graph; make the call in that stream, or capture from a non-blocking one");
    return status;
}

typedef struct event {
    gr_cached cached;
    gr_event event;
} event;

static gr_status event_open(gr_free_list *free_list, gr_cached *self, gr_error *error) {
    return free_list->backend->streams->event_open(free_list->backend, &((event *)self)->event, error);
}

static void event_close(gr_free_list *free_list, gr_cached *self) {
    free_list->backend->streams->event_close(free_list->backend, ((event *)self)->event);
}

static const gr_cached_kind events = {"an event", sizeof(event), 16, event_open, event_close};

gr_status gr_stream_wait_for(gr_device *device, gr_stream from, gr_stream to, gr_error *error) {
    gr_backend *backend = device->backend;
    const gr_stream_ops *streams = backend->streams;
    gr_stream_state before, after = {.stream = to};
    if (from == to)
        return GR_OK;
    gr_status status = streams->get_state(backend, from, &before, error);
    if (status == GR_OK)
        status = streams->get_state(backend, to, &after, error);
    if (status != GR_OK || before.id == after.id || before.capture != after.capture ||
        before.capture_would_invalidate || after.capture_would_invalidate)
        return status;
    gr_cached *cached = NULL;
    status = gr_free_list_acquire(&device->allocator.free_list, &events, 0, NULL, &cached, error);
    if (status != GR_OK)
        return status;
    status = streams->record(backend, from, ((event *)cached)->event, error);
    if (status == GR_OK)
        status = streams->wait_event(backend, to, ((event *)cached)->event, error);
    gr_free_list_release(&device->allocator.free_list, cached, status == GR_OK);
    return status;
}

gr_status gr_stream_check(gr_device *device, gr_stream stream, gr_error *error) {
    gr_stream_state stream_state;
    const gr_status status = gr_stream_get_state(device, stream, &stream_state, error);
    if (status == GR_OK && stream_state.capture != 0)
        return gr_fail(
            error, GR_ERR_VALUE,
            "stream: a result that is captured into a graph cannot be read on the host before the graph "
            "is launched");
    return status;
}

gr_status gr_allocation_new(gr_device *device, gr_stream stream, size_t bytes, gr_allocation **out,
                            gr_error *error) {
    gr_stream_state stream_state;
    const gr_status status = gr_stream_get_state(device, stream, &stream_state, error);
    return status == GR_OK
               ? gr_allocation_acquire(device->allocator.allocations, &stream_state, bytes, out, error)
               : status;
}

gr_status gr_allocation_move(gr_device *device, gr_allocation *allocation, gr_error *error) {
    gr_backend *backend = device->backend;
    if (allocation->stream_state.capture != 0) /* the graph orders its end */
        return GR_OK;
    const gr_status status =
        gr_stream_wait_for(device, allocation->stream_state.stream, backend->internal_stream, error);
    return status == GR_OK ? backend->streams->get_state(backend, backend->internal_stream,
                                                         &allocation->stream_state, error)
                           : status;
}
