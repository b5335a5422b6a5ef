/* The CUDA implementation of backend.h. Uses the primary context of a device, which other CUDA libraries of
 * the process share, and the legacy default stream, which is ordered with theirs. Each operation makes the
 * context current for its own duration, so any thread may call and finds its own context unchanged. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/context.h"
#include "device/grid_parts.h"
#include "device/ptx_text.h"

/* Limits beyond which a kernel needs an attribute: bytes of dynamic shared memory, blocks per cluster. */
enum { DEFAULT_SHARED_BYTES = 48 * 1024, DEFAULT_CLUSTER = 8 };

struct gr_kernel {
    gr_kernel *next;
    gr_cu_function function;
    uint32_t static_shared;
    _Atomic uint32_t occupancy; /* blocks per multiprocessor, where launches have parts; 0: not known yet */
    char name[];
};

struct gr_module {
    gr_cu_module handle;
    const char *name;
    pthread_mutex_t lock; /* guards the list; the kernels live until the module is unloaded */
    gr_kernel *kernels;
};

static gr_status cuda_enter(gr_backend *base, gr_error *error) {
    return gr_cuda_enter(as_cuda(base), error);
}

static void cuda_leave(gr_backend *base) {
    gr_error ignored;
    gr_cuda_leave(as_cuda(base), GR_OK, &ignored);
}

/* Calls the driver with the image, or with the PTX of the one kernel that it is loaded for: the driver copies
   what it needs. */
static gr_cu_result load_image(const cuda_backend *self, const gr_image *image, gr_cu_module *out,
                               int *options, void **values) {
    if (image->kernel == NULL)
        return self->driver->module_load(out, image->data, 2, options, values);
    char *text = gr_extract_kernel(image->data, image->size, image->kernel);
    const gr_cu_result result =
        text == NULL ? GR_CU_OUT_OF_MEMORY : self->driver->module_load(out, text, 2, options, values);
    free(text);
    return result;
}

