/* A stand-in for libcuda.so.1, for machines without a GPU: it exports the symbols of cuda_driver.def, keeps
   device memory in host memory, and knows how to run the kernels named <rung>_sum_<dtype>. It is strict where
   a real driver is: stale handles, missing contexts, addresses outside an allocation and calls that a capture
   forbids are errors. Its work is done by the time a call returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"

#define GR_CUDA_SYMBOL(field, symbol, parameters) EXPORT gr_cu_result symbol parameters;
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL

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
    {NOT_READY, "CUDA_ERROR_NOT_READY", "fake: not ready"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "fake: not allowed while capturing"},
    {CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "fake: the capture has failed"},
    {UNKNOWN, "CUDA_ERROR_UNKNOWN", "fake: unknown error"},
};

static bool is_default(gr_cu_stream stream) {
    return stream == NULL || stream == GR_CU_STREAM_LEGACY;
}

static void destroy_functions(const object *module) {
    for (object *o = state.objects, *next; o; o = next) {
        next = o->next;
        if (o->kind == FUNCTION && o->module == module)
            destroy(o);
    }
}

static gr_cu_result destroy_handle(enum symbol symbol, kind of, const void *handle) {
    gr_cu_result result = begin(symbol, CONTEXT);
    if (result == GR_CU_SUCCESS) {
        object *o = known(of, handle);
        if (o && of == MODULE)
            destroy_functions(o);
        if (o)
            destroy(o);
        else
            result = INVALID_HANDLE;
    }
    return end(result);
}

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

gr_cu_result cuDevicePrimaryCtxRelease_v2(gr_cu_device device) {
    gr_cu_result result = begin_device(S_cuDevicePrimaryCtxRelease_v2, device);
    if (result != GR_CU_SUCCESS)
        return end(result);
    context *released = &state.contexts[device];
    if (released->retained == 0)
        return end(INVALID_CONTEXT);
    if (--released->retained == 0) {
        for (object *o = state.objects, *next; o; o = next) {
            next = o->next;
            if (o->context != released)
                continue;
            state.leaked += o->kind != FUNCTION; /* a function goes with its module */
            destroy(o);
        }
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

