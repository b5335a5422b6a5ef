/* A stand-in for libcuda.so.1, for machines without a GPU: it exports the symbols of cuda_driver.def, keeps
   device memory in host memory, and knows how to run the kernels named <rung>_sum_<dtype>. It is strict where
   a real driver is: stale handles, missing contexts, addresses outside an allocation and calls that a capture
   forbids are errors. Work in streams is done when somebody waits for it (fake_work.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"

static const struct {
    gr_cu_result result;
    const char *name, *text;
} errors[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "fake: invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "fake: out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "fake: not initialised"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "fake: no device found"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "fake: invalid device"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "fake: invalid kernel image"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "fake: no context is current"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "fake: invalid handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "fake: no such symbol"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "fake: a kernel left its memory"},
    {INVALID_CLUSTER, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "fake: invalid cluster size"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "fake: a kernel failed"},
    {NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "fake: not allowed in a destructor"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "fake: not ready"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "fake: not allowed while capturing"},
    {CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "fake: the capture has failed"},
    {CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "fake: two captures would become one"},
    {CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "fake: the capture began in another stream"},
    {CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "fake: a stream of the capture was not joined"},
    {CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "fake: an order across the capture's border"},
    {CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "fake: the legacy stream in a capture"},
    {CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "fake: an event that a capture recorded"},
    {CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "fake: the capture is of another thread"},
    {UNKNOWN, "CUDA_ERROR_UNKNOWN", "fake: unknown error"},
};

gr_cu_result cuInit(unsigned flags) {
    gr_cu_result result = begin(S_cuInit, ANYTIME);
    if (result == GR_CU_SUCCESS) {
        if (flags != 0)
            result = INVALID_VALUE;
        else if (state.owner && state.owner != getpid())
            result = NOT_INITIALIZED;
        else
            state.owner = getpid();
    }
    end(result);
    const char *slow = getenv("FAKE_CUDA_INIT_MILLISECONDS");
    if (slow)
        usleep((useconds_t)atoi(slow) * 1000);
    return result;
}

static gr_cu_result describe(enum symbol symbol, gr_cu_result which, bool by_name, const char **out) {
    gr_cu_result result = begin(symbol, ANYTIME);
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0] && result == GR_CU_SUCCESS; i++)
        if (errors[i].result == which)
            *out = by_name ? errors[i].name : errors[i].text;
    return end(*out ? GR_CU_SUCCESS : INVALID_VALUE);
}

gr_cu_result cuGetErrorName(gr_cu_result which, const char **name) {
    return describe(S_cuGetErrorName, which, true, name);
}

gr_cu_result cuGetErrorString(gr_cu_result which, const char **text) {
    return describe(S_cuGetErrorString, which, false, text);
}

gr_cu_result cuDriverGetVersion(int *version) {
    gr_cu_result result = begin(S_cuDriverGetVersion, ANYTIME);
    if (result == GR_CU_SUCCESS)
        *version = 13000;
    return end(result);
}

gr_cu_result cuDeviceGetCount(int *count) {
    gr_cu_result result = begin(S_cuDeviceGetCount, INITIALISED);
    if (result == GR_CU_SUCCESS)
        *count = state.device_count;
    return end(result);
}

static gr_cu_result begin_device(enum symbol symbol, int device) {
    gr_cu_result result = begin(symbol, INITIALISED);
    return result == GR_CU_SUCCESS && (device < 0 || device >= state.device_count) ? INVALID_DEVICE : result;
}

gr_cu_result cuDeviceGet(gr_cu_device *device, int index) {
    gr_cu_result result = begin_device(S_cuDeviceGet, index);
    if (result == GR_CU_SUCCESS)
        *device = index;
    return end(result);
}

gr_cu_result cuDeviceGetName(char *name, int size, gr_cu_device device) {
    gr_cu_result result = begin_device(S_cuDeviceGetName, device);
    if (result == GR_CU_SUCCESS)
        snprintf(name, (size_t)size, "Fake GPU %d", device);
    return end(result);
}

gr_cu_result cuDeviceGetAttribute(int *value, int attribute, gr_cu_device device) {
    gr_cu_result result = begin_device(S_cuDeviceGetAttribute, device);
    if (result != GR_CU_SUCCESS)
        return end(result);
    switch (attribute) {
    case GR_CU_DEVICE_MULTIPROCESSORS:
        *value = 132 + device;
        break;
    case GR_CU_DEVICE_THREADS_PER_MULTIPROCESSOR:
        *value = 2048;
        break;
    case GR_CU_DEVICE_MEMORY_CLOCK_KHZ:
        *value = 3000000;
        break;
    case GR_CU_DEVICE_MEMORY_BUS_BITS:
        *value = 6144;
        break;
    case GR_CU_DEVICE_CAPABILITY_MAJOR:
        *value = state.capability_major;
        break;
    case GR_CU_DEVICE_CAPABILITY_MINOR:
        *value = state.capability_minor;
        break;
    case GR_CU_DEVICE_SHARED_PER_BLOCK_OPTIN:
        *value = (int)state.shared_per_block;
        break;
    case GR_CU_DEVICE_MEMORY_POOLS:
        *value = 1;
        break;
    case GR_CU_DEVICE_CLUSTER_LAUNCH:
        *value = state.clusters;
        break;
    default:
        result = INVALID_VALUE;
    }
    return end(result);
}

gr_cu_result cuDeviceTotalMem_v2(size_t *bytes, gr_cu_device device) {
    gr_cu_result result = begin_device(S_cuDeviceTotalMem_v2, device);
    if (result == GR_CU_SUCCESS)
        *bytes = state.memory_limit;
    return end(result);
}

gr_cu_result cuDevicePrimaryCtxRetain(gr_cu_context *out, gr_cu_device device) {
    gr_cu_result result = begin_device(S_cuDevicePrimaryCtxRetain, device);
    if (result == GR_CU_SUCCESS) {
        state.contexts[device].retained++;
        *out = &state.contexts[device];
    }
    return end(result);
}

/* An object of a context; what holds others comes before them. */
static object *any_of(const context *of) {
    object *found = NULL;
    for (object *o = state.objects; o; o = o->next)
        if (o->context == of && (!found || o->hold_count))
            found = o;
    return found;
}

