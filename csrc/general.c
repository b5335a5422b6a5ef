#include "general.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one call holds on the device: zeroed at first, released at the end. */
typedef struct job {
    gr_general_plan plan;
    gr_kernel *kernels[GR_GENERAL_PASSES];
    gr_devptr source, second, scratch; /* scratch: the States between two launches, then the results */
    size_t scratch_bytes;
    gr_devptr states, results;
} job;

gr_status gr_source_upload(gr_backend *backend, const gr_source *source, gr_devptr *owned, uint64_t *first,
                           gr_error *error) {
    *first = source->origin;
    if (source->host == NULL)
        return GR_OK;
    gr_status status = backend->alloc(backend, source->bytes, owned, error);
    if (status == GR_OK && source->bytes > 0)
        status = backend->upload(backend, *owned, source->host, source->bytes, error);
    *first += *owned;
    return status;
}

static gr_status find_kernels(job *self, gr_registry *registry, gr_device *device,
                              const gr_general_request *request, gr_error *error) {
    const gr_image_id image = gr_image_of_op(request->op);
    gr_status status = GR_OK;
    for (size_t pass = 0; status == GR_OK && pass < self->plan.count; ++pass) {
        char entry[GR_KERNEL_NAME_BYTES];
        snprintf(entry, sizeof entry, "general_%s_%s_%s", self->plan.launches[pass].kernel,
                 gr_ops[request->op].name, gr_dtypes[request->dtype].name);
        status = gr_device_kernel(registry, device, &image, entry, &self->kernels[pass], error);
    }
    return status;
}

/* `params` must live until the launch was enqueued. */
static gr_launch job_launch(const job *self, size_t pass, const gr_general_params *params) {
    const gr_general_launch *planned = &self->plan.launches[pass];
    return (gr_launch){
        .kernel = self->kernels[pass],
        .grid = {planned->grid_x, planned->grid_y},
        .block = GR_GENERAL_THREADS,
        .params = params,
        .param_bytes = sizeof *params,
    };
}

/* Fills in what the plan leaves open: addresses, and who finishes the results. */
static void connect(job *self, const gr_general_request *request) {
    gr_general_params *first = &self->plan.launches[0].params;
    gr_general_params *last = &self->plan.launches[self->plan.count - 1].params;
    if (request->layout.has_second && gr_ops[request->op].takes != GR_TAKES_PAIR)
        first->flags |= GR_HAS_WHERE;
    if (last != first) {
        first->out = self->states;
        last->in = self->states;
    }
    last->out = request->host_out != NULL ? self->results : request->device_out;
    last->flags |= GR_FINAL;
    if (request->initial != NULL) {
        last->flags |= GR_HAS_INITIAL;
        memcpy(last->initial, request->initial,
               gr_dtypes[gr_op_result(request->op, request->dtype)].item_bytes);
    }
}

gr_status gr_general(gr_registry *registry, gr_device *device, const gr_general_request *request,
                     const gr_general_plan *plan, const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    if (plan->count == 0)
        return GR_OK;
    job work = {.plan = *plan};
    const size_t result_bytes =
        (size_t)work.plan.results * gr_dtypes[gr_op_result(request->op, request->dtype)].item_bytes;
    gr_general_params *first = &work.plan.launches[0].params;

    gr_status status = gr_source_upload(backend, &request->source, &work.source, &first->in, error);
    if (status == GR_OK && request->layout.has_second)
        status = gr_source_upload(backend, &request->second, &work.second, &first->second, error);
    if (status == GR_OK)
        status = find_kernels(&work, registry, device, request, error);
    if (status == GR_OK)
        status = gr_device_scratch_take(device, work.plan.states_bytes + result_bytes, &work.scratch,
                                        &work.scratch_bytes, error);
    work.states = work.scratch;
    work.results = work.scratch + work.plan.states_bytes;
    if (status == GR_OK)
        connect(&work, request);
    for (size_t pass = 0; status == GR_OK && pass < work.plan.count; ++pass) {
        const gr_launch now = job_launch(&work, pass, &work.plan.launches[pass].params);
        status = backend->launch(backend, &now, interrupt, error);
    }
    if (status == GR_OK && request->host_out != NULL)
        status = backend->download(backend, request->host_out, work.results, result_bytes, error);

    backend->free(backend, work.source);
    backend->free(backend, work.second);
    gr_device_scratch_give(device, work.scratch, work.scratch_bytes);
    return status;
}

/* Lays out `rounds` turns over all the buffers as one list of launches, and times it. */
static gr_status time_job(const job *work, gr_backend *backend, const gr_general_timing *timing,
                          double *microseconds, gr_error *error) {
    const size_t passes = work->plan.count, reductions = timing->buffers * timing->rounds;
    gr_launch *launches = calloc(reductions * passes, sizeof *launches);
    gr_general_params *params = calloc(reductions * passes, sizeof *params);
    gr_status status = GR_OK;
    if (launches == NULL || params == NULL) {
        status = gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu launches", reductions * passes);
        goto cleanup;
    }
    for (size_t i = 0; i < reductions; ++i) {
        gr_general_params *own = &params[i * passes];
        for (size_t pass = 0; pass < passes; ++pass)
            own[pass] = work->plan.launches[pass].params;
        own[0].in = timing->sources[i % timing->buffers];
        own[passes - 1].out = timing->outs[i % timing->buffers];
        for (size_t pass = 0; pass < passes; ++pass)
            launches[i * passes + pass] = job_launch(work, pass, &own[pass]);
    }
    status = backend->time(backend, launches, reductions * passes, timing->repeats, microseconds, error);
    for (size_t i = 0; status == GR_OK && i < timing->repeats; ++i)
        microseconds[i] *= (double)passes; /* from the mean of a launch to that of a reduction */
cleanup:
    free(params);
    free(launches);
    return status;
}

gr_status gr_general_time(gr_registry *registry, gr_device *device, const gr_general_request *request,
                          const gr_general_plan *plan, const gr_general_timing *timing, double *microseconds,
                          gr_error *error) {
    gr_backend *backend = device->backend;
    if (backend->time == NULL)
        return gr_fail(error, GR_ERR_VALUE,
                       "device: %s has no clock that means anything; time on a CUDA device",
                       backend->info.name);
    if (plan->count == 0)
        return gr_fail(error, GR_ERR_VALUE, "a: there are no results to time");
    job work = {.plan = *plan};
    gr_status status = find_kernels(&work, registry, device, request, error);
    if (status == GR_OK)
        status =
            gr_device_scratch_take(device, work.plan.states_bytes, &work.scratch, &work.scratch_bytes, error);
    work.states = work.scratch;
    if (status == GR_OK) {
        connect(&work, request);
        status = time_job(&work, backend, timing, microseconds, error);
    }
    gr_device_scratch_give(device, work.scratch, work.scratch_bytes);
    return status;
}
