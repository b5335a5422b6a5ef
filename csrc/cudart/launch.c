/* Launches of kernels. */
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

enum {
    MAX_OBSERVERS = 4,
    MAX_PARAMS = 32764,
    STATIC_SHARED = 48 << 10,
    WORKSPACE_BYTES = 256,
    MAX_RECORDS = 256
};

/* ---- messages ---- */

/* The message with the kernel's readable name, behind the source line and the thread. */
static void say_error(const ptx_error *error, const cudart_function *f, const dim3 *block) {
    char place[400] = "";
    size_t used = 0;
    if (*error->file) {
        const char *slash = strrchr(error->file, '/');
        used = (size_t)snprintf(place, sizeof place, "%s:%u: ", slash ? slash + 1 : error->file,
                                error->file_line);
    }
    if (error->warp >= 0 && error->lane >= 0 && used < sizeof place) {
        const unsigned thread = (unsigned)error->warp * 32 + (unsigned)error->lane;
        snprintf(place + used, sizeof place - used,
                 "thread (%u, %u, %u) of block (%u, %u, %u): ", thread % block->x,
                 thread / block->x % block->y, thread / block->x / block->y, error->block[0], error->block[1],
                 error->block[2]);
    }
    const char *name = strstr(error->message, f->name) ? f->name : error->kernel;
    const char *at = *name ? strstr(error->message, name) : NULL;
    char title[200]; /* a name with many template arguments would leave no room for the reason */
    const int length = snprintf(title, sizeof title, "%s", f->title);
    if (length >= (int)sizeof title)
        strcpy(title + sizeof title - sizeof "...", "...");
    if (at)
        (void)cudart_refuse(cudaSuccess, "%s%.*s%s%s", place, (int)(at - error->message), error->message,
                            title, at + strlen(name));
    else
        (void)cudart_refuse(cudaSuccess, "%skernel %s: %s", place, title, error->message);
}

/* ---- output of printf ---- */

static bool keep_printed(void *arg, const char *text, size_t length) {
    cudart_text *to = arg;
    if (length > to->capacity - to->length) {
        const size_t capacity = 2 * (to->length + length);
        char *grown = realloc(to->bytes, capacity);
        if (!grown)
            return false;
        to->bytes = grown;
        to->capacity = capacity;
    }
    memcpy(to->bytes + to->length, text, length);
    to->length += length;
    return true;
}

static bool interrupted(void *arg) {
    (void)arg;
    return cudart.interrupted;
}

/* ---- checks ---- */

/* More than 48 KiB of shared memory need an attribute of the function. */
static bool allows_shared(const cudart_function *f, size_t dynamic) {
    return ptx_kernel_shared_bytes(f->kernel) + dynamic <= STATIC_SHARED ||
           dynamic <= (size_t)f->max_dynamic_shared;
}

unsigned cudart_occupancy(const cudart_function *function, unsigned threads, size_t dynamic_shared) {
    const unsigned warps = (threads + 31) / 32, limit = CUDART_THREADS_PER_SM / 32;
    const size_t shared = ptx_kernel_shared_bytes(function->kernel) + dynamic_shared + CUDART_SHARED_RESERVED;
    if (!threads || threads > 1024 || shared > CUDART_SHARED_PER_SM ||
        !allows_shared(function, dynamic_shared))
        return 0;
    unsigned blocks = limit / warps;
    if (blocks > CUDART_SHARED_PER_SM / shared)
        blocks = (unsigned)(CUDART_SHARED_PER_SM / shared);
    return blocks < CUDART_BLOCKS_PER_SM ? blocks : CUDART_BLOCKS_PER_SM;
}

