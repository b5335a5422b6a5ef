#include "reduce/general/general.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/direct.h"
#include "feed/ring.h"

/* The parameters of any pass. */
typedef union pass_params {
    gr_general_params general;
    gr_flat_params flat;
} pass_params;

/* What one call holds on the device: zeroed at first, released at the end. */
typedef struct job {
    bool flat; /* one pass, of a flat kernel */
    size_t passes, states_bytes;
    gr_launch launches[GR_GENERAL_PASSES]; /* but for their parameters */
    pass_params params[GR_GENERAL_PASSES];
    gr_devptr source, second, scratch; /* scratch: the States between two launches, then the results */
    size_t scratch_bytes;
    gr_devptr slots; /* of a flat kernel */
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

static gr_status find_kernel(gr_registry *registry, gr_device *device, const gr_general_request *request,
                             const char *name, gr_kernel **out, gr_error *error) {
    const gr_image_id image = gr_image_of_op(request->op);
    char entry[GR_KERNEL_NAME_BYTES];
    snprintf(entry, sizeof entry, "general_%s_%s_%s", name, gr_ops[request->op].name,
             gr_dtypes[request->dtype].name);
    return gr_device_kernel(registry, device, &image, entry, out, error);
}

static gr_status prepare_flat(job *self, gr_registry *registry, gr_device *device,
                              const gr_general_request *request, const gr_general_plan *plan,
                              gr_error *error) {
    const gr_abilities *can = &device->backend->info.can;
    const gr_layout *layout = &request->layout;
    gr_flat_launch planned;
    if (request->shape == NULL)
        gr_flat_plan_make(plan->reduced_count, layout->item_bytes, layout->pair, can, &planned);
    else if (gr_flat_shape_fits(request->shape, layout->pair, can))
        gr_flat_plan_shape(request->shape, plan->reduced_count, layout->item_bytes, &planned);
    else
        return gr_fail(error, GR_ERR_VALUE, "shape: not for this device or operator");
    self->flat = true;
    self->passes = 1;
    self->params[0].flat = planned.params;
    gr_launch *launch = &self->launches[0];
    *launch = (gr_launch){
        .grid = {planned.grid},
        .block = {planned.block},
        .shared_bytes = planned.shared_bytes,
        .param_bytes = sizeof planned.params,
        .overlap = can->capability >= GR_HOPPER,
    };
    gr_kernel *kernel = NULL;
    gr_status status =
        gr_device_flat_kernel(registry, device, planned.kernel, request->op, request->dtype, &kernel, error);
    launch->kernel = kernel;
    if (status == GR_OK)
        status = gr_device_slots_take(device, &self->slots, error);
    self->params[0].flat.slots = self->slots;
    return status;
}

static gr_status prepare(job *self, gr_registry *registry, gr_device *device,
                         const gr_general_request *request, const gr_general_plan *plan, gr_error *error) {
    self->states_bytes = plan->states_bytes;
    if (plan->single_pass)
        return prepare_flat(self, registry, device, request, plan, error);
    self->passes = plan->count;
    gr_status status = GR_OK;
    for (size_t pass = 0; status == GR_OK && pass < plan->count; ++pass) {
        const gr_general_launch *planned = &plan->launches[pass];
        gr_kernel *kernel = NULL;
        status = find_kernel(registry, device, request, planned->kernel, &kernel, error);
        self->params[pass].general = planned->params;
        self->launches[pass] = (gr_launch){
            .kernel = kernel,
            .grid = {planned->grid_x, planned->grid_y},
            .block = {GR_GENERAL_THREADS},
            .param_bytes = sizeof planned->params,
        };
    }
    return status;
}

/* Where the addresses of the inputs and of the results go. */
static uint64_t *place_of_in(const job *self, pass_params *first) {
    return self->flat ? &first->flat.in : &first->general.in;
}
static uint64_t *place_of_second(const job *self, pass_params *first) {
    return self->flat ? &first->flat.second : &first->general.second;
}
static uint64_t *place_of_out(const job *self, pass_params *last) {
    return self->flat ? &last->flat.out : &last->general.out;
}

/* Fills in what the plan leaves open: who finishes the results, and the addresses of what lies between. */
static void connect(job *self, const gr_general_request *request) {
    pass_params *first = &self->params[0], *last = &self->params[self->passes - 1];
    const size_t initial_bytes = gr_dtypes[gr_op_result(request->op, request->dtype)].item_bytes;
    if (self->flat) {
        first->flat.flags |= GR_FLAT_FINAL | (request->initial != NULL ? GR_FLAT_HAS_INITIAL : 0u);
        if (request->initial != NULL)
            memcpy(first->flat.initial, request->initial, initial_bytes);
        return;
    }
    if (request->layout.has_second && !request->layout.pair)
        first->general.flags |= GR_HAS_WHERE;
    if (last != first)
        first->general.out = last->general.in = self->scratch;
    last->general.flags |= GR_FINAL | (request->initial != NULL ? GR_HAS_INITIAL : 0u);
    if (request->initial != NULL)
        memcpy(last->general.initial, request->initial, initial_bytes);
}

gr_status gr_general(gr_registry *registry, gr_device *device, const gr_general_request *request,
                     const gr_general_plan *plan, const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    if (plan->results == 0)
        return GR_OK;
    if (gr_host_stream_takes(device, request, plan))
        return gr_host_stream(registry, device, request, plan->reduced_count, interrupt, error);
    if (gr_direct_takes(device, request, plan))
        return gr_direct_run(registry, device, request, plan->reduced_count, error);
    job work = {.passes = 0};
    const size_t result_bytes =
        (size_t)plan->results * gr_dtypes[gr_op_result(request->op, request->dtype)].item_bytes;

    gr_status status = prepare(&work, registry, device, request, plan, error);
    if (status == GR_OK)
        status = gr_source_upload(backend, &request->source, &work.source,
                                  place_of_in(&work, &work.params[0]), error);
    if (status == GR_OK && request->layout.has_second)
        status = gr_source_upload(backend, &request->second, &work.second,
                                  place_of_second(&work, &work.params[0]), error);
    if (status == GR_OK)
        status = gr_device_scratch_take(device, work.states_bytes + result_bytes, &work.scratch,
                                        &work.scratch_bytes, error);
    if (status == GR_OK) {
        connect(&work, request);
        *place_of_out(&work, &work.params[work.passes - 1]) =
            request->host_out != NULL ? work.scratch + work.states_bytes : request->device_out;
    }
    for (size_t pass = 0; status == GR_OK && pass < work.passes; ++pass) {
        gr_launch now = work.launches[pass];
        now.params = &work.params[pass];
        status = backend->launch(backend, &now, interrupt, error);
    }
    gr_device_slots_give(device, work.slots, status == GR_OK);
    if (status == GR_OK && request->host_out != NULL)
        status = backend->download(backend, request->host_out, work.scratch + work.states_bytes, result_bytes,
                                   error);

    backend->free(backend, work.source);
    backend->free(backend, work.second);
    gr_device_scratch_give(device, work.scratch, work.scratch_bytes);
    return status;
}

/* Lays out `rounds` turns over all the buffers as one list of launches, and times it. */
static gr_status time_job(const job *work, gr_backend *backend, const gr_general_timing *timing,
                          double *microseconds, gr_error *error) {
    const size_t passes = work->passes, reductions = timing->buffers * timing->rounds;
    gr_launch *launches = calloc(reductions * passes, sizeof *launches);
    pass_params *params = calloc(reductions * passes, sizeof *params);
    gr_status status = GR_OK;
    if (launches == NULL || params == NULL) {
        status = gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu launches", reductions * passes);
        goto cleanup;
    }
    for (size_t i = 0; i < reductions; ++i) {
        pass_params *own = &params[i * passes];
        memcpy(own, work->params, passes * sizeof *own);
        *place_of_in(work, &own[0]) = timing->sources[i % timing->buffers];
        if (timing->seconds != NULL)
            *place_of_second(work, &own[0]) = timing->seconds[i % timing->buffers];
        *place_of_out(work, &own[passes - 1]) = timing->outs[i % timing->buffers];
        for (size_t pass = 0; pass < passes; ++pass) {
            launches[i * passes + pass] = work->launches[pass];
            launches[i * passes + pass].params = &own[pass];
        }
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
    if (plan->results == 0)
        return gr_fail(error, GR_ERR_VALUE, "a: there are no results to time");
    job work = {.passes = 0};
    gr_status status = prepare(&work, registry, device, request, plan, error);
    if (status == GR_OK)
        status = gr_device_scratch_take(device, work.states_bytes, &work.scratch, &work.scratch_bytes, error);
    if (status == GR_OK) {
        connect(&work, request);
        status = time_job(&work, backend, timing, microseconds, error);
    }
    gr_device_slots_give(device, work.slots, status == GR_OK);
    gr_device_scratch_give(device, work.scratch, work.scratch_bytes);
    return status;
}
