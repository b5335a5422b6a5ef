/* The CUDA implementation of backend.h. Uses the primary context of a device, which other CUDA libraries of
 * the process share, and the legacy default stream, which is ordered with theirs. Each operation makes the
 * context current for its own duration, so any thread may call and finds its own context unchanged. */
#include <stdlib.h>

#include "device/cuda/context.h"

static gr_status cuda_enter(gr_backend *base, gr_error *error) {
    return gr_cuda_enter(as_cuda(base), error);
}

static void cuda_leave(gr_backend *base) {
    gr_error ignored;
    gr_cuda_leave(as_cuda(base), GR_OK, &ignored);
}

/* cuMemFree waits for all work that could use the memory, so freeing one byte synchronizes the device.
 * cuCtxSynchronize would invalidate every capture of the process, in all modes; cuMemFree does not (H200,
 * driver 580). */
static gr_status cuda_sync(gr_backend *base, gr_error *error) {
    cuda_backend *self = as_cuda(base);
    const gr_cuda_driver *driver = self->driver;
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    gr_cu_deviceptr sync_probe = atomic_exchange(&self->sync_probe, 0);
    gr_cu_result result = sync_probe == 0 ? driver->alloc(&sync_probe, 1) : GR_CU_SUCCESS;
    if (result == GR_CU_SUCCESS)
        result = driver->free(sync_probe);
    if (result == GR_CU_SUCCESS && driver->alloc(&sync_probe, 1) == GR_CU_SUCCESS) {
        sync_probe = atomic_exchange(&self->sync_probe, sync_probe);
        if (sync_probe != 0) /* the allocation of another thread that synchronized meanwhile */
            driver->free(sync_probe);
    }
    status = gr_cuda_check(driver, result, error, "waiting for the work on cuda:%d", base->info.index);
    return gr_cuda_leave(self, status, error);
}

static gr_status cuda_wait(gr_backend *base, gr_stream stream, gr_error *error) {
    return GR_CUDA_CALL(base, stream, error, stream_wait(gr_cuda_stream(stream)),
                        "waiting for a stream on cuda:%d", base->info.index);
}

static void cuda_close(gr_backend *base) {
    cuda_backend *self = as_cuda(base);
    gr_error ignored;
    if (!self)
        return;
    if (self->context && gr_cuda_check_process(&ignored) == GR_OK) {
        gr_cuda_memory_close(self);
        gr_cuda_free(base, atomic_exchange(&self->sync_probe, 0));
        base->streams->stream_close(base, base->internal_stream);
        self->driver->context_release(self->device);
    }
    free(self);
}

gr_status gr_backend_cuda_count(int *count, gr_error *error) {
    const gr_cuda_driver *driver;
    int present = 0;
    gr_status status = gr_cuda_driver_get(&driver, error);
    if (status == GR_OK)
        status = gr_cuda_check(driver, driver->device_count(&present), error, "counting the CUDA devices");
    if (status == GR_OK && present == 0)
        status = gr_fail(error, GR_ERR_DEVICE, "the CUDA driver is present, but it reports no device");
    if (status == GR_OK)
        *count = present;
    return status;
}

static gr_status find_device(int index, const gr_cuda_driver **driver, gr_cu_device *device,
                             gr_error *error) {
    int count = 0;
    gr_status status = gr_backend_cuda_count(&count, error);
    if (status == GR_OK && (index < 0 || index >= count))
        status =
            gr_fail(error, GR_ERR_DEVICE, "cuda:%d: no such device; %d CUDA device(s) present", index, count);
    if (status == GR_OK)
        status = gr_cuda_driver_get(driver, error);
    if (status == GR_OK)
        status =
            gr_cuda_check(*driver, (*driver)->device_get(device, index), error, "opening cuda:%d", index);
    return status;
}