static gr_status cuda_load(gr_backend *base, const gr_image *image, gr_module **out, gr_error *error) {
    char log[768] = "";
    int options[] = {GR_CU_JIT_ERROR_LOG, GR_CU_JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    gr_module *module = calloc(1, sizeof *module);
    if (!module)
        return gr_fail(error, GR_ERR_MEMORY, "out of memory loading the kernels of %s", image->name);
    const cuda_backend *self = as_cuda(base);
    gr_cu_result result = GR_CU_SUCCESS;
    gr_status status = gr_cuda_enter(self, error);
    if (status == GR_OK) {
        result = load_image(self, image, &module->handle, options, values);
        status = gr_cuda_check(self->driver, result, error, "loading the kernels of %s on cuda:%d",
                               image->name, base->info.index);
        status = gr_cuda_leave(self, status, error);
    }
    if (image->optional && result == GR_CU_NO_MACHINE_CODE) {
        free(module);
        *out = NULL;
        return GR_OK;
    }
    if (status != GR_OK) {
        const gr_error plain = *error;
        if (*log)
            gr_fail(error, status, "%.640s\n%s", plain.message, log);
        if (module->handle)
            self->driver->module_unload(module->handle);
        free(module);
        return status;
    }
    module->name = image->name;
    pthread_mutex_init(&module->lock, NULL);
    *out = module;
    return GR_OK;
}

static void cuda_unload(gr_backend *base, gr_module *module) {
    cuda_backend *self = as_cuda(base);
    if (!module)
        return;
    GR_CUDA_RELEASE(self, module_unload(module->handle));
    while (module->kernels) {
        gr_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        free(kernel);
    }
    pthread_mutex_destroy(&module->lock);
    free(module);
}

/* Looks up a kernel by the driver; the caller owns *out. */
static gr_status make_kernel(gr_backend *base, gr_module *module, const char *entry, gr_kernel **out,
                             gr_error *error) {
    const size_t size = strlen(entry) + 1;
    gr_kernel *kernel = calloc(1, sizeof *kernel + size);
    if (!kernel)
        return gr_fail(error, GR_ERR_MEMORY, "out of memory finding the kernel %s", entry);
    memcpy(kernel->name, entry, size);
    int static_shared = 0;
    gr_status status = GR_CUDA_CALL(base, 0, error, module_function(&kernel->function, module->handle, entry),
                                    "finding the kernel %s of %s", entry, module->name);
    /* Reading an attribute also completes lazy loading, which is not allowed during a capture. */
    if (status == GR_OK)
        status = GR_CUDA_CALL(base, 0, error,
                              function_get(&static_shared, GR_CU_FUNCTION_STATIC_SHARED, kernel->function),
                              "reading the attributes of %s", entry);
    kernel->static_shared = (uint32_t)static_shared;
    if (status == GR_OK)
        *out = kernel;
    else
        free(kernel);
    return status;
}

static gr_status cuda_find(gr_backend *base, gr_module *module, const char *entry, gr_kernel **out,
                           gr_error *error) {
    /* Before the lock, which a forked child may have inherited locked. */
    gr_status status = gr_cuda_check_process(error);
    if (status != GR_OK)
        return status;
    pthread_mutex_lock(&module->lock);
    gr_kernel **place = &module->kernels;
    while (*place && strcmp((*place)->name, entry) != 0)
        place = &(*place)->next;
    gr_kernel *kernel = *place;
    if (kernel)
        *place = kernel->next;
    else
        status = make_kernel(base, module, entry, &kernel, error);
    if (status == GR_OK) { /* most recently used first */
        kernel->next = module->kernels;
        module->kernels = *out = kernel;
    }
    pthread_mutex_unlock(&module->lock);
    return status;
}

/* Sets the dynamic shared memory limit of a kernel. The limit is always the maximum of the device, so that
 * threads that launch one kernel with different sizes do not lower it for each other. */
static gr_status permit_shared(cuda_backend *self, const gr_launch *launch, gr_error *error) {
    const gr_kernel *kernel = launch->kernel;
    if (launch->library || launch->shared_bytes + kernel->static_shared <= DEFAULT_SHARED_BYTES)
        return GR_OK;
    const uint32_t granted = self->base.info.caps.shared_per_block;
    const uint32_t most = granted > kernel->static_shared ? granted - kernel->static_shared : 0;
    if (launch->shared_bytes > most)
        return gr_fail(error, GR_ERR_DEVICE,
                       "launching %s: %u bytes of dynamic shared memory asked, cuda:%d allows %u",
                       kernel->name, launch->shared_bytes, self->base.info.index, most);
    return gr_cuda_check(
        self->driver,
        self->driver->function_set(kernel->function, GR_CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)most), error,
        "allowing %s %u bytes of shared memory", kernel->name, most);
}

static uint32_t cluster_blocks(const gr_launch *launch) {
    return gr_extent(launch->cluster[0]) * gr_extent(launch->cluster[1]) * gr_extent(launch->cluster[2]);
}

static gr_status permit_cluster(cuda_backend *self, const gr_launch *launch, gr_error *error) {
    const gr_kernel *kernel = launch->kernel;
    const gr_device_info *info = &self->base.info;
    const uint32_t blocks = cluster_blocks(launch);
    if (launch->library || blocks <= 1)
        return GR_OK;
    if (!info->caps.clusters)
        return gr_fail(error, GR_ERR_DEVICE,
                       "launching %s: cuda:%d, of compute capability %d.%d, has no clusters of blocks",
                       kernel->name, info->index, info->capability_major, info->capability_minor);
    if (blocks <= DEFAULT_CLUSTER)
        return GR_OK;
    return gr_cuda_check(self->driver,
                         self->driver->function_set(kernel->function, GR_CU_FUNCTION_ANY_CLUSTER, 1), error,
                         "allowing %s clusters of %u blocks", kernel->name, blocks);
}

static gr_status permit(cuda_backend *self, const gr_launch *launch, gr_error *error) {
    gr_status status = permit_shared(self, launch, error);
    return status == GR_OK ? permit_cluster(self, launch, error) : status;
}

