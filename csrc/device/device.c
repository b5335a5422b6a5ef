#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/driver.h"

void gr_device_close(gr_device *device) {
    if (device == NULL)
        return;
    if (device->backend != NULL) {
        gr_shelf_clear(&device->shelf);
        gr_kernels_unload(&device->kernels);
        device->backend->close(device->backend);
    }
    pthread_mutex_destroy(&device->shelf.lock);
    pthread_mutex_destroy(&device->kernels.lock);
    free(device);
}

gr_status gr_device_open(gr_device_kind kind, int index, const char *image_folder, gr_device **out,
                         gr_error *error) {
    gr_device *device = calloc(1, sizeof *device);
    if (device == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory to open a device");
    gr_shelf_init(&device->shelf);
    gr_kernels_init(&device->kernels, image_folder);
    const gr_status status = kind == GR_DEVICE_CUDA ? gr_backend_cuda_open(index, &device->backend, error)
                                                    : gr_backend_sim_open(&device->backend, error);
    if (status != GR_OK) {
        gr_device_close(device);
        return status;
    }
    device->shelf.backend = device->kernels.backend = device->backend;
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

void gr_registry_trim(gr_registry *registry) {
    pthread_mutex_lock(&registry->lock); /* devices stay open until the registry closes */
    gr_device *devices[GR_DEVICES];
    memcpy(devices, registry->devices, sizeof devices);
    pthread_mutex_unlock(&registry->lock);
    for (int i = 0; i < GR_DEVICES; ++i)
        if (devices[i] != NULL)
            gr_shelf_clear(&devices[i]->shelf);
}

static void device_hold(gr_device *device, bool taken) {
    if (device == NULL)
        return;
    gr_backend *backend = device->backend;
    pthread_mutex_t *const locks[] = {&device->kernels.lock, &device->shelf.lock};
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; ++i)
        (taken ? pthread_mutex_lock : pthread_mutex_unlock)(locks[i]);
    if (backend->hold != NULL)
        backend->hold(backend, taken);
}

void gr_registry_hold(gr_registry *registry, bool taken) {
    if (registry->image_folder == NULL)
        return;
    if (taken)
        pthread_mutex_lock(&registry->lock);
    for (int i = 0; i < GR_DEVICES; ++i)
        device_hold(registry->devices[i], taken);
    gr_cuda_driver_hold(taken);
    if (!taken)
        pthread_mutex_unlock(&registry->lock);
}

gr_status gr_registry_device(gr_registry *registry, gr_device_kind kind, long index, gr_device **out,
                             gr_error *error) {
    if (registry->image_folder == NULL)
        return gr_fail(error, GR_ERR_DEVICE,
                       "the device registry is not open; import gpureduce, not its core");
    if (kind == GR_DEVICE_CUDA && (index < 0 || index >= GR_MAX_CUDA_DEVICES))
        return gr_fail(error, GR_ERR_DEVICE, "cuda:%ld: no such device; indices go from 0 to %d", index,
                       GR_MAX_CUDA_DEVICES - 1);
    gr_device **slot = &registry->devices[kind == GR_DEVICE_CUDA ? 1 + index : 0];
    pthread_mutex_lock(&registry->lock);
    gr_status status =
        *slot != NULL ? GR_OK : gr_device_open(kind, (int)index, registry->image_folder, slot, error);
    *out = *slot;
    pthread_mutex_unlock(&registry->lock);
    return status;
}