/* CUDA 13.0 returns the same error for all wrong configurations but those of cooperative grids. */
static cudaError_t check_configuration(const cudart_launch *launch, const cudart_function *f) {
    const dim3 grid = launch->grid, block = launch->block;
    const size_t fixed = ptx_kernel_shared_bytes(f->kernel);
    if (!grid.x || !grid.y || !grid.z || grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
        return cudart_refuse(cudaErrorInvalidValue,
                             "kernel %s: a grid of %u x %u x %u blocks; 1 to %d x 65535 x 65535 are possible",
                             f->title, grid.x, grid.y, grid.z, INT32_MAX);
    if (!block.x || !block.y || !block.z || block.x > 1024 || block.y > 1024 || block.z > 64 ||
        block.x * block.y * block.z > 1024)
        return cudart_refuse(
            cudaErrorInvalidValue,
            "kernel %s: a block of %u x %u x %u threads; 1 to 1024 x 1024 x 64 are possible, and 1024 "
            "in all",
            f->title, block.x, block.y, block.z);
    if (!allows_shared(f, launch->dynamic_shared))
        return cudart_refuse(
            cudaErrorInvalidValue,
            "kernel %s: %zu static and %zu dynamic bytes of shared memory; more than %d need "
            "cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize",
            f->title, fixed, launch->dynamic_shared, STATIC_SHARED);
    const uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    const unsigned resident =
        CUDART_SMS * cudart_occupancy(f, block.x * block.y * block.z, launch->dynamic_shared);
    if (launch->cooperative && blocks > resident)
        return cudart_refuse(cudaErrorCooperativeLaunchTooLarge,
                             "kernel %s: a cooperative grid of %llu blocks; %u fit the device at once",
                             f->title, (unsigned long long)blocks, resident);
    return cudaSuccess;
}

static cudaError_t pack_arguments(const ptx_kernel *kernel, void **arguments, char *to) {
    const size_t count = ptx_kernel_param_count(kernel);
    if (count && !arguments)
        return cudaErrorInvalidValue;
    memset(to, 0, ptx_kernel_param_bytes(kernel));
    for (size_t i = 0; i < count; i++) {
        size_t offset, bytes;
        ptx_kernel_param_at(kernel, i, &offset, &bytes);
        memcpy(to + offset, arguments[i], bytes);
    }
    return cudaSuccess;
}

/* ---- records ---- */

static cudaError_t create_record(const cudart_function *f, const ptx_launch_config *config, bool counters,
                                 ptx_race_scope races, cudart_record **out) {
    ptx_error error;
    cudart_record *record = calloc(1, sizeof *record);
    if (!record)
        return cudaErrorMemoryAllocation;
    record->function = f;
    if (ptx_record_create(f->kernel, counters, races, &record->ptx, &error) != PTX_OK) {
        free(record);
        return cudart_refuse_as(&error);
    }
    memcpy(record->grid, config->grid, sizeof record->grid);
    memcpy(record->block, config->block, sizeof record->block);
    record->dynamic_shared = config->dynamic_shared_bytes;
    *out = record;
    return cudaSuccess;
}

/* The record of launches with this kernel and grid; NULL if nothing is recorded. */
static cudaError_t find_record(const cudart_function *f, const ptx_launch_config *config,
                               cudart_record **out) {
    unsigned count = 0;
    *out = NULL;
    if (!cudart.races && !cudart.counters)
        return cudaSuccess;
    for (cudart_record *r = cudart.records; r; r = r->next, count++)
        if (r->function == f &&
            (count >= MAX_RECORDS || (!memcmp(r->grid, config->grid, sizeof r->grid) &&
                                      !memcmp(r->block, config->block, sizeof r->block) &&
                                      r->dynamic_shared == config->dynamic_shared_bytes))) {
            *out = r;
            return cudaSuccess;
        }
    const cudaError_t bad = create_record(f, config, cudart.counters, cudart.races, out);
    if (bad != cudaSuccess)
        return bad;
    cudart_record **end = &cudart.records;
    while (*end)
        end = &(*end)->next;
    *end = *out;
    return cudaSuccess;
}

/* The record of the steps of a block, if this is the launch to be traced; else NULL. */
static cudaError_t find_trace(const cudart_function *f, const ptx_launch_config *config,
                              cudart_record **out) {
    ptx_error error;
    *out = NULL;
    if (cudart.launches - 1 != cudart.traced_launch || cudart.traced)
        return cudaSuccess;
    const cudaError_t bad = create_record(f, config, false, PTX_RACES_NONE, &cudart.traced);
    if (bad != cudaSuccess)
        return bad;
    *out = cudart.traced;
    return ptx_record_trace(cudart.traced->ptx, cudart.traced_block, &error) == PTX_OK
               ? cudaSuccess
               : cudart_refuse_as(&error);
}

/* Stores the observers of the launch in `observers`, which has room for MAX_OBSERVERS. */
static cudaError_t observe(const cudart_function *f, ptx_launch_config *config, ptx_observer **observers) {
    cudart_record *records[2];
    cudaError_t bad = find_record(f, config, &records[0]);
    if (bad == cudaSuccess)
        bad = find_trace(f, config, &records[1]);
    for (unsigned i = 0; bad == cudaSuccess && i < 2; i++) {
        ptx_observer *const *own;
        const size_t count = records[i] ? ptx_record_observers(records[i]->ptx, &own) : 0;
        for (size_t k = 0; k < count; k++)
            observers[config->observer_count++] = own[k];
        if (records[i])
            records[i]->launches++;
    }
    config->observers = observers;
    return bad;
}

/* ---- the launch ---- */

static cudaError_t prepare_heap(const ptx_kernel *kernel) {
    ptx_error error;
    if (cudart.heap || !ptx_kernel_uses_heap(kernel))
        return cudaSuccess;
    return ptx_heap_create(cudart.memory, cudart.limits[cudaLimitMallocHeapSize], &cudart.heap, &error) ==
                   PTX_OK
               ? cudaSuccess
               : cudart_refuse_as(&error);
}

/* An error of the kernel's code is reported by a later call, as CUDA does; others at once. */
static cudaError_t failed(const ptx_error *error, const cudart_function *f, const cudart_launch *launch) {
    const cudaError_t code = cudart_error_of(error->status);
    say_error(error, f, &launch->block);
    if (error->status == PTX_ERR_ARGUMENT || error->status == PTX_ERR_UNSUPPORTED ||
        error->status == PTX_ERR_SYNTAX || error->status == PTX_ERR_MEMORY)
        return code;
    cudart.pending = code;
    return cudaSuccess;
}

static cudaError_t run_kernel(const cudart_function *f, const cudart_launch *launch,
                              const ptx_launch_config *given) {
    ptx_launch_config config = *given;
    ptx_error error;
    ptx_launch_stats stats = {0};
    ptx_observer *observers[MAX_OBSERVERS];
    cudaError_t bad = observe(f, &config, observers);
    if (bad != cudaSuccess)
        return bad;
    cudart_repeat *repeat = cudart_find_repeat(f, &config);
    if (repeat && cudart_skip_repeat(repeat, &stats.warp_instructions) &&
        (!cudart.budget || cudart.clock + stats.warp_instructions < cudart.budget)) {
        cudart.clock += stats.warp_instructions;
        cudart.repeated++;
        return cudaSuccess;
    }
    const size_t printed = cudart.printed.length;
    if (cudart.budget)
        config.step_budget = cudart.clock < cudart.budget ? cudart.budget - cudart.clock : 1;
    cudart.running = true;
    const ptx_status status = ptx_launch(f->kernel, cudart.memory, &config, &stats, &error);
    cudart.running = false;
    cudart.clock += stats.warp_instructions;
    if (repeat)
        cudart_keep_repeat(repeat, status == PTX_OK && printed == cudart.printed.length,
                           stats.warp_instructions);
    if (cudart.interrupted)
        say_error(&error, f, &launch->block);
    if (cudart.interrupted)
        cudart_end_by_interrupt();
    return status == PTX_OK ? cudaSuccess : failed(&error, f, launch);
}

/* ---- launches by kernels ---- */

static cudaError_t run_function(cudart_function *f, const cudart_launch *launch, const void *params);

static cudart_function *find_function(const cudart_module *module, const ptx_kernel *kernel) {
    for (cudart_function *f = module->functions; f; f = f->next)
        if (!strcmp(f->name, ptx_kernel_name(kernel)))
            return f;
    return NULL;
}

static cudaError_t run_device_launch(const cudart_function *parent, const ptx_device_launch *launch,
                                     const void *params) {
    if (!launch->kernel) {
        const uint64_t *copy = params;
        return cudart_copy((void *)(uintptr_t)copy[0], (const void *)(uintptr_t)copy[1], copy[2],
                           cudaMemcpyDeviceToDevice);
    }
    cudart_function *f = find_function(parent->module, launch->kernel);
    if (!f || cudart_find_function(f, &f) != cudaSuccess)
        return cudart_refuse(cudaErrorInvalidDeviceFunction,
                             "kernel %s, which %s launches, is not in the program",
                             ptx_kernel_name(launch->kernel), parent->title);
    const cudart_launch child = {.grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                                 .block = {launch->block[0], launch->block[1], launch->block[2]},
                                 .dynamic_shared = launch->dynamic_shared_bytes};
    cudart.launches++;
    return run_function(f, &child, params);
}

/* Runs what a kernel has launched, and what that launches, in the order of the launches. */
static cudaError_t run_device_launches(const cudart_function *parent) {
    static char params[PTX_DEVICE_PARAMS];
    ptx_device_launch launch;
    cudaError_t bad = cudaSuccess;
    while (bad == cudaSuccess && cudart.pending == cudaSuccess &&
           ptx_heap_next_launch(cudart.heap, &launch, params))
        bad = run_device_launch(parent, &launch, params);
    while (ptx_heap_next_launch(cudart.heap, &launch, params)) /* left behind by an error */
        ;
    return bad;
}

/* ---- functions ---- */

/* A cooperative grid waits on a counter in a workspace. */
static cudaError_t run_with_workspace(const cudart_function *f, const cudart_launch *launch,
                                      ptx_launch_config *config) {
    static const char zeros[WORKSPACE_BYTES];
    ptx_error error;
    if (ptx_memory_alloc(cudart.memory, WORKSPACE_BYTES, &config->grid_workspace, &error) != PTX_OK ||
        ptx_memory_write(cudart.memory, config->grid_workspace, zeros, sizeof zeros, &error) != PTX_OK)
        return cudart_refuse_as(&error);
    const cudaError_t bad = run_kernel(f, launch, config);
    (void)ptx_memory_free(cudart.memory, config->grid_workspace, NULL);
    return bad;
}

/* `given`: the parameters in PTX's layout; NULL: those of the launch's arguments. */
static cudaError_t run_function(cudart_function *f, const cudart_launch *launch, const void *given) {
    static char params[MAX_PARAMS];
    ptx_error error;
    if (ptx_kernel_parse(f->kernel, &error) != PTX_OK)
        return failed(&error, f, launch);
    cudaError_t bad = check_configuration(launch, f);
    if (bad == cudaSuccess && given)
        memcpy(params, given, PTX_DEVICE_PARAMS);
    else if (bad == cudaSuccess)
        bad = pack_arguments(f->kernel, launch->arguments, params);
    if (bad == cudaSuccess)
        bad = prepare_heap(f->kernel);
    if (bad != cudaSuccess)
        return bad;
    const dim3 grid = launch->grid, block = launch->block, cluster = launch->cluster;
    ptx_launch_config config = {.grid = {grid.x, grid.y, grid.z},
                                .block = {block.x, block.y, block.z},
                                .cluster = {cluster.x, cluster.y, cluster.z},
                                .dynamic_shared_bytes = launch->dynamic_shared,
                                .params = params,
                                .param_bytes = ptx_kernel_param_bytes(f->kernel),
                                .threads = cudart.threads,
                                .interrupted = interrupted,
                                .print = keep_printed,
                                .print_arg = &cudart.printed,
                                .heap = cudart.heap};
    return launch->cooperative ? run_with_workspace(f, launch, &config) : run_kernel(f, launch, &config);
}

cudaError_t cudart_run(const cudart_launch *launch) {
    cudart_function *f = NULL;
    const cudart_work work = {.type = cudaGraphNodeTypeKernel, .launch = *launch};
    cudaError_t captured;
    if (cudart_capture(launch->stream, &work, &captured))
        return captured;
    cudart.launches++;
    *cudart.refusal = '\0';
    cudaError_t error = cudart_check_stream(launch->stream);
    if (error == cudaSuccess)
        error = cudart_find_function(launch->function, &f);
    if (error == cudaSuccess)
        error = run_function(f, launch, NULL);
    if (error == cudaSuccess)
        error = run_device_launches(f);
    if (error == cudaSuccess && cudart.pending == cudaSuccess)
        return cudaSuccess;
    cudart.failed++;
    cudart_report_failure(f ? f->name : "", error == cudaSuccess ? cudart.pending : error);
    return error;
}

/* ---- the interface ---- */

typedef struct pushed {
    dim3 grid, block;
    size_t shared;
    void *stream;
} pushed;

enum { MAX_PUSHED = 16 };
static _Thread_local pushed configurations[MAX_PUSHED];
static _Thread_local unsigned configuration_count;

__attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
                                                                            size_t shared, void *stream) {
    if (configuration_count == MAX_PUSHED)
        return cudaErrorMissingConfiguration;
    configurations[configuration_count++] = (pushed){grid, block, shared, stream};
    return cudaSuccess;
}

