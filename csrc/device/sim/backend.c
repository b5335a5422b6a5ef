/* The simulator implementation of backend.h: memory and launches of ptxsim. All operations are synchronous.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "device/grid_parts.h"
#include "device/sim/backend.h"

typedef struct sim_backend {
    gr_backend base; /* first member: a gr_backend * is a sim_backend * */
    ptx_memory *memory;
    gr_sim_prepare *prepare; /* NULL: none */
    void *prepare_arg;
} sim_backend;

static ptx_memory *memory_of(gr_backend *base) {
    return ((sim_backend *)base)->memory;
}

gr_status gr_sim_check(ptx_status status, const ptx_error *from, gr_error *error) {
    const gr_status failed = status == PTX_ERR_MEMORY        ? GR_ERR_MEMORY
                             : status == PTX_ERR_INTERRUPTED ? GR_ERR_INTERRUPTED
                                                             : GR_ERR_SIMULATION;
    return status == PTX_OK ? GR_OK : gr_fail(error, failed, "%s", from->message);
}

static gr_status sim_alloc(gr_backend *base, size_t bytes, gr_devptr *out, gr_error *error) {
    ptx_error failed;
    return gr_sim_check(ptx_memory_alloc(memory_of(base), bytes > 0 ? bytes : 16, out, &failed), &failed,
                        error);
}

static void sim_free(gr_backend *base, gr_devptr address) {
    ptx_error ignored;
    if (address != 0)
        ptx_memory_free(memory_of(base), address, &ignored);
}

static gr_status sim_upload(gr_backend *base, gr_stream stream, gr_devptr to, const void *from, size_t bytes,
                            gr_error *error) {
    (void)stream;
    ptx_error failed;
    return gr_sim_check(ptx_memory_write(memory_of(base), to, from, bytes, &failed), &failed, error);
}

static gr_status sim_download(gr_backend *base, gr_stream stream, void *to, gr_devptr from, size_t bytes,
                              gr_error *error) {
    (void)stream;
    ptx_error failed;
    return gr_sim_check(ptx_memory_read(memory_of(base), to, from, bytes, &failed), &failed, error);
}