/* The position of a capture: its id, 0 if there is none or if it is unknown, and the last node; NULL if there
 * is not exactly one. */
typedef struct captured {
    uint64_t capture;
    gr_cu_graph_node last;
} captured;

static captured captured_last(const cuda_backend *self, gr_cu_stream stream) {
    captured found = {0, NULL};
    const gr_cu_graph_node *nodes = NULL;
    size_t count = 0;
    int capturing = 0;
    if (self->driver->capture_info(stream, &capturing, &found.capture, NULL, &nodes, &count) !=
            GR_CU_SUCCESS ||
        capturing != GR_CU_CAPTURE_ACTIVE)
        return (captured){0, NULL};
    if (count == 1)
        found.last = nodes[0];
    return found;
}

/* Whether the preceding kernel may be one of this library, which triggers programmatic dependent launch.
 * Overlap with a kernel of another library costs more than it gains: after a kernel of PyTorch a sum of 2^20
 * float32 takes 3.23 us serialized and 3.78 us overlapped, one of 2^12 1.79 us and 2.01 us (H200, in a
 * graph). In a capture the preceding node is known. */
static bool overlaps(cuda_backend *self, const gr_launch *launch, captured before) {
    return launch->pdl &&
           (before.capture == 0 || (before.last != NULL && before.last == atomic_load(&self->last_node) &&
                                    before.capture == atomic_load(&self->last_capture)));
}

static void note_captured(cuda_backend *self, gr_cu_stream stream) {
    const captured now = captured_last(self, stream);
    atomic_store(&self->last_capture, now.capture);
    atomic_store(&self->last_node, now.last);
}

static gr_status enqueue_one(cuda_backend *self, const gr_launch *launch, gr_cu_stream stream,
                             gr_error *error) {
    if (launch->library)
        return launch->library->run(launch->library, stream, error);
    const captured before = launch->pdl ? captured_last(self, stream) : (captured){0, NULL};
    const bool pdl = overlaps(self, launch, before);
    size_t bytes = launch->param_bytes;
    const void *params = launch->params;
    char told[GR_MAX_PATCHED_PARAMS];
    if (launch->serialized_offset > 0 && !pdl && bytes <= sizeof told) {
        memcpy(told, params, bytes);
        memcpy(told + launch->serialized_offset, &(uint32_t){1}, sizeof(uint32_t));
        params = told;
    }
    /* cuLaunchKernelEx copies the parameters during the call and does not write to them. It expects a buffer
     * of parameters at a multiple of 16 bytes in constant memory: a parameter with alignment 64, as a tensor
     * map, would be read from a wrong address (driver 580). */
    void *one[] = {(void *)(uintptr_t)params};
    void *all[] = {GR_CU_LAUNCH_PARAM_BUFFER, one[0], GR_CU_LAUNCH_PARAM_BYTES, &bytes,
                   GR_CU_LAUNCH_PARAM_END};
    gr_cu_launch_attribute attributes[2];
    unsigned count = 0;
    if (pdl)
        attributes[count++] =
            (gr_cu_launch_attribute){.id = GR_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value.pdl = 1};
    const uint32_t *cluster = launch->cluster;
    if (cluster_blocks(launch) > 1)
        attributes[count++] = (gr_cu_launch_attribute){
            .id = GR_CU_LAUNCH_CLUSTER,
            .value.cluster = {gr_extent(cluster[0]), gr_extent(cluster[1]), gr_extent(cluster[2])}};
    const gr_cu_launch_config config = {
        .grid = {GR_EXTENTS(launch->grid)},
        .block = {GR_EXTENTS(launch->block)},
        .shared_bytes = launch->shared_bytes,
        .stream = stream,
        .attributes = attributes,
        .attribute_count = count,
    };
    const gr_cu_result result = self->driver->launch(
        &config, launch->kernel->function, launch->one_param ? one : NULL, launch->one_param ? NULL : all);
    if (before.capture != 0 && result == GR_CU_SUCCESS)
        note_captured(self, stream);
    return gr_cuda_check(self->driver, result, error, "launching %s", launch->kernel->name);
}

