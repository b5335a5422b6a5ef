#include "reduce/custom/custom.h"

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
    const gr_custom *custom;
    gr_custom_params params;
    gr_devptr owned[GR_MAX_INPUTS];
    gr_devptr scratch; /* the States between two launches, then the results */
    size_t scratch_bytes;
    gr_devptr slots; /* of the flat kernel */
} job;

static gr_status take_inputs(job *self, gr_backend *backend, const gr_custom_request *request,
                             gr_error *error) {
    uint64_t *const places[] = {&self->params.general.in, &self->params.general.second};
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

static gr_status launch(const job *self, const char *kernel, gr_launch now, const gr_interrupt *interrupt,
                        gr_error *error) {
    gr_backend *backend = self->custom->device->backend;
    char entry[256];
    snprintf(entry, sizeof entry, "%s_%s", self->custom->name, kernel);
    gr_kernel *found = NULL;
    const gr_status status = backend->find(backend, self->custom->module, entry, &found, error);
    now.kernel = found;
    return status == GR_OK ? backend->launch(backend, &now, interrupt, error) : status;
}

/* One result from contiguous elements, by a kernel in which blocks meet in slots. */
static gr_status run_flat(job *self, const gr_custom_request *request, const gr_general_plan *plan,
                          uint64_t out, const gr_interrupt *interrupt, gr_error *error) {
    const gr_abilities plain = {0}; /* there is no ring of these kernels */
    gr_flat_launch planned;
    gr_flat_plan_make(plan->reduced_count, request->item_bytes, false, &plain, &planned);
    gr_status status = gr_device_slots_take(self->custom->device, &self->slots, error);
    if (status != GR_OK)
        return status;
    planned.params.in = self->params.general.in;
    planned.params.out = out;
    planned.params.slots = self->slots;
    planned.params.flags |= GR_FLAT_FINAL;
    const gr_launch now = {
        .grid = {planned.grid},
        .block = {planned.block},
        .params = &planned.params,
        .param_bytes = sizeof planned.params,
    };
    status = launch(self, planned.kernel, now, interrupt, error);
    gr_device_slots_give(self->custom->device, self->slots, status == GR_OK);
    return status;
}

static gr_status run_planned(job *self, const gr_general_plan *plan, uint64_t out,
                             const gr_interrupt *interrupt, gr_error *error) {
    const uint64_t in = self->params.general.in, second = self->params.general.second;
    gr_status status = GR_OK;
    for (size_t pass = 0; status == GR_OK && pass < plan->count; ++pass) {
        const gr_general_launch *planned = &plan->launches[pass];
        const bool first = pass == 0, last = pass + 1 == plan->count;
        gr_general_params *general = &self->params.general;
        *general = planned->params;
        general->in = first ? in : self->scratch;
        general->second = first ? second : 0;
        general->out = last ? out : self->scratch;
        general->flags |= last ? GR_FINAL : 0u;
        const gr_launch now = {
            .grid = {planned->grid_x, planned->grid_y},
            .block = {GR_GENERAL_THREADS},
            .params = &self->params,
            .param_bytes = sizeof self->params,
        };
        status = launch(self, planned->kernel, now, interrupt, error);
    }
    return status;
}

gr_status gr_custom_run(const gr_custom *custom, const gr_custom_request *request,
                        const gr_general_plan *plan, const gr_interrupt *interrupt, gr_error *error) {
    gr_device *device = custom->device;
    gr_backend *backend = device->backend;
    if (plan->results == 0)
        return GR_OK;
    job work = {.custom = custom};
    const size_t result_bytes = (size_t)plan->results * request->result_bytes;

    gr_status status = take_inputs(&work, backend, request, error);
    if (status == GR_OK)
        status = gr_device_scratch_take(device, plan->states_bytes + result_bytes, &work.scratch,
                                        &work.scratch_bytes, error);
    const uint64_t results = work.scratch + plan->states_bytes;
    const uint64_t out = request->host_out != NULL ? results : request->device_out;
    if (status == GR_OK)
        status = plan->single_pass ? run_flat(&work, request, plan, out, interrupt, error)
                                   : run_planned(&work, plan, out, interrupt, error);
    if (status == GR_OK && request->host_out != NULL)
        status = backend->download(backend, request->host_out, results, result_bytes, error);

    for (size_t i = 0; i < request->count; ++i)
        backend->free(backend, work.owned[i]);
    gr_device_scratch_give(device, work.scratch, work.scratch_bytes);
    return status;
}
