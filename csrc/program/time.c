/* Measuring programs: launches over rotating buffers in a CUDA graph, replayed several times. */
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

/* Instantiates the program on one set of buffers, and removes small uploads, memsets and launches that are
 * not measured. */
static gr_status instantiate_set(gr_device *device, const gr_program *program, const gr_timing *timing,
                                 size_t set, const gr_devptr *workspace, gr_launch *launches, char *params,
                                 size_t *count, gr_error *error) {
    const size_t max_launches = timing->launches > 0 ? timing->launches : GR_MAX_STEPS;
    gr_devptr inputs[GR_MAX_PROGRAM_INPUTS] = {0}, addresses[GR_MAX_BUFFERS];
    gr_launch all[GR_MAX_STEPS];
    memcpy(addresses, workspace, sizeof addresses);
    for (size_t i = 0; i < sizeof timing->inputs / sizeof timing->inputs[0]; ++i)
        inputs[i] = timing->inputs[i] != NULL ? timing->inputs[i][set] : 0;
    gr_program_bind(program, inputs, timing->outs != NULL ? timing->outs[set] : 0, addresses);
    *count = 0;
    const gr_status status = gr_program_instantiate(device, program, addresses, 0, all, params, error);
    for (size_t i = 0; status == GR_OK && i < program->step_count && *count < max_launches; ++i)
        if (program->steps[i].kind != GR_STEP_MEMCPY_INLINE && program->steps[i].kind != GR_STEP_MEMSET)
            launches[(*count)++] = all[i];
    return status;
}

/* Instantiates `rounds` passes over all sets of buffers as one list of launches, and measures it. */
static gr_status time_rounds(gr_device *device, const gr_program *program, const gr_timing *timing,
                             const gr_devptr *workspace, double *microseconds, gr_error *error) {
    gr_backend *backend = device->backend;
    const size_t runs = timing->buffers * timing->rounds;
    size_t each = program->step_count, total = 0;
    gr_launch *launches = calloc(runs * each, sizeof *launches);
    char *params = aligned_alloc(16, runs * program->param_bytes);
    gr_status status = GR_OK;
    if (launches == NULL || params == NULL)
        status = gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu launches", runs * each);
    for (size_t i = 0; status == GR_OK && i < runs; ++i, total += each)
        status = instantiate_set(device, program, timing, i % timing->buffers, workspace, &launches[total],
                                 &params[i * program->param_bytes], &each, error);
    /* A vendor library loads its kernels at their first launch, which is not possible while a graph is
     * captured. */
    if (status == GR_OK && total > 0 && launches[0].library != NULL)
        status = backend->launch(backend, &launches[0], NULL, error);
    if (total == 0) /* memsets alone, which are not measured */
        memset(microseconds, 0, timing->repeats * sizeof *microseconds);
    else if (status == GR_OK)
        status = backend->time(backend, launches, total, timing->repeats, microseconds, error);
    for (size_t i = 0; status == GR_OK && i < timing->repeats; ++i)
        microseconds[i] *= (double)each; /* from the mean time per launch to the time per execution */
    free(params);
    free(launches);
    return status;
}

gr_status gr_program_clock(const gr_device *device, gr_error *error) {
    if (device->backend->time != NULL)
        return GR_OK;
    return gr_fail(error, GR_ERR_VALUE, "device: %s has no meaningful clock; use a CUDA device",
                   device->backend->info.name);
}

gr_status gr_program_time(gr_device *device, const gr_program *program, const gr_timing *timing,
                          double *microseconds, gr_error *error) {
    gr_devptr addresses[GR_MAX_BUFFERS] = {0};
    gr_workspace workspace = {.count = 0};
    const gr_stream_state stream_state = {.stream = 0};
    gr_status status = gr_program_clock(device, error);
    if (status == GR_OK)
        status = gr_workspace_alloc(device, &stream_state, program, timing->outs == NULL, addresses,
                                    &workspace, error);
    if (status == GR_OK)
        status = time_rounds(device, program, timing, addresses, microseconds, error);
    gr_workspace_free(device, &workspace, status == GR_OK);
    return status;
}

gr_status gr_program_time_copies(gr_device *device, gr_planner *plan, const void *request, const void *data,
                                 size_t bytes, const gr_timing *timing, double *first_launch,
                                 double *all_launches, gr_error *error) {
    gr_backend *backend = device->backend;
    gr_program *program = NULL;
    gr_devptr *inputs = calloc(timing->buffers, sizeof *inputs);
    if (inputs == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for %zu buffers", timing->buffers);
    gr_timing first = *timing, all = *timing;
    first.launches = 1;
    first.inputs[0] = all.inputs[0] = inputs;
    gr_status status = gr_program_clock(device, error);
    if (status == GR_OK)
        status = gr_program_make(device, plan, request, &program, error);
    for (size_t i = 0; status == GR_OK && i < timing->buffers; ++i) {
        status = backend->alloc(backend, bytes, &inputs[i], error);
        for (unsigned k = 0; status == GR_ERR_MEMORY && gr_allocator_reclaim(&device->allocator, k); ++k)
            status = backend->alloc(backend, bytes, &inputs[i], error);
        if (status == GR_OK && bytes > 0)
            status = backend->upload(backend, 0, inputs[i], data, bytes, error);
    }
    if (status == GR_OK)
        status = gr_program_time(device, program, &first, first_launch, error);
    if (status == GR_OK)
        status = gr_program_time(device, program, &all, all_launches, error);
    for (size_t i = 0; i < timing->buffers; ++i)
        backend->free(backend, inputs[i]);
    free(inputs);
    free(program);
    return status;
}