/* How many blocks of a launch the device holds at once, at most all of them. */
static gr_status resident_blocks(cuda_backend *self, const gr_launch *launch, uint32_t *blocks,
                                 gr_error *error) {
    const uint32_t multiprocessors = self->base.info.multiprocessors;
    *blocks = launch->grid[0];
    if (*blocks <= multiprocessors) /* each holds one */
        return GR_OK;
    gr_kernel *kernel = (gr_kernel *)(uintptr_t)launch->kernel;
    int occupancy = (int)atomic_load(&kernel->occupancy);
    if (occupancy == 0) {
        const gr_cu_result result = self->driver->occupancy(&occupancy, kernel->function,
                                                            (int)launch->block[0], launch->shared_bytes);
        if (result != GR_CU_SUCCESS)
            return gr_cuda_check(self->driver, result, error, "asking for the occupancy of %s", kernel->name);
        occupancy = occupancy > 0 ? occupancy : 1; /* the launch fails, and says why */
        atomic_store(&kernel->occupancy, (uint32_t)occupancy);
    }
    if (*blocks / multiprocessors >= (uint32_t)occupancy)
        *blocks = multiprocessors * (uint32_t)occupancy;
    return GR_OK;
}

typedef struct part_target {
    cuda_backend *backend;
    gr_cu_stream stream;
} part_target;

static gr_status enqueue_part(void *arg, const gr_launch *part, gr_error *error) {
    const part_target *target = arg;
    return enqueue_one(target->backend, part, target->stream, error);
}

static gr_status enqueue(cuda_backend *self, const gr_launch *launch, gr_cu_stream stream, gr_error *error) {
    uint32_t resident = launch->grid[0];
    gr_status status =
        launch->first_block_offset > 0 ? resident_blocks(self, launch, &resident, error) : GR_OK;
    if (status != GR_OK || resident == launch->grid[0])
        return status == GR_OK ? enqueue_one(self, launch, stream, error) : status;
    part_target target = {self, stream};
    return gr_launch_parts(launch, resident, enqueue_part, &target, error);
}

static gr_status cuda_map_tensor(gr_backend *base, const gr_tensor *tensor, gr_tensor_map *out,
                                 gr_error *error) {
    uint32_t steps[GR_TENSOR_DIMENSIONS];
    for (int i = 0; i < GR_TENSOR_DIMENSIONS; ++i)
        steps[i] = gr_extent(tensor->steps[i]);
    return GR_CUDA_CALL(base, 0, error,
                        tensor_map(out->bytes, tensor->type, tensor->rank, (void *)(uintptr_t)tensor->address,
                                   tensor->sizes, tensor->strides, tensor->box, steps,
                                   GR_CU_TENSOR_NOT_INTERLEAVED, tensor->swizzle, GR_CU_TENSOR_L2_128_BYTES,
                                   GR_CU_TENSOR_FILL_ZERO),
                        "making a tensor map of %u dimensions", tensor->rank);
}

