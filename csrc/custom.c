#include "custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gr_custom {
    gr_device *device;
    gr_module *module;
    char *name, *ptx; /* the backend may keep pointing into both */
};

static char *copy_of(const char *text, size_t bytes) {
    char *copy = malloc(bytes + 1);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

gr_status gr_custom_load(gr_device *device, const char *name, const char *ptx, size_t ptx_bytes,
                         gr_custom **out, gr_error *error) {
    gr_status status = GR_OK;
    gr_custom *custom = calloc(1, sizeof *custom);
    if (custom != NULL) {
        custom->device = device;
        custom->name = copy_of(name, strlen(name));
        custom->ptx = copy_of(ptx, ptx_bytes);
    }
    if (custom == NULL || custom->name == NULL || custom->ptx == NULL) {
        status = gr_fail(error, GR_ERR_MEMORY, "no host memory to load the kernels of %s", name);
        goto cleanup;
    }
    const gr_image image = {.name = custom->name, .data = custom->ptx, .size = ptx_bytes};
    status = device->backend->load(device->backend, &image, &custom->module, error);
    if (status == GR_OK) {
        *out = custom;
        custom = NULL;
    }
cleanup:
    gr_custom_free(custom);
    return status;
}

void gr_custom_free(gr_custom *custom) {
    if (custom == NULL)
        return;
    gr_backend *backend = custom->device->backend;
    if (custom->module != NULL) {
        gr_error ignored;
        backend->sync(backend, &ignored); /* a launch that writes to the device may still be under way */
        backend->unload(backend, custom->module);
    }
    free(custom->name);
    free(custom->ptx);
    free(custom);
}

gr_device *gr_custom_device(const gr_custom *custom) {
    return custom->device;
}

/* What one call holds on the device: zeroed at first, released at the end. */
typedef struct job {
    gr_general_plan plan;
    gr_custom_params params;
    gr_devptr owned[GR_MAX_INPUTS];
    gr_devptr scratch; /* the States between two launches, then the results */
    size_t scratch_bytes;
} job;

static gr_status take_inputs(job *self, gr_backend *backend, const gr_custom_request *request,
                             gr_error *error) {
    uint64_t *const places[] = {&self->plan.launches[0].params.in, &self->plan.launches[0].params.second};
    size_t arrays = 0;
    self->params.even = request->even;
    for (size_t i = 0; i < request->count; ++i) {
        const gr_custom_operand *operand = &request->operands[i];
        gr_custom_input *input = &self->params.inputs[i];
        *input = operand->input;
        if (!operand->is_array)
            continue;
        const gr_status status =
            gr_source_upload(backend, &operand->source, &self->owned[i], &input->address, error);
        if (status != GR_OK)
            return status;
        if (arrays < 2)
            *places[arrays++] = input->address;
    }
    return GR_OK;
}

/* Fills in what the plan leaves open: where States and results go. */
static void connect(job *self, const gr_custom_request *request) {
    gr_general_params *first = &self->plan.launches[0].params;
    gr_general_params *last = &self->plan.launches[self->plan.count - 1].params;
    if (last != first)
        first->out = last->in = self->scratch;
    last->out = request->host_out != NULL ? self->scratch + self->plan.states_bytes : request->device_out;
    last->flags |= GR_FINAL;
}

static gr_status launch(job *self, const gr_custom *custom, size_t pass, const gr_interrupt *interrupt,
                        gr_error *error) {
    gr_backend *backend = custom->device->backend;
    const gr_general_launch *planned = &self->plan.launches[pass];
    char entry[256];
    snprintf(entry, sizeof entry, "%s_%s", custom->name, planned->kernel);
    gr_kernel *kernel = NULL;
    const gr_status status = backend->find(backend, custom->module, entry, &kernel, error);
    if (status != GR_OK)
        return status;
    self->params.general = planned->params;
    const gr_launch now = {
        .kernel = kernel,
        .grid = {planned->grid_x, planned->grid_y},
        .block = GR_GENERAL_THREADS,
        .params = &self->params,
        .param_bytes = sizeof self->params,
    };
    return backend->launch(backend, &now, interrupt, error);
}

gr_status gr_custom_run(const gr_custom *custom, const gr_custom_request *request,
                        const gr_general_plan *plan, const gr_interrupt *interrupt, gr_error *error) {
    gr_device *device = custom->device;
    gr_backend *backend = device->backend;
    if (plan->count == 0)
        return GR_OK;
    job work = {.plan = *plan};
    const size_t result_bytes = (size_t)plan->results * request->result_bytes;

    gr_status status = take_inputs(&work, backend, request, error);
    if (status == GR_OK)
        status = gr_device_scratch_take(device, plan->states_bytes + result_bytes, &work.scratch,
                                        &work.scratch_bytes, error);
    if (status == GR_OK)
        connect(&work, request);
    for (size_t pass = 0; status == GR_OK && pass < plan->count; ++pass)
        status = launch(&work, custom, pass, interrupt, error);
    if (status == GR_OK && request->host_out != NULL)
        status = backend->download(backend, request->host_out, work.scratch + plan->states_bytes,
                                   result_bytes, error);

    for (size_t i = 0; i < request->count; ++i)
        backend->free(backend, work.owned[i]);
    gr_device_scratch_give(device, work.scratch, work.scratch_bytes);
    return status;
}