gr_cu_result cuDevicePrimaryCtxRelease_v2(gr_cu_device device) {
    gr_cu_result result = begin_device(S_cuDevicePrimaryCtxRelease_v2, device);
    if (result != GR_CU_SUCCESS)
        return end(result);
    context *released = &state.contexts[device];
    if (released->retained == 0)
        return end(INVALID_CONTEXT);
    if (--released->retained == 0) {
        drain(released);
        for (object *o = state.objects; o; o = o->next) /* a function goes with its module */
            state.leaked += o->context == released && o->kind != FUNCTION && !o->freed;
        for (object *o; (o = any_of(released)) != NULL;)
            destroy(o);
        *released = (context){0};
    }
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuCtxPushCurrent_v2(gr_cu_context pushed) {
    gr_cu_result result = begin(S_cuCtxPushCurrent_v2, INITIALISED);
    if (result == GR_CU_SUCCESS &&
        (thread.depth == MAX_DEPTH || pushed < state.contexts || pushed >= state.contexts + MAX_DEVICES))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        thread.stack[thread.depth++] = pushed;
    return end(result);
}

gr_cu_result cuCtxPopCurrent_v2(gr_cu_context *popped) {
    gr_cu_result result = begin(S_cuCtxPopCurrent_v2, INITIALISED);
    if (result == GR_CU_SUCCESS && thread.depth == 0)
        result = INVALID_CONTEXT;
    if (result == GR_CU_SUCCESS)
        *popped = thread.stack[--thread.depth];
    return end(result);
}

gr_cu_result cuCtxGetDevice(gr_cu_device *device) {
    gr_cu_result result = begin(S_cuCtxGetDevice, CONTEXT);
    if (result == GR_CU_SUCCESS)
        *device = (int)(top() - state.contexts);
    return end(result);
}

gr_cu_result cuModuleLoadDataEx(gr_cu_module *out, const void *image, unsigned count, int *options,
                                void **values) {
    gr_cu_result result = begin(S_cuModuleLoadDataEx, SAFE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    static const unsigned char fatbin_magic[4] = {0x50, 0xed, 0x55, 0xba};
    /* Of PTX, as NVRTC writes it, kernels are known by their names alone, too. */
    if (memcmp(image, fatbin_magic, sizeof fatbin_magic) == 0 || memcmp(image, "//\n", 3) == 0) {
        *out = (gr_cu_module)make(MODULE);
        return end(GR_CU_SUCCESS);
    }
    char *log = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == GR_CU_JIT_ERROR_LOG)
            log = values[i];
        if (options[i] == GR_CU_JIT_ERROR_LOG_SIZE)
            size = (size_t)(uintptr_t)values[i];
    }
    if (log && size)
        snprintf(log, size, "fake log: the image begins with byte %d", *(const unsigned char *)image);
    return end(INVALID_IMAGE);
}

