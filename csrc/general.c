#include "general.h"

#include <stdio.h>
#include <string.h>

/* What one call holds on the device: zeroed at first, released at the end. */
typedef struct job {
    gr_general_plan plan;
    gr_devptr source, second, scratch; /* scratch: the States between two launches, then the results */
    size_t scratch_bytes;
    gr_devptr states, results;
} job;

static gr_status upload(gr_backend *backend, const gr_source *source, gr_devptr *owned, uint64_t *first,
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

static gr_status launch(const job *self, gr_registry *registry, gr_device *device, size_t pass,
                        const gr_general_request *request, const gr_interrupt *interrupt, gr_error *error) {
    const gr_general_launch *planned = &self->plan.launches[pass];
    const gr_image_id image = gr_image_of_op(request->op);
    char entry[GR_KERNEL_NAME_BYTES];
    snprintf(entry, sizeof entry, "general_%s_%s_%s", planned->kernel, gr_ops[request->op].name,
             gr_dtypes[request->dtype].name);
    gr_kernel *kernel = NULL;
    gr_status status = gr_device_kernel(registry, device, &image, entry, &kernel, error);
    if (status != GR_OK)
        return status;
    const gr_launch now = {
        .kernel = kernel,
        .grid = {planned->grid_x, planned->grid_y},
        .block = GR_GENERAL_THREADS,
        .params = &planned->params,
        .param_bytes = sizeof planned->params,
    };
    return device->backend->launch(device->backend, &now, interrupt, error);
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

    gr_status status = upload(backend, &request->source, &work.source, &first->in, error);
    if (status == GR_OK && request->layout.has_second)
        status = upload(backend, &request->second, &work.second, &first->second, error);
    if (status == GR_OK)
        status = gr_device_scratch_take(device, work.plan.states_bytes + result_bytes, &work.scratch,
                                        &work.scratch_bytes, error);
    work.states = work.scratch;
    work.results = work.scratch + work.plan.states_bytes;
    if (status == GR_OK)
        connect(&work, request);
    for (size_t pass = 0; status == GR_OK && pass < work.plan.count; ++pass)
        status = launch(&work, registry, device, pass, request, interrupt, error);
    if (status == GR_OK && request->host_out != NULL)
        status = backend->download(backend, request->host_out, work.results, result_bytes, error);

    backend->free(backend, work.source);
    backend->free(backend, work.second);
    gr_device_scratch_give(device, work.scratch, work.scratch_bytes);
    return status;
}