static gr_status sim_memset_async(gr_backend *base, gr_stream stream, gr_devptr address, unsigned char value,
                                  size_t bytes, gr_error *error) {
    void *values = malloc(bytes > 0 ? bytes : 1);
    if (values == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu bytes", bytes);
    memset(values, value, bytes);
    const gr_status status = sim_upload(base, stream, address, values, bytes, error);
    free(values);
    return status;
}

/* A gr_module is a ptx_module, a gr_kernel a ptx_kernel. */
static gr_status sim_load(gr_backend *base, const gr_image *image, gr_module **out, gr_error *error) {
    (void)base;
    ptx_error failed;
    ptx_module *module = NULL;
    const ptx_module_options options = {.kernel = image->kernel};
    const ptx_status status = ptx_module_open(image->data, image->size, &options, &module, &failed);
    *out = (gr_module *)module;
    return gr_sim_check(status, &failed, error);
}

static void sim_unload(gr_backend *base, gr_module *module) {
    (void)base;
    ptx_module_free((ptx_module *)module);
}

static gr_status sim_find(gr_backend *base, gr_module *module, const char *entry, gr_kernel **out,
                          gr_error *error) {
    (void)base;
    const ptx_kernel *kernel = ptx_module_find((const ptx_module *)module, entry);
    if (kernel == NULL)
        return gr_fail(error, GR_ERR_SIMULATION, "there is no kernel %s in the PTX", entry);
    *out = (gr_kernel *)(uintptr_t)kernel;
    return GR_OK;
}

/* The number in an environment variable, or 0 if it is not from 1 to `max`. */
static uint32_t number_in(const char *variable, long max) {
    const char *text = getenv(variable);
    const long value = text != NULL ? strtol(text, NULL, 10) : 0;
    return value > 0 && value <= max ? (uint32_t)value : 0;
}

static unsigned host_threads(void) {
    const unsigned asked = number_in("GPUREDUCE_SIM_THREADS", PTX_MAX_HOST_THREADS);
    if (asked > 0)
        return asked;
    cpu_set_t cpus;
    const int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    return count < PTX_MAX_HOST_THREADS ? (unsigned)count : PTX_MAX_HOST_THREADS;
}

void gr_sim_configure(ptx_launch_config *config) {
    config->threads = host_threads();
    config->block_order = number_in("GPUREDUCE_SIM_BLOCK_ORDER", INT32_MAX);
    config->resident_blocks = number_in("GPUREDUCE_SIM_RESIDENT_BLOCKS", INT32_MAX);
}

typedef struct part_target {
    gr_backend *backend;
    ptx_launch_config config;
} part_target;

/* Launches a part of a grid, without observers. */
static gr_status launch_part(void *arg, const gr_launch *part, gr_error *error) {
    part_target *target = arg;
    ptx_error failed;
    target->config.params = part->params;
    target->config.grid[0] = part->grid[0];
    return gr_sim_check(ptx_launch((const ptx_kernel *)part->kernel, memory_of(target->backend),
                                   &target->config, NULL, &failed),
                        &failed, error);
}

static gr_status sim_launch(gr_backend *base, const gr_launch *launch, const gr_interrupt *interrupt,
                            gr_error *error) {
    ptx_error failed;
    ptx_launch_config config = {
        .grid = {GR_EXTENTS(launch->grid)},
        .block = {GR_EXTENTS(launch->block)},
        .cluster = {GR_EXTENTS(launch->cluster)},
        .dynamic_shared_bytes = launch->shared_bytes,
        .params = launch->params,
        .param_bytes = launch->param_bytes,
        .step_budget = GR_SIM_STEP_BUDGET,
        .interrupted = interrupt != NULL ? interrupt->pending : NULL,
        .interrupted_arg = interrupt != NULL ? interrupt->arg : NULL,
    };
    gr_sim_configure(&config);
    if (launch->first_block_offset > 0 && config.resident_blocks > 0) {
        part_target target = {base, config};
        return gr_launch_parts(launch, config.resident_blocks, launch_part, &target, error);
    }
    const ptx_kernel *kernel = (const ptx_kernel *)launch->kernel;
    const sim_backend *self = (sim_backend *)base;
    if (self->prepare != NULL && self->prepare(self->prepare_arg, kernel, &config, error) != GR_OK)
        return error->status;
    return gr_sim_check(ptx_launch(kernel, memory_of(base), &config, NULL, &failed), &failed, error);
}

static gr_status sim_map_tensor(gr_backend *base, const gr_tensor *tensor, gr_tensor_map *out,
                                gr_error *error) {
    (void)base;
    ptx_error failed;
    ptx_tensor described = {
        .type = tensor->type, .swizzle = tensor->swizzle, .rank = tensor->rank, .address = tensor->address};
    for (int i = 0; i < GR_TENSOR_DIMENSIONS; ++i)
        described.steps[i] = gr_extent(tensor->steps[i]);
    memcpy(described.sizes, tensor->sizes, sizeof described.sizes);
    memcpy(described.strides, tensor->strides, sizeof described.strides);
    memcpy(described.box, tensor->box, sizeof described.box);
    return gr_sim_check(ptx_tensor_map_encode(&described, out->bytes, &failed), &failed, error);
}

void gr_backend_sim_watch(gr_backend *backend, gr_sim_prepare *prepare, void *arg) {
    ((sim_backend *)backend)->prepare = prepare;
    ((sim_backend *)backend)->prepare_arg = arg;
}

/* Launches are synchronous. */
static gr_status sim_sync(gr_backend *base, gr_error *error) {
    (void)base;
    (void)error;
    return GR_OK;
}

static void sim_lock_for_fork(gr_backend *base, bool taken) {
    ptx_memory_lock(memory_of(base), taken);
}

static gr_status sim_wait(gr_backend *base, gr_stream stream, gr_error *error) {
    (void)stream;
    return sim_sync(base, error);
}

static gr_status sim_host_alloc(gr_backend *base, size_t bytes, void **out, gr_devptr *mapped,
                                gr_error *error) {
    (void)base;
    *mapped = 0;
    *out = malloc(bytes);
    return *out != NULL ? GR_OK : gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu bytes", bytes);
}

static void sim_host_free(gr_backend *base, void *memory) {
    (void)base;
    free(memory);
}

static gr_status sim_get_state(gr_backend *base, gr_stream stream, gr_stream_state *out, gr_error *error) {
    (void)stream;
    *out = (gr_stream_state){.stream = 0};
    return sim_sync(base, error);
}

static gr_status sim_alloc_async(gr_backend *base, gr_stream stream, size_t bytes, gr_devptr *out,
                                 gr_error *error) {
    (void)stream;
    return sim_alloc(base, bytes, out, error);
}

static void sim_free_async(gr_backend *base, gr_stream stream, gr_devptr address) {
    (void)stream;
    sim_free(base, address);
}

/* Opens a stream or an event, which need no state. */
static gr_status sim_begin(gr_backend *base, uint64_t *out, gr_error *error) {
    *out = 0;
    return sim_sync(base, error);
}

static void sim_end(gr_backend *base, uint64_t stream_or_event) {
    (void)base;
    (void)stream_or_event;
}

static gr_status sim_wait_event(gr_backend *base, gr_stream stream, gr_event event, gr_error *error) {
    (void)stream;
    (void)event;
    return sim_sync(base, error);
}

static gr_status sim_event_done(gr_backend *base, gr_event event, bool wait, bool *done, gr_error *error) {
    *done = true;
    (void)wait;
    return sim_wait_event(base, 0, event, error);
}

static const gr_stream_ops sim_stream_ops = {
    .maps = false,
    .get_state = sim_get_state,
    .alloc_async = sim_alloc_async,
    .free_async = sim_free_async,
    .host_alloc = sim_host_alloc,
    .host_free = sim_host_free,
    .stream_open = sim_begin,
    .stream_close = sim_end,
    .event_open = sim_begin,
    .event_close = sim_end,
    .record = sim_wait_event,
    .wait_event = sim_wait_event,
    .event_done = sim_event_done,
};

static void sim_close(gr_backend *base) {
    ptx_memory_destroy(memory_of(base));
    free(base);
}

static const gr_backend sim_operations = {
    .detects_out_of_bounds = true,
    .streams = &sim_stream_ops,
    .close = sim_close,
    .alloc = sim_alloc,
    .free = sim_free,
    .upload = sim_upload,
    .download = sim_download,
    .memset_async = sim_memset_async,
    .load = sim_load,
    .unload = sim_unload,
    .find = sim_find,
    .launch = sim_launch,
    .map_tensor = sim_map_tensor,
    .sync = sim_sync,
    .lock_for_fork = sim_lock_for_fork,
    .wait = sim_wait,
};

gr_status gr_backend_sim_open(gr_backend **out, gr_error *error) {
    ptx_error failed;
    sim_backend *self = calloc(1, sizeof *self);
    if (self == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory to open the simulator");
    /* Device memory is limited to the memory of the machine: beyond it the kernel would kill the process. */
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    const size_t memory = pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : 0;
    const gr_status status = gr_sim_check(ptx_memory_create(memory, &self->memory, &failed), &failed, error);
    if (status != GR_OK) {
        free(self);
        return status;
    }
    self->base = sim_operations;
    const char *capability = getenv("GPUREDUCE_SIM_CAPABILITY"); /* for tests of the kernels before Hopper */
    const uint32_t simulated =
        capability == NULL ? GR_HOPPER : (uint32_t)(strtod(capability, NULL) * 10 + 0.5);
    self->base.info = (gr_device_info){
        .kind = GR_DEVICE_SIM,
        .name = "PTX simulator",
        .multiprocessors = gr_reference_device.multiprocessors,
        .threads_per_multiprocessor = gr_reference_device.threads_per_multiprocessor,
        .memory_bytes = memory,
        .caps = {.capability = simulated,
                 .shared_per_block = PTX_MAX_SHARED,
                 .clusters = simulated >= GR_HOPPER},
    };
    *out = &self->base;
    return GR_OK;
}