static gr_status read_info(const gr_cuda_driver *driver, gr_cu_device device, int index, gr_device_info *info,
                           gr_error *error) {
    *info = (gr_device_info){.kind = GR_DEVICE_CUDA, .index = index};
    int multiprocessors = 0, threads = 0, clock_khz = 0, bus_bits = 0, shared = 0, clusters = 0;
    const struct {
        int attribute, *value;
    } wanted[] = {{GR_CU_DEVICE_CAPABILITY_MAJOR, &info->capability_major},
                  {GR_CU_DEVICE_CAPABILITY_MINOR, &info->capability_minor},
                  {GR_CU_DEVICE_MULTIPROCESSORS, &multiprocessors},
                  {GR_CU_DEVICE_THREADS_PER_MULTIPROCESSOR, &threads},
                  {GR_CU_DEVICE_MEMORY_CLOCK_KHZ, &clock_khz},
                  {GR_CU_DEVICE_MEMORY_BUS_BITS, &bus_bits},
                  {GR_CU_DEVICE_SHARED_PER_BLOCK_OPTIN, &shared},
                  {GR_CU_DEVICE_CLUSTER_LAUNCH, &clusters}};
    size_t memory = 0;
    gr_status status = gr_cuda_check(driver, driver->device_name(info->name, (int)sizeof info->name, device),
                                     error, "reading the device's name");
    for (size_t i = 0; status == GR_OK && i < sizeof wanted / sizeof *wanted; ++i)
        status = gr_cuda_check(driver, driver->device_attribute(wanted[i].value, wanted[i].attribute, device),
                               error, "reading device attribute %d", wanted[i].attribute);
    if (status == GR_OK)
        status = gr_cuda_check(driver, driver->device_memory(&memory, device), error,
                               "reading the device's memory size");
    if (status == GR_OK)
        status = gr_cuda_check(driver, driver->driver_version(&info->driver_version), error,
                               "reading the driver's version");
    info->caps = (gr_device_caps){
        .capability = (uint32_t)(info->capability_major * 10 + info->capability_minor),
        .shared_per_block = (uint32_t)shared,
        .clusters = clusters != 0,
    };
    info->multiprocessors = (uint32_t)multiprocessors;
    info->threads_per_multiprocessor = (uint32_t)threads;
    info->memory_bytes = memory;
    /* Two transfers per clock cycle: double data rate. */
    info->memory_bytes_per_second = 2 * 1000 * (uint64_t)clock_khz * (uint64_t)bus_bits / 8;
    return status;
}

gr_status gr_backend_cuda_info(int index, gr_device_info *info, gr_error *error) {
    const gr_cuda_driver *driver;
    gr_cu_device device;
    gr_status status = find_device(index, &driver, &device, error);
    return status == GR_OK ? read_info(driver, device, index, info, error) : status;
}

gr_status gr_backend_cuda_pointer(uint64_t address, int *index, gr_error *error) {
    const gr_cuda_driver *driver;
    gr_status status = gr_cuda_driver_get(&driver, error);
    if (status != GR_OK)
        return status;
    status = gr_cuda_check(driver, driver->pointer_attribute(index, GR_CU_POINTER_DEVICE, address), error,
                           "looking up the device of address 0x%llx", (unsigned long long)address);
    if (status == GR_OK && *index < 0) /* mapped host memory belongs to no device */
        status = gr_fail(error, GR_ERR_DEVICE, "address 0x%llx is not on a CUDA device",
                         (unsigned long long)address);
    return status;
}

gr_status gr_backend_cuda_current(int *index, gr_error *error) {
    const gr_cuda_driver *driver;
    const gr_status status = gr_cuda_driver_get(&driver, error);
    return status == GR_OK
               ? gr_cuda_check(driver, driver->context_device(index), error, "asking for the current device")
               : status;
}

static const gr_backend cuda_operations = {
    .streams = &gr_cuda_stream_ops,
    .machine_code_suffix = ".fatbin",
    .close = cuda_close,
    .alloc = gr_cuda_alloc,
    .free = gr_cuda_free,
    .upload = gr_cuda_upload,
    .download = gr_cuda_download,
    .memset_async = gr_cuda_memset_async,
    .release_cached = gr_cuda_release_cached,
    .load = gr_cuda_load,
    .unload = gr_cuda_unload,
    .find = gr_cuda_find,
    .launch = gr_cuda_launch,
    .map_tensor = gr_cuda_map_tensor,
    .sync = cuda_sync,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .attach = gr_cuda_attach,
    .detach = gr_cuda_detach,
    .wait = cuda_wait,
    .time = gr_cuda_time,
};

gr_status gr_backend_cuda_open(int index, gr_backend **out, gr_error *error) {
    const gr_cuda_driver *driver = NULL;
    gr_cu_device device = 0;
    gr_status status = find_device(index, &driver, &device, error);
    if (status != GR_OK)
        return status;
    cuda_backend *self = calloc(1, sizeof *self);
    if (!self)
        return gr_fail(error, GR_ERR_MEMORY, "out of memory opening cuda:%d", index);
    self->base = cuda_operations;
    self->driver = driver;
    self->device = device;
    status = read_info(driver, device, index, &self->base.info, error);
    if (status == GR_OK)
        status = gr_cuda_check(driver, driver->context_retain(&self->context, device), error,
                               "making a context on cuda:%d", index);
    if (status == GR_OK)
        status = gr_cuda_memory_open(self, error);
    if (status == GR_OK)
        status = self->base.streams->stream_open(&self->base, &self->base.internal_stream, error);
    if (status != GR_OK) {
        cuda_close(&self->base);
        return status;
    }
    *out = &self->base;
    return GR_OK;
}
