#include "reduce/reduce.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/ladder/cub.h"

/* What a planned reduction holds on the device: zeroed at first, released by job_release. */
typedef struct job {
    gr_plan plan;
    gr_kernel *kernels[GR_MAX_PASSES];
    gr_devptr partials[2];
    gr_devptr ticket;        /* of a single-pass kernel */
    gr_library_call library; /* of a library's own reduction, which has its `temp` to release */
    size_t library_bytes;
} job;

/* What a launch points to. */
typedef union job_params {
    gr_ladder_params kernel;
    gr_library_call library;
} job_params;

static size_t input_bytes(const gr_request *request) {
    return (size_t)request->n * gr_dtypes[request->dtype].item_bytes;
}

/* Finds the library's reduction, and gives it the memory that it asks for. */
static gr_status prepare_library(job *self, gr_registry *registry, gr_device *device, gr_error *error) {
    gr_backend *backend = device->backend;
    const gr_pass *pass = &self->plan.passes[0];
    gr_status status = gr_cub_find(registry, pass->kernel, &self->library, error);
    self->library.temp_bytes = &self->library_bytes;
    self->library.n = pass->n;
    const gr_launch query = {.library = &self->library};
    if (status == GR_OK)
        status = backend->launch(backend, &query, NULL, error);
    if (status == GR_OK)
        status = backend->alloc(backend, self->library_bytes, &self->library.temp, error);
    return status;
}

/* Whether the device can run the variant at all. */
static gr_status check_device(const gr_variant *variant, const gr_backend *backend, gr_error *error) {
    const gr_device_info *info = &backend->info;
    if (variant->backends == GR_BACKENDS_CUDA && info->kind != GR_DEVICE_CUDA)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s runs on CUDA devices only, not on the simulator",
                       variant->name);
    if (variant->capability >= GR_HOPPER && info->can.capability < variant->capability)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s needs compute capability %u.%u; %s has %d.%d",
                       variant->name, (unsigned)(variant->capability / 10),
                       (unsigned)(variant->capability % 10), info->name, info->capability_major,
                       info->capability_minor);
    if (variant->cluster > 1 && !info->can.clusters)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s needs clusters of blocks; %s has none",
                       variant->name, info->name);
    return GR_OK;
}

/* Only more threads than the default can need too much. */
static gr_status check_shared(const gr_variant *variant, const gr_plan *plan, const gr_device_info *info,
                              gr_error *error) {
    const gr_pass *pass = &plan->passes[0]; /* later ones are no larger */
    const uint32_t granted = info->can.shared_per_block;
    if (pass->shared_bytes <= granted)
        return GR_OK;
    uint32_t most = pass->block;
    while (most > 0 && (!gr_variant_takes_block(variant, most) ||
                        (uint64_t)pass->shared_bytes * most / pass->block > granted))
        --most;
    return gr_fail(error, GR_ERR_VALUE,
                   "block_size: %u threads of %s take %u bytes of shared memory; a block of %s may have %u, "
                   "enough for %u threads",
                   (unsigned)pass->block, variant->name, (unsigned)pass->shared_bytes, info->name,
                   (unsigned)granted, (unsigned)most);
}

/* Launches leave it at zero, so that one after another may draw from it. */
static gr_status prepare_ticket(job *self, gr_backend *backend, gr_error *error) {
    const uint32_t none = 0;
    const gr_status status = backend->alloc(backend, sizeof none, &self->ticket, error);
    return status == GR_OK ? backend->upload(backend, self->ticket, &none, sizeof none, error) : status;
}

static gr_status job_prepare(job *self, gr_registry *registry, gr_device *device, const gr_request *request,
                             gr_error *error) {
    const gr_image_id image = gr_image_of_variant(request->variant);
    gr_status status = gr_plan_make(request, &gr_reference_limits, &self->plan, error);
    if (status == GR_OK)
        status = check_device(request->variant, device->backend, error);
    if (status == GR_OK)
        status = check_shared(request->variant, &self->plan, &device->backend->info, error);
    const bool is_library = request->variant->entry == GR_ENTRY_LIBRARY;
    if (status == GR_OK && is_library)
        status = prepare_library(self, registry, device, error);
    for (size_t i = 0; status == GR_OK && !is_library && i < self->plan.count; ++i)
        status =
            gr_device_kernel(registry, device, &image, self->plan.passes[i].kernel, &self->kernels[i], error);
    for (size_t i = 0; status == GR_OK && i < 2 && self->plan.partials_bytes[i] > 0; ++i)
        status =
            device->backend->alloc(device->backend, self->plan.partials_bytes[i], &self->partials[i], error);
    if (status == GR_OK && self->plan.single_pass)
        status = prepare_ticket(self, device->backend, error);
    return status;
}

static void job_release(job *self, gr_device *device) {
    for (size_t i = 0; i < 2; ++i)
        device->backend->free(device->backend, self->partials[i]);
    device->backend->free(device->backend, self->library.temp);
    device->backend->free(device->backend, self->ticket);
}