CUDART_API __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (!configuration_count)
        return cudaErrorMissingConfiguration;
    const pushed *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(void **)stream = top->stream;
    return cudaSuccess;
}

static cudaError_t run_plain(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream, bool cooperative) {
    const cudart_launch launch = {.function = function,
                                  .grid = grid,
                                  .block = block,
                                  .dynamic_shared = shared,
                                  .arguments = arguments,
                                  .stream = stream,
                                  .cooperative = cooperative};
    return cudart_run(&launch);
}

CUDART_API cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                            cudaStream_t stream) {
    CUDART_RUN(run_plain(function, grid, block, arguments, shared, stream, false));
}
CUDART_ALSO(cudaLaunchKernel_ptsz, cudaLaunchKernel)

CUDART_API __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                              cudaStream_t stream) {
    CUDART_RUN(run_plain(kernel, grid, block, arguments, shared, stream, false));
}
CUDART_ALSO(__cudaLaunchKernel_ptsz, __cudaLaunchKernel)

CUDART_API cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                       size_t shared, cudaStream_t stream) {
    CUDART_RUN(run_plain(function, grid, block, arguments, shared, stream, true));
}
CUDART_ALSO(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel)

static cudaError_t run_configured(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    cudart_launch launch = {.function = function,
                            .grid = config->gridDim,
                            .block = config->blockDim,
                            .dynamic_shared = config->dynamicSmemBytes,
                            .arguments = arguments,
                            .stream = config->stream};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == cudaLaunchAttributeClusterDimension)
            launch.cluster = attribute->val.clusterDim;
        else if (attribute->id == cudaLaunchAttributeCooperative)
            launch.cooperative = attribute->val.cooperative != 0;
    }
    return cudart_run(&launch);
}

CUDART_API cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    CUDART_RUN(run_configured(config, function, arguments));
}
CUDART_ALSO(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC)