/* Kernels cannot be stopped after their launch, and are short, so `interrupt` is not polled. */
static gr_status cuda_launch(gr_backend *base, const gr_launch *launch, const gr_interrupt *interrupt,
                             gr_error *error) {
    (void)interrupt;
    cuda_backend *self = as_cuda(base);
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    status = permit(self, launch, error);
    if (status == GR_OK)
        status = gr_cuda_check_stream(self, launch->stream,
                                      enqueue(self, launch, gr_cuda_stream(launch->stream), error), error);
    return gr_cuda_leave(self, status, error);
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

/* The resources of one measurement. */
typedef struct timing {
    const gr_cuda_driver *driver;
    gr_cu_stream stream;
    gr_cu_graph graph;
    gr_cu_graph_exec exec;
    gr_cu_event start, stop;
    const char *name; /* name of the first launch, for messages */
} timing;

/* Whether a driver call succeeded; otherwise `error` has the message. */
static bool done(const timing *t, gr_cu_result result, const char *step, gr_error *error) {
    return gr_cuda_check(t->driver, result, error, "timing %s: %s", t->name, step) == GR_OK;
}

static bool capture(cuda_backend *self, timing *t, const gr_launch *launches, size_t count, gr_error *error) {
    if (!done(t, t->driver->capture_begin(t->stream, GR_CU_CAPTURE_THREAD_LOCAL), "starting the capture",
              error))
        return false;
    gr_status status = GR_OK;
    for (size_t i = 0; i < count && status == GR_OK; i++)
        status = enqueue(self, &launches[i], t->stream, error);
    gr_cu_result ended = t->driver->capture_end(t->stream, &t->graph); /* also after a failed launch */
    return status == GR_OK && done(t, ended, "ending the capture", error);
}

static bool make_timing(cuda_backend *self, timing *t, const gr_launch *launches, size_t count,
                        gr_error *error) {
    const gr_cuda_driver *driver = t->driver;
    for (size_t i = 0; i < count; i++)
        if (permit(self, &launches[i], error) != GR_OK)
            return false;
    return done(t, driver->event_create(&t->start, 0), "making an event", error) &&
           done(t, driver->event_create(&t->stop, 0), "making an event", error) &&
           done(t, driver->stream_create(&t->stream, GR_CU_STREAM_NON_BLOCKING), "making a stream", error) &&
           capture(self, t, launches, count, error) &&
           done(t, driver->graph_instantiate(&t->exec, t->graph, 0), "preparing the graph", error) &&
           done(t, driver->graph_launch(t->exec, t->stream), "warming up", error);
}

static bool time_once(const timing *t, float *milliseconds, gr_error *error) {
    const gr_cuda_driver *driver = t->driver;
    return done(t, driver->event_record(t->start, t->stream), "recording the start", error) &&
           done(t, driver->graph_launch(t->exec, t->stream), "launching the graph", error) &&
           done(t, driver->event_record(t->stop, t->stream), "recording the end", error) &&
           done(t, driver->event_wait(t->stop), "waiting for the end", error) &&
           done(t, driver->event_elapsed(milliseconds, t->start, t->stop), "reading the time", error);
}

static void release_timing(const timing *t) {
    const gr_cuda_driver *driver = t->driver;
    if (t->stream)
        driver->stream_wait(t->stream); /* the caller may free the buffers next */
    if (t->exec)
        driver->graph_exec_destroy(t->exec);
    if (t->graph)
        driver->graph_destroy(t->graph);
    if (t->stream)
        driver->stream_destroy(t->stream);
    if (t->stop)
        driver->event_destroy(t->stop);
    if (t->start)
        driver->event_destroy(t->start);
}

static gr_status cuda_time(gr_backend *base, const gr_launch *launches, size_t count, size_t repeats,
                           double *microseconds, gr_error *error) {
    cuda_backend *self = as_cuda(base);
    if (count == 0)
        return gr_fail(error, GR_ERR_VALUE, "timing needs at least one launch");
    /* The stream of the measurement is not ordered with the default stream, in which the upload of the input
     * may be pending. */
    gr_status status = cuda_wait(base, 0, error);
    if (status == GR_OK)
        status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    timing t = {.driver = self->driver,
                .name = launches->library ? launches->library->name : launches->kernel->name};
    bool good = make_timing(self, &t, launches, count, error);
    for (size_t i = 0; i < repeats && good; i++) {
        float milliseconds = 0.0F;
        good = time_once(&t, &milliseconds, error);
        microseconds[i] = 1000.0 * (double)milliseconds / (double)count;
    }
    release_timing(&t);
    return gr_cuda_leave(self, good ? GR_OK : error->status, error);
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
    .load = cuda_load,
    .unload = cuda_unload,
    .find = cuda_find,
    .launch = cuda_launch,
    .map_tensor = cuda_map_tensor,
    .sync = cuda_sync,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .attach = gr_cuda_attach,
    .detach = gr_cuda_detach,
    .wait = cuda_wait,
    .time = cuda_time,
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