/* `params` must live until the launch was enqueued. */
static gr_launch job_launch(const job *self, size_t pass, gr_devptr input, job_params *params) {
    const gr_pass *planned = &self->plan.passes[pass];
    if (self->library.run != NULL) {
        params->library = self->library;
        params->library.in = input;
        params->library.out = self->partials[0];
        return (gr_launch){.library = &params->library};
    }
    params->kernel = (gr_ladder_params){
        .in = pass == 0 ? input : self->partials[(pass - 1) % 2],
        .out = self->partials[pass % 2],
        .n = planned->n,
        .block_sums = self->partials[1],
        .ticket = self->ticket,
    };
    return (gr_launch){
        .kernel = self->kernels[pass],
        .grid = {planned->grid},
        .block = {planned->block},
        .cluster = {planned->cluster},
        .shared_bytes = planned->shared_bytes,
        .params = &params->kernel,
        .param_bytes =
            self->plan.single_pass ? sizeof params->kernel : offsetof(gr_ladder_params, block_sums),
    };
}

static gr_status check_address(const gr_variant *variant, const gr_source *source, gr_error *error) {
    if (source->host != NULL || source->origin % variant->align == 0)
        return GR_OK;
    return gr_fail(error, GR_ERR_VALUE,
                   "a: %s takes device arrays that begin on a %u-byte boundary; 'auto' takes any",
                   variant->name, (unsigned)variant->align);
}

gr_status gr_reduce(gr_registry *registry, gr_device *device, const gr_request *request,
                    const gr_source *source, const gr_interrupt *interrupt, gr_scalar *result,
                    gr_error *error) {
    gr_backend *backend = device->backend;
    const gr_dtype partial = gr_op_partial(request->op, request->dtype);
    const size_t partial_bytes = gr_op_partial_bytes(request->op, request->dtype);
    gr_devptr input = 0, copied = 0;
    job work = {.partials = {0, 0}};

    gr_status status = check_address(request->variant, source, error);
    if (status == GR_OK)
        status = job_prepare(&work, registry, device, request, error);
    if (status == GR_OK)
        status = gr_source_upload(backend, source, &copied, &input, error);
    if (status == GR_OK && work.plan.starts_from_identity) {
        const gr_scalar identity = gr_op_identity(request->op, partial);
        status = backend->upload(backend, work.partials[0], &identity, partial_bytes, error);
    }
    for (size_t i = 0; status == GR_OK && i < work.plan.count; ++i) {
        job_params params;
        const gr_launch launch = job_launch(&work, i, input, &params);
        status = backend->launch(backend, &launch, interrupt, error);
    }
    /* Of a place the position alone, which comes first: what lies behind the element was never written. */
    const bool is_place = gr_ops[request->op].result == GR_RESULT_PLACE;
    if (status == GR_OK)
        status = backend->download(backend, result, work.partials[(work.plan.count - 1) % 2],
                                   is_place ? sizeof(int64_t) : partial_bytes, error);
    if (status == GR_OK)
        gr_op_finish(request->op, partial, result);

    backend->free(backend, copied);
    job_release(&work, device);
    return status;
}

/* Lays out `rounds` turns over all inputs, `passes` launches a reduction, and times them as one graph. */
static gr_status time_passes(const job *work, gr_backend *backend, const gr_devptr *inputs, size_t passes,
                             const gr_timing_request *timing, double *microseconds, gr_error *error) {
    const size_t reductions = timing->buffers * timing->rounds;
    gr_launch *launches = calloc(reductions * passes, sizeof *launches);
    job_params *params = calloc(reductions * passes, sizeof *params);
    gr_status status = GR_OK;
    if (launches == NULL || params == NULL) {
        status = gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu launches", reductions * passes);
        goto cleanup;
    }
    for (size_t i = 0; i < reductions; ++i)
        for (size_t pass = 0; pass < passes; ++pass)
            launches[i * passes + pass] =
                job_launch(work, pass, inputs[i % timing->buffers], &params[i * passes + pass]);
    status = backend->time(backend, launches, reductions * passes, timing->repeats, microseconds, error);
    for (size_t i = 0; status == GR_OK && i < timing->repeats; ++i)
        microseconds[i] *= (double)passes; /* from the mean of a launch to that of a reduction */
cleanup:
    free(params);
    free(launches);
    return status;
}

gr_status gr_time(gr_registry *registry, gr_device *device, const gr_request *request, const void *data,
                  const gr_timing_request *timing, double *first_pass, double *all_passes, gr_error *error) {
    gr_backend *backend = device->backend;
    const size_t bytes = input_bytes(request);
    job work = {.partials = {0, 0}};

    if (backend->time == NULL)
        return gr_fail(error, GR_ERR_VALUE,
                       "device: %s has no clock that means anything; time on a CUDA device",
                       backend->info.name);
    gr_devptr *inputs = calloc(timing->buffers, sizeof *inputs);
    if (inputs == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu buffers", timing->buffers);
    gr_status status = job_prepare(&work, registry, device, request, error);
    for (size_t i = 0; status == GR_OK && i < timing->buffers; ++i) {
        status = backend->alloc(backend, bytes, &inputs[i], error);
        if (status == GR_OK && bytes > 0)
            status = backend->upload(backend, inputs[i], data, bytes, error);
    }
    if (status == GR_OK && work.library.run != NULL) {
        /* The library loads its kernels at their first launch, which must not be while a graph is captured.
         */
        job_params params;
        const gr_launch launch = job_launch(&work, 0, inputs[0], &params);
        status = backend->launch(backend, &launch, NULL, error);
    }
    if (status == GR_OK)
        status = time_passes(&work, backend, inputs, 1, timing, first_pass, error);
    if (status == GR_OK)
        status = time_passes(&work, backend, inputs, work.plan.count, timing, all_passes, error);

    for (size_t i = 0; i < timing->buffers; ++i)
        backend->free(backend, inputs[i]);
    free(inputs);
    job_release(&work, device);
    return status;
}