gr_cu_result cuMemAlloc_v2(gr_cu_deviceptr *address, size_t bytes) {
    gr_cu_result result = begin(S_cuMemAlloc_v2, NO_CAPTURE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    if (bytes == 0)
        return end(INVALID_VALUE);
    context *current = top();
    char *memory = current->used <= state.memory_limit && bytes <= state.memory_limit - current->used
                       ? malloc(bytes)
                       : NULL;
    if (!memory)
        return end(OUT_OF_MEMORY);
    memset(memory, 0xa5, bytes); /* what was there before is not zero on a device either */
    object *o = make(ALLOCATION);
    o->memory = memory;
    o->bytes = bytes;
    current->used += bytes;
    *address = (uint64_t)(uintptr_t)memory;
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuMemFree_v2(gr_cu_deviceptr address) {
    gr_cu_result result = begin(S_cuMemFree_v2, NO_CAPTURE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    for (object *o = state.objects; o; o = o->next) {
        if (o->kind == ALLOCATION && o->context == top() && (uint64_t)(uintptr_t)o->memory == address) {
            destroy(o);
            return end(GR_CU_SUCCESS);
        }
    }
    return end(INVALID_VALUE);
}

gr_cu_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    gr_cu_result result = begin(S_cuMemHostAlloc, NO_CAPTURE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    if (bytes == 0 || flags != (GR_CU_HOST_PORTABLE | GR_CU_HOST_MAPPED))
        return end(INVALID_VALUE);
    object *o = make(PINNED);
    o->memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!o->memory)
        abort();
    memset(o->memory, 0xa5, bytes);
    o->bytes = bytes;
    *memory = o->memory;
    return end(GR_CU_SUCCESS);
}

static object *pinned_at(const void *memory) {
    object *o = state.objects;
    while (o && !(o->kind == PINNED && o->memory == memory))
        o = o->next;
    return o;
}

gr_cu_result cuMemFreeHost(void *memory) {
    gr_cu_result result = begin(S_cuMemFreeHost, NO_CAPTURE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *o = pinned_at(memory);
    if (!o)
        return end(INVALID_VALUE);
    destroy(o);
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuMemHostGetDevicePointer_v2(gr_cu_deviceptr *address, void *memory, unsigned flags) {
    gr_cu_result result = begin(S_cuMemHostGetDevicePointer_v2, CONTEXT);
    if (result == GR_CU_SUCCESS && (flags != 0 || !pinned_at(memory)))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        *address = (uint64_t)(uintptr_t)memory;
    return end(result);
}

/* What is known of an allocation; false for an attribute that it does not have. */
static bool describe_pointer(const object *o, int attribute, void *value) {
    const int device = (int)(o->context - state.contexts);
    const unsigned type = o->kind == PINNED ? GR_CU_MEMORY_HOST : 2;
    const uint64_t start = (uint64_t)(uintptr_t)o->memory;
    switch (attribute) {
    case GR_CU_POINTER_DEVICE:
        memcpy(value, &device, sizeof device);
        return true;
    case GR_CU_POINTER_MEMORY_TYPE:
        memcpy(value, &type, sizeof type);
        return true;
    case GR_CU_POINTER_RANGE_START:
        memcpy(value, &start, sizeof start);
        return true;
    case GR_CU_POINTER_RANGE_BYTES:
        memcpy(value, &o->bytes, sizeof o->bytes);
        return true;
    }
    return false;
}

gr_cu_result cuPointerGetAttribute(void *value, int attribute, gr_cu_deviceptr address) {
    gr_cu_result result = begin(S_cuPointerGetAttribute, INITIALISED);
    if (result != GR_CU_SUCCESS)
        return end(result);
    const object *o = state.objects;
    while (o && !((o->kind == ALLOCATION || o->kind == PINNED) &&
                  address - (uint64_t)(uintptr_t)o->memory < o->bytes))
        o = o->next;
    if (o && attribute == GR_CU_POINTER_ON_DEVICE) {
        memcpy(value, &address, sizeof address);
        return end(GR_CU_SUCCESS);
    }
    return end(o && describe_pointer(o, attribute, value) ? GR_CU_SUCCESS : INVALID_VALUE);
}

gr_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    gr_cu_result result = begin(S_cuMemGetInfo_v2, CONTEXT);
    if (result == GR_CU_SUCCESS) {
        *free_bytes = state.memory_limit - top()->used;
        *total_bytes = state.memory_limit;
    }
    return end(result);
}

static gr_cu_result copy(enum symbol symbol, void *host_to, const void *host_from, uint64_t device,
                         size_t bytes) {
    gr_cu_result result = begin(symbol, NO_CAPTURE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    void *memory = reach(device, bytes);
    if (!memory)
        return end(INVALID_VALUE);
    memcpy(host_to ? host_to : memory, host_to ? memory : host_from, bytes);
    top()->pending = false;
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuMemcpyHtoDAsync_v2(gr_cu_deviceptr to, const void *from, size_t bytes, gr_cu_stream stream) {
    gr_cu_result result = begin(S_cuMemcpyHtoDAsync_v2, CONTEXT);
    if (result != GR_CU_SUCCESS)
        return end(result);
    void *memory = reach(to, bytes);
    if (!memory || (!is_default(stream) && !known(STREAM, stream)))
        return end(INVALID_VALUE);
    memcpy(memory, from, bytes);
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuMemcpyHtoD_v2(gr_cu_deviceptr to, const void *from, size_t bytes) {
    return copy(S_cuMemcpyHtoD_v2, NULL, from, to, bytes);
}

gr_cu_result cuMemcpyDtoH_v2(void *to, gr_cu_deviceptr from, size_t bytes) {
    return copy(S_cuMemcpyDtoH_v2, to, NULL, from, bytes);
}

gr_cu_result cuModuleLoadDataEx(gr_cu_module *out, const void *image, unsigned count, int *options,
                                void **values) {
    gr_cu_result result = begin(S_cuModuleLoadDataEx, NO_CAPTURE);
    if (result != GR_CU_SUCCESS)
        return end(result);
    static const unsigned char fatbin_magic[4] = {0x50, 0xed, 0x55, 0xba};
    if (memcmp(image, fatbin_magic, sizeof fatbin_magic) == 0) {
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

gr_cu_result cuFuncGetAttribute(int *value, int attribute, gr_cu_function handle) {
    gr_cu_result result = begin(S_cuFuncGetAttribute, CONTEXT);
    if (result == GR_CU_SUCCESS && !known(FUNCTION, handle))
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS && attribute != GR_CU_FUNCTION_STATIC_SHARED)
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        *value = FAKE_CUDA_STATIC_SHARED;
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

gr_cu_result cuLaunchKernelEx(const gr_cu_launch_config *config, gr_cu_function handle, void **params,
                              void **extra) {
    gr_cu_result result = begin(S_cuLaunchKernelEx, CONTEXT);
    gr_cu_stream stream = config->stream;
    if (result != GR_CU_SUCCESS)
        return end(result);
    const object *function = known(FUNCTION, handle);
    object *in_stream = is_default(stream) ? NULL : known(STREAM, stream);
    if (!function || (!is_default(stream) && !in_stream))
        return end(INVALID_HANDLE);
    const unsigned *grid = config->grid, *block = config->block;
    if (grid[0] - 1 >= INT32_MAX || grid[1] - 1 >= 65535 || grid[2] - 1 >= 65535 || block[0] - 1 >= 1024 ||
        block[1] - 1 >= 1024 || block[2] - 1 >= 64 || block[0] * block[1] * block[2] > 1024 ||
        config->shared_bytes > function->max_dynamic || params)
        return end(INVALID_VALUE);
    bool overlap = false;
    unsigned cluster[3] = {0};
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const gr_cu_launch_attribute *attribute = &config->attributes[i];
        if (attribute->id == GR_CU_LAUNCH_OVERLAP && attribute->value.overlap == 1)
            overlap = true;
        else if (attribute->id == GR_CU_LAUNCH_CLUSTER)
            memcpy(cluster, attribute->value.cluster, sizeof cluster);
        else
            return end(INVALID_VALUE);
    }
    const unsigned in_cluster = cluster[0] * cluster[1] * cluster[2];
    for (int i = 0; i < 3; i++)
        if (cluster[i] && (!state.clusters || grid[i] % cluster[i] || in_cluster - 1 >= 16 ||
                           (in_cluster > 8 && !function->any_cluster)))
            return end(INVALID_CLUSTER);
    /* One packed buffer: three parameters of a ladder kernel, five where it has one result, or those of a
       flat one. */
    const bool is_flat = strncmp(function->name, "flat_", 5) == 0;
    if (!extra || extra[0] != GR_CU_LAUNCH_PARAM_BUFFER || extra[2] != GR_CU_LAUNCH_PARAM_BYTES ||
        extra[4] != GR_CU_LAUNCH_PARAM_END || !extra[3])
        return end(INVALID_VALUE);
    const size_t bytes = *(const size_t *)extra[3];
    if (is_flat ? bytes != sizeof(gr_flat_params) : bytes != 24 && bytes != 40)
        return end(INVALID_VALUE);
    const unsigned char *packed = extra[1];

    fake_cuda_launch launch = {.shared_bytes = config->shared_bytes,
                               .shared_limit = function->max_dynamic,
                               .overlap = overlap,
                               .is_flat = is_flat,
                               .single_pass = bytes == 40};
    memcpy(launch.grid, grid, sizeof launch.grid);
    memcpy(launch.block, block, sizeof launch.block);
    memcpy(launch.cluster, cluster, sizeof launch.cluster);
    if (is_flat)
        memcpy(&launch.flat, packed, sizeof launch.flat);
    memcpy(launch.name, function->name, sizeof launch.name);
    memcpy(&launch.in, packed, sizeof launch.in);
    memcpy(&launch.out, packed + 8, sizeof launch.out);
    memcpy(&launch.n, packed + 16, sizeof launch.n);
    if (!in_stream) {
        launch.default_stream = true;
        top()->pending = true;
        run_kernel(&launch);
    } else if (in_stream->graph) {
        object *graph = in_stream->graph;
        fake_cuda_launch *grown = realloc(graph->nodes, (graph->node_count + 1) * sizeof *grown);
        if (!grown)
            return end(OUT_OF_MEMORY);
        graph->nodes = grown;
        graph->nodes[graph->node_count++] = launch;
    } else {
        run_kernel(&launch);
    }
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuStreamCreate(gr_cu_stream *stream, unsigned flags) {
    gr_cu_result result = begin(S_cuStreamCreate, CONTEXT);
    if (result == GR_CU_SUCCESS && flags != GR_CU_STREAM_NON_BLOCKING)
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        *stream = (gr_cu_stream)make(STREAM);
    return end(result);
}

gr_cu_result cuStreamDestroy_v2(gr_cu_stream stream) {
    return destroy_handle(S_cuStreamDestroy_v2, STREAM, stream);
}

gr_cu_result cuStreamSynchronize(gr_cu_stream stream) {
    gr_cu_result result = begin(S_cuStreamSynchronize, NO_CAPTURE);
    if (result == GR_CU_SUCCESS && is_default(stream))
        top()->pending = false;
    else if (result == GR_CU_SUCCESS && !known(STREAM, stream))
        result = INVALID_HANDLE;
    return end(result);
}

gr_cu_result cuStreamWaitEvent(gr_cu_stream stream, gr_cu_event event, unsigned flags) {
    gr_cu_result result = begin(S_cuStreamWaitEvent, CONTEXT);
    if (result == GR_CU_SUCCESS && (flags != 0 || !known(EVENT, event)))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS && !is_default(stream) && !known(STREAM, stream))
        result = INVALID_HANDLE;
    return end(result);
}

gr_cu_result cuStreamBeginCapture_v2(gr_cu_stream handle, int mode) {
    gr_cu_result result = begin(S_cuStreamBeginCapture_v2, CONTEXT);
    object *stream = result == GR_CU_SUCCESS && !is_default(handle) ? known(STREAM, handle) : NULL;
    if (result == GR_CU_SUCCESS && !stream)
        result = CAPTURE_UNSUPPORTED;
    if (result == GR_CU_SUCCESS && (stream->graph || thread.capturing || mode != GR_CU_CAPTURE_THREAD_LOCAL))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS) {
        stream->graph = make(GRAPH);
        stream->invalidated = false;
        thread.capturing = stream;
    }
    return end(result);
}

gr_cu_result cuStreamEndCapture(gr_cu_stream handle, gr_cu_graph *graph) {
    gr_cu_result result = begin(S_cuStreamEndCapture, CONTEXT);
    object *stream = handle ? known(STREAM, handle) : NULL;
    if (!stream || !stream->graph)
        return end(INVALID_HANDLE);
    if (result == GR_CU_SUCCESS && stream->invalidated)
        result = CAPTURE_INVALIDATED;
    if (result == GR_CU_SUCCESS)
        *graph = (gr_cu_graph)stream->graph;
    else
        destroy(stream->graph); /* a failed capture leaves none behind */
    stream->graph = NULL;
    thread.capturing = NULL;
    return end(result);
}

gr_cu_result cuGraphInstantiateWithFlags(gr_cu_graph_exec *out, gr_cu_graph handle,
                                         unsigned long long flags) {
    gr_cu_result result = begin(S_cuGraphInstantiateWithFlags, CONTEXT);
    const object *graph = result == GR_CU_SUCCESS ? known(GRAPH, handle) : NULL;
    if (result == GR_CU_SUCCESS && (!graph || flags != 0))
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    size_t bytes = graph->node_count * sizeof *graph->nodes;
    fake_cuda_launch *nodes = malloc(bytes ? bytes : 1);
    if (!nodes)
        return end(OUT_OF_MEMORY);
    if (bytes)
        memcpy(nodes, graph->nodes, bytes);
    object *exec = make(GRAPH_EXEC);
    exec->nodes = nodes;
    exec->node_count = graph->node_count;
    *out = (gr_cu_graph_exec)exec;
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuGraphLaunch(gr_cu_graph_exec handle, gr_cu_stream stream) {
    gr_cu_result result = begin(S_cuGraphLaunch, NO_CAPTURE);
    object *exec = result == GR_CU_SUCCESS ? known(GRAPH_EXEC, handle) : NULL;
    if (result == GR_CU_SUCCESS && (!exec || (!is_default(stream) && !known(STREAM, stream))))
        result = INVALID_HANDLE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    context *current = top();
    state.hazards += current->pending && !is_default(stream);
    current->clock += fake_cuda_graph_microseconds(exec->launched++);
    for (size_t i = 0; i < exec->node_count; i++)
        run_kernel(&exec->nodes[i]);
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuGraphDestroy(gr_cu_graph graph) {
    return destroy_handle(S_cuGraphDestroy, GRAPH, graph);
}

gr_cu_result cuGraphExecDestroy(gr_cu_graph_exec exec) {
    return destroy_handle(S_cuGraphExecDestroy, GRAPH_EXEC, exec);
}

gr_cu_result cuEventCreate(gr_cu_event *event, unsigned flags) {
    gr_cu_result result = begin(S_cuEventCreate, CONTEXT);
    if (result == GR_CU_SUCCESS && flags != 0 && flags != GR_CU_EVENT_NO_TIMING)
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        *event = (gr_cu_event)make(EVENT);
    return end(result);
}

gr_cu_result cuEventDestroy_v2(gr_cu_event event) {
    return destroy_handle(S_cuEventDestroy_v2, EVENT, event);
}

gr_cu_result cuEventRecord(gr_cu_event handle, gr_cu_stream stream) {
    gr_cu_result result = begin(S_cuEventRecord, CONTEXT);
    object *event = result == GR_CU_SUCCESS ? known(EVENT, handle) : NULL;
    if (result == GR_CU_SUCCESS && (!event || (!is_default(stream) && !known(STREAM, stream))))
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS) {
        event->time = top()->clock;
        event->asked = 0;
    }
    return end(result);
}

/* Not ready when it is asked for the first time. */
gr_cu_result cuEventQuery(gr_cu_event handle) {
    gr_cu_result result = begin(S_cuEventQuery, CONTEXT);
    object *event = result == GR_CU_SUCCESS ? known(EVENT, handle) : NULL;
    if (result == GR_CU_SUCCESS && !event)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS && event->asked++ == 0)
        result = NOT_READY;
    return end(result);
}

gr_cu_result cuEventSynchronize(gr_cu_event handle) {
    gr_cu_result result = begin(S_cuEventSynchronize, NO_CAPTURE);
    if (result == GR_CU_SUCCESS && !known(EVENT, handle))
        result = INVALID_HANDLE;
    return end(result);
}

gr_cu_result cuEventElapsedTime(float *milliseconds, gr_cu_event start_handle, gr_cu_event stop_handle) {
    gr_cu_result result = begin(S_cuEventElapsedTime, CONTEXT);
    if (result != GR_CU_SUCCESS)
        return end(result);
    const object *start = known(EVENT, start_handle), *stop = known(EVENT, stop_handle);
    if (!start || !stop || start->time < 0 || stop->time < 0)
        return end(INVALID_HANDLE);
    *milliseconds = (float)((stop->time - start->time) / 1000.0);
    return end(GR_CU_SUCCESS);
}