gr_cu_result cuModuleUnload(gr_cu_module module) {
    return destroy_handle(S_cuModuleUnload, MODULE, module);
}

gr_cu_result cuModuleGetFunction(gr_cu_function *out, gr_cu_module module, const char *name) {
    gr_cu_result result = begin(S_cuModuleGetFunction, CONTEXT);
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *owner_module = known(MODULE, module);
    if (!owner_module)
        return end(INVALID_HANDLE);
    if (!is_kernel(name))
        return end(NOT_FOUND);
    object *function = make(FUNCTION);
    function->module = owner_module;
    function->max_dynamic = 48 * 1024 - FAKE_CUDA_STATIC_SHARED; /* both together fit without asking */
    snprintf(function->name, sizeof function->name, "%s", name);
    *out = (gr_cu_function)function;
    return end(GR_CU_SUCCESS);
}

/* Functions are loaded lazily, and that is nothing for a capture. */
static gr_cu_result complete(object *function) {
    if (!function->loaded && forbidden())
        return CAPTURE_UNSUPPORTED;
    function->loaded = true;
    return GR_CU_SUCCESS;
}

gr_cu_result cuFuncGetAttribute(int *value, int attribute, gr_cu_function handle) {
    gr_cu_result result = begin(S_cuFuncGetAttribute, CONTEXT);
    object *function = result == GR_CU_SUCCESS ? known(FUNCTION, handle) : NULL;
    if (result == GR_CU_SUCCESS && !function)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS && attribute != GR_CU_FUNCTION_STATIC_SHARED)
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        result = complete(function);
    if (result == GR_CU_SUCCESS)
        *value = FAKE_CUDA_STATIC_SHARED;
    return end(result);
}

gr_cu_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, gr_cu_function handle, int threads,
                                                         size_t shared_bytes) {
    gr_cu_result result = begin(S_cuOccupancyMaxActiveBlocksPerMultiprocessor, CONTEXT);
    if (result == GR_CU_SUCCESS && !known(FUNCTION, handle))
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS && (threads < 1 || shared_bytes > state.shared_per_block))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        *blocks = FAKE_CUDA_OCCUPANCY;
    return end(result);
}

gr_cu_result cuFuncSetAttribute(gr_cu_function handle, int attribute, int value) {
    gr_cu_result result = begin(S_cuFuncSetAttribute, CONTEXT);
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *function = known(FUNCTION, handle);
    if (!function)
        return end(INVALID_HANDLE);
    if (attribute == GR_CU_FUNCTION_ANY_CLUSTER && value == 1) {
        function->any_cluster = true;
        return end(GR_CU_SUCCESS);
    }
    if (attribute != GR_CU_FUNCTION_MAX_DYNAMIC_SHARED || value < 0 ||
        value > (int)state.shared_per_block - FAKE_CUDA_STATIC_SHARED)
        return end(INVALID_VALUE);
    function->max_dynamic = (unsigned)value;
    return end(GR_CU_SUCCESS);
}

