#include "reduce.h"

#include <stdlib.h>
#include <string.h>

/* What a planned reduction holds on the device: zeroed at first, released by job_release. */
typedef struct job {
    gr_plan plan;
    gr_kernel *kernels[GR_MAX_PASSES];
    gr_devptr partials[2];
} job;

static size_t input_bytes(const gr_request *request) {
    return (size_t)request->n * gr_dtypes[request->dtype].item_bytes;
}

static gr_status job_prepare(job *self, gr_registry *registry, gr_device *device, const gr_request *request,
                             gr_error *error) {
    const gr_image_id image = gr_image_of_variant(request->variant);
    gr_status status = gr_plan_make(request, &gr_reference_limits, &self->plan, error);
    for (size_t i = 0; status == GR_OK && i < self->plan.count; ++i)
        status =
            gr_device_kernel(registry, device, &image, self->plan.passes[i].kernel, &self->kernels[i], error);
    for (size_t i = 0; status == GR_OK && i < 2 && self->plan.partials_bytes[i] > 0; ++i)
        status =
            device->backend->alloc(device->backend, self->plan.partials_bytes[i], &self->partials[i], error);
    return status;
}

static void job_release(job *self, gr_device *device) {
    for (size_t i = 0; i < 2; ++i)
        device->backend->free(device->backend, self->partials[i]);
}

/* `params` must live until the launch was enqueued. */
static gr_launch job_launch(const job *self, size_t pass, gr_devptr input, gr_ladder_params *params) {
    const gr_pass *planned = &self->plan.passes[pass];
    *params = (gr_ladder_params){
        .in = pass == 0 ? input : self->partials[(pass - 1) % 2],
        .out = self->partials[pass % 2],
        .n = planned->n,
    };
    return (gr_launch){
        .kernel = self->kernels[pass],
        .grid = {planned->grid, 1},
        .block = planned->block,
        .shared_bytes = planned->shared_bytes,
        .params = params,
        .param_bytes = sizeof *params,
    };
}

gr_status gr_reduce(gr_registry *registry, gr_device *device, const gr_request *request, const void *data,
                    const gr_interrupt *interrupt, gr_scalar *result, gr_error *error) {
    gr_backend *backend = device->backend;
    const size_t bytes = input_bytes(request);
    const gr_dtype partial = gr_op_partial(request->op, request->dtype);
    const size_t partial_bytes = gr_dtypes[partial].item_bytes;
    gr_devptr input = 0;
    job work = {.partials = {0, 0}};

    gr_status status = job_prepare(&work, registry, device, request, error);
    if (status == GR_OK)
        status = backend->alloc(backend, bytes, &input, error);
    if (status == GR_OK && bytes > 0)
        status = backend->upload(backend, input, data, bytes, error);
    if (status == GR_OK && work.plan.starts_from_identity) {
        const gr_scalar identity = gr_op_identity(request->op, partial);
        status = backend->upload(backend, work.partials[0], &identity, partial_bytes, error);
    }
    for (size_t i = 0; status == GR_OK && i < work.plan.count; ++i) {
        gr_ladder_params params;
        const gr_launch launch = job_launch(&work, i, input, &params);
        status = backend->launch(backend, &launch, interrupt, error);
    }
    if (status == GR_OK)
        status = backend->download(backend, result, work.partials[(work.plan.count - 1) % 2], partial_bytes,
                                   error);
    if (status == GR_OK)
        gr_op_finish(request->op, partial, result);

    backend->free(backend, input);
    job_release(&work, device);
    return status;
}

/* Lays out `rounds` turns over all inputs, `passes` launches a reduction, and times them as one graph. */
static gr_status time_passes(const job *work, gr_backend *backend, const gr_devptr *inputs, size_t passes,
                             const gr_timing_request *timing, double *microseconds, gr_error *error) {
    const size_t reductions = timing->buffers * timing->rounds;
    gr_launch *launches = calloc(reductions * passes, sizeof *launches);
    gr_ladder_params *params = calloc(reductions * passes, sizeof *params);
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
