/* Launches on a CUDA device: the permits that a kernel needs, its parameters and its attributes. */
#include <string.h>

#include "device/cuda/context.h"
#include "device/grid_parts.h"

/* Limits beyond which a kernel needs an attribute: bytes of dynamic shared memory, blocks per cluster. */
enum { DEFAULT_SHARED_BYTES = 48 * 1024, DEFAULT_CLUSTER = 8 };

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

gr_status gr_cuda_permit(cuda_backend *self, const gr_launch *launch, gr_error *error) {
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
        occupancy = occupancy > 0 ? occupancy : 1; /* the launch then fails with the reason */
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

gr_status gr_cuda_enqueue(cuda_backend *self, const gr_launch *launch, gr_cu_stream stream, gr_error *error) {
    uint32_t resident = launch->grid[0];
    gr_status status =
        launch->first_block_offset > 0 ? resident_blocks(self, launch, &resident, error) : GR_OK;
    if (status != GR_OK || resident == launch->grid[0])
        return status == GR_OK ? enqueue_one(self, launch, stream, error) : status;
    part_target target = {self, stream};
    return gr_launch_parts(launch, resident, enqueue_part, &target, error);
}

gr_status gr_cuda_map_tensor(gr_backend *base, const gr_tensor *tensor, gr_tensor_map *out, gr_error *error) {
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
gr_status gr_cuda_launch(gr_backend *base, const gr_launch *launch, const gr_interrupt *interrupt,
                         gr_error *error) {
    (void)interrupt;
    cuda_backend *self = as_cuda(base);
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    status = gr_cuda_permit(self, launch, error);
    if (status == GR_OK)
        status =
            gr_cuda_check_stream(self, launch->stream,
                                 gr_cuda_enqueue(self, launch, gr_cuda_stream(launch->stream), error), error);
    return gr_cuda_leave(self, status, error);
}
