/* Loads PTX that was compiled at run time, and plans, runs and times its kernels. */
#include "reduce/custom/custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/executor.h"

struct gr_custom {
    gr_device *device;
    gr_module *module;
    char text[]; /* the name, then the PTX: the backend may keep pointers to both */
};

gr_status gr_custom_load(gr_device *device, const char *name, const char *ptx, size_t ptx_bytes,
                         gr_custom **out, gr_error *error) {
    const size_t name_bytes = strlen(name) + 1;
    gr_custom *custom = calloc(1, sizeof *custom + name_bytes + ptx_bytes + 1);
    if (custom == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory to load the kernels of %s", name);
    char *text = custom->text + name_bytes;
    custom->device = device;
    memcpy(custom->text, name, name_bytes);
    memcpy(text, ptx, ptx_bytes);
    const gr_image image = {.name = custom->text, .data = text, .size = ptx_bytes};
    const gr_status status = device->backend->load(device->backend, &image, &custom->module, error);
    if (status == GR_OK)
        *out = custom;
    else
        gr_custom_free(custom);
    return status;
}

void gr_custom_free(gr_custom *custom) {
    if (custom == NULL)
        return;
    gr_backend *backend = custom->device->backend;
    if (custom->module != NULL) {
        gr_error ignored;
        backend->sync(backend, &ignored); /* a launch that writes to the device may still be running */
        backend->unload(backend, custom->module);
    }
    free(custom);
}

static void find_kernel(const gr_custom *custom, const char *entry, gr_step *step, gr_program *program) {
    gr_backend *backend = custom->device->backend;
    if (program->status == GR_OK)
        program->status = backend->find(backend, custom->module, entry, &step->found, program->error);
}

/* Finds the kernel of one pass of a ReductionKernel. */
static void find_pass(const gr_custom *custom, const char *kernel, gr_step *step, gr_program *program) {
    char entry[256];
    snprintf(entry, sizeof entry, "%s_%s", custom->text, kernel);
    find_kernel(custom, entry, step, program);
}

static const gr_flat_shape *flat_shape(const gr_custom_request *request) {
    const gr_device_caps plain = {0}; /* no capabilities: custom kernels have no `ring` */
    return gr_flat_best(request->plan.reduced_count * request->item_bytes, false, &plain);
}

size_t gr_custom_kernels(const gr_custom_request *request, const char *names[GR_GENERAL_PASSES]) {
    const gr_general_plan *plan = &request->plan;
    if (plan->results == 0)
        return 0;
    if (plan->single_pass) {
        names[0] = flat_shape(request)->kernel;
        return 1;
    }
    for (size_t pass = 0; pass < plan->count; ++pass)
        names[pass] = plan->launches[pass].kernel;
    return plan->count;
}

/* One result from contiguous elements, by a flat kernel. */
static void plan_flat(const gr_custom_request *request, gr_program *program) {
    const uint64_t count = request->plan.reduced_count;
    const gr_flat_work work = {.item_bytes = request->item_bytes,
                               .finish = {.result_bytes = request->out_bytes},
                               .large_states = request->large_states,
                               .part = {.count = count, .total = count}};
    const gr_flat_shape *shape = flat_shape(request);
    find_pass(request->customs[0], shape->kernel, gr_flat_append(&work, shape, program), program);
}

static void plan_passes(const gr_custom_request *request, gr_program *program) {
    const gr_general_plan *plan = &request->plan;
    gr_custom_params params = {.even = request->even};
    uint32_t buffers[GR_MAX_INPUTS] = {0}, arrays[GR_MAX_INPUTS] = {0};
    size_t count = 0;
    memcpy(params.outs, request->outs, sizeof params.outs);
    for (size_t i = 0; i < request->count; ++i) {
        params.inputs[i] = request->operands[i].input;
        if (request->operands[i].is_array)
            arrays[count++] = buffers[i] = gr_program_input(program, (uint32_t)i);
    }
    const gr_general_operands operands = {
        .in = arrays[0],
        .second = arrays[1],
        .has_second = count > 1,
        .out = gr_program_buffer(program, GR_BUFFER_OUTPUT, request->out_bytes),
        .states = plan->count > 1 ? gr_program_buffer(program, GR_BUFFER_TEMPORARY, plan->states_bytes) : 0,
    };
    for (size_t pass = 0; pass < plan->count; ++pass) {
        gr_step *step = gr_general_append(plan, pass, &operands, &params.general, sizeof params, program);
        for (size_t i = 0; i < request->count; ++i)
            if (request->operands[i].is_array)
                gr_program_relocate(program, offsetof(gr_custom_params, inputs[i].address), buffers[i]);
        find_pass(request->customs[pass], plan->launches[pass].kernel, step, program);
    }
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_custom_request *self = request;
    (void)device;
    (self->plan.single_pass ? plan_flat : plan_passes)(self, program);
}

gr_status gr_custom_run(const gr_custom_request *request, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error) {
    const char *names[GR_GENERAL_PASSES];
    const gr_custom *const *customs = request->customs;
    const size_t count = gr_custom_kernels(request, names);
    if (count == 0)
        return GR_OK;
    for (size_t i = 1; i < count; ++i)
        if (customs[i]->device != customs[0]->device)
            return gr_fail(error, GR_ERR_VALUE, "kernels of %s lie on two devices", customs[0]->text);
    return gr_execute_request(customs[0]->device, plan, request, binding, interrupt, error);
}

/* Returns a buffer for the results of a pass, padded with zeros up to the elements that the next pass reads.
 */
static uint32_t rung_output(const gr_custom_rung *rung, size_t pass, gr_program *program) {
    static const char zero = 0;
    const uint64_t results = rung->passes[pass].blocks;
    if (pass + 1 == rung->count)
        return gr_program_buffer(program, GR_BUFFER_OUTPUT, results * rung->item_bytes);
    const uint64_t taken = rung->count_bytes == 0 ? rung->passes[pass + 1].n : results;
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_TEMPORARY, taken * rung->item_bytes);
    if (taken > results)
        gr_program_step(program, GR_STEP_MEMSET, &zero, sizeof zero)->buffer = out;
    return out;
}

static void plan_rung(const void *request, gr_device *device, gr_program *program) {
    const gr_custom_rung *rung = request;
    struct {
        uint64_t in, out, n; /* count_bytes bytes of n are passed, if any */
    } params = {0};
    uint32_t in = gr_program_input(program, 0);
    (void)device;
    for (size_t i = 0; i < rung->count; ++i) {
        const gr_custom_pass *pass = &rung->passes[i];
        const uint32_t out = rung_output(rung, i, program);
        params.n = pass->n;
        gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, 16 + rung->count_bytes);
        find_kernel(rung->custom, rung->entry, step, program);
        step->grid[0] = pass->blocks;
        step->block[0] = rung->block;
        step->shared_bytes = rung->shared_bytes;
        gr_program_relocate(program, 0, in);
        gr_program_relocate(program, 8, out);
        in = out;
    }
}

gr_status gr_custom_rung_run(const gr_custom_rung *rung, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(rung->custom->device, plan_rung, rung, binding, interrupt, error);
}

gr_status gr_custom_rung_time(const gr_custom_rung *rung, const void *data, const gr_timing *timing,
                              double *first_pass, double *all_passes, gr_error *error) {
    const size_t bytes = (size_t)rung->passes[0].n * rung->item_bytes;
    return gr_program_time_copies(rung->custom->device, plan_rung, rung, data, bytes, timing, first_pass,
                                  all_passes, error);
}