/* What the attributes of a launch ask for. */
static gr_cu_result read_attributes(const gr_cu_launch_config *config, const object *function,
                                    fake_cuda_launch *launch) {
    unsigned cluster[3] = {0};
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const gr_cu_launch_attribute *attribute = &config->attributes[i];
        if (attribute->id == GR_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION && attribute->value.pdl == 1)
            launch->pdl = true;
        else if (attribute->id == GR_CU_LAUNCH_CLUSTER)
            memcpy(cluster, attribute->value.cluster, sizeof cluster);
        else
            return INVALID_VALUE;
    }
    const unsigned in_cluster = cluster[0] * cluster[1] * cluster[2];
    for (int i = 0; i < 3; i++)
        if (cluster[i] && (!state.clusters || config->grid[i] % cluster[i] || in_cluster - 1 >= 16 ||
                           (in_cluster > 8 && !function->any_cluster)))
            return INVALID_CLUSTER;
    memcpy(launch->cluster, cluster, sizeof launch->cluster);
    return GR_CU_SUCCESS;
}

/* One packed buffer: three parameters of a ladder kernel, five where it has one result, or those of a flat,
   general or exact one. */
static gr_cu_result read_parameters(void **extra, fake_cuda_launch *launch) {
    if (!extra || extra[0] != GR_CU_LAUNCH_PARAM_BUFFER || extra[2] != GR_CU_LAUNCH_PARAM_BYTES ||
        extra[4] != GR_CU_LAUNCH_PARAM_END || !extra[3])
        return INVALID_VALUE;
    const size_t bytes = *(const size_t *)extra[3];
    const unsigned char *packed = extra[1];
    launch->is_flat = strncmp(launch->name, "flat_", 5) == 0;
    launch->is_general = strncmp(launch->name, "general_", 8) == 0;
    launch->is_exact = strncmp(launch->name, "exact_", 6) == 0;
    if (launch->is_flat && bytes == sizeof launch->flat)
        memcpy(&launch->flat, packed, sizeof launch->flat);
    else if (launch->is_general && bytes == sizeof launch->general)
        memcpy(&launch->general, packed, sizeof launch->general);
    else if (launch->is_exact && bytes == sizeof launch->exact)
        memcpy(&launch->exact, packed, sizeof launch->exact);
    else if (launch->is_flat || launch->is_general || launch->is_exact || (bytes != 24 && bytes != 40))
        return INVALID_VALUE;
    launch->single_pass = bytes == 40;
    memcpy(&launch->in, packed, sizeof launch->in);
    memcpy(&launch->out, packed + 8, sizeof launch->out);
    memcpy(&launch->n, packed + 16, sizeof launch->n);
    return GR_CU_SUCCESS;
}

gr_cu_result cuLaunchKernelEx(const gr_cu_launch_config *config, gr_cu_function handle, void **params,
                              void **extra) {
    gr_cu_result result = begin(S_cuLaunchKernelEx, CONTEXT);
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *function = known(FUNCTION, handle), *stream = NULL;
    if (!function)
        return end(INVALID_HANDLE);
    result = find_stream(config->stream, &stream);
    if (result == GR_CU_SUCCESS)
        result = complete(function);
    if (result != GR_CU_SUCCESS)
        return end(result);
    const unsigned *grid = config->grid, *block = config->block;
    if (grid[0] - 1 >= INT32_MAX || grid[1] - 1 >= 65535 || grid[2] - 1 >= 65535 || block[0] - 1 >= 1024 ||
        block[1] - 1 >= 1024 || block[2] - 1 >= 64 || block[0] * block[1] * block[2] > 1024 ||
        config->shared_bytes > function->max_dynamic || params)
        return end(INVALID_VALUE);
    work item = {.action = RUN_KERNEL,
                 .launch = {.shared_bytes = config->shared_bytes,
                            .shared_limit = function->max_dynamic,
                            .default_stream = !stream}};
    fake_cuda_launch *launch = &item.launch;
    memcpy(launch->grid, grid, sizeof launch->grid);
    memcpy(launch->block, block, sizeof launch->block);
    memcpy(launch->name, function->name, sizeof launch->name);
    result = read_attributes(config, function, launch);
    if (result == GR_CU_SUCCESS)
        result = read_parameters(extra, launch);
    return end(result == GR_CU_SUCCESS ? put(stream, item) : result);
}
