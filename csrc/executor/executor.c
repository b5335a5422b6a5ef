/* Chooses the transport of each call: resident, zero-copy or through the staging ring. */
#include "executor/executor.h"

#include <stdlib.h>

#include "executor/async_result.h"
#include "executor/staging_ring.h"
#include "executor/zero_copy.h"

gr_status gr_upload(gr_device *device, const gr_source *source, gr_devptr to, gr_stream stream,
                    const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    if (stream == 0 && gr_staging_ring_is_faster(device, source))
        return gr_staging_ring_upload(device, source, to, interrupt, error);
    const gr_status status = backend->upload(backend, stream, to, source->host, source->bytes, error);
    return status == GR_OK ? backend->wait(backend, stream, error) : status;
}

/* A binding whose host inputs the staging ring has uploaded to device memory. */
typedef struct staged {
    gr_binding binding;
    gr_devptr owned[GR_MAX_PROGRAM_INPUTS];
} staged;

static gr_status stage_inputs(gr_device *device, staged *self, const gr_interrupt *interrupt,
                              gr_error *error) {
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < GR_MAX_PROGRAM_INPUTS; ++i) {
        gr_source *source = &self->binding.inputs[i];
        if (!gr_staging_ring_is_faster(device, source))
            continue;
        status = gr_allocator_alloc(&device->allocator, 0, source->bytes, &self->owned[i], error);
        if (status == GR_OK)
            status = gr_staging_ring_upload(device, source, self->owned[i], interrupt, error);
        *source = (gr_source){.origin = source->origin + self->owned[i], .bytes = source->bytes};
    }
    return status;
}

/* Runs a program after its host inputs were uploaded by the staging ring, in the legacy default stream, as
 * every call that reads host memory does. */
static gr_status run_staged(gr_device *device, const gr_program *program, const gr_binding *binding,
                            const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    staged self = {.binding = *binding};
    gr_stream_state stream_state;
    gr_status status = gr_device_attach(device, error);
    if (status != GR_OK)
        return status;
    status = gr_binding_stream(device, binding, &stream_state, error);
    self.binding.stream = 0;
    if (status == GR_OK)
        status = stage_inputs(device, &self, interrupt, error);
    if (status == GR_OK)
        status = gr_program_run(device, program, &self.binding, interrupt, error);
    if (status == GR_OK && binding->host_out == NULL)
        status = backend->wait(backend, 0, error);
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        backend->streams->free_async(backend, 0, self.owned[i]);
    gr_device_detach(device);
    return status;
}

gr_status gr_execute_program(gr_device *device, const gr_program *program, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error) {
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        if (gr_staging_ring_is_faster(device, &binding->inputs[i]))
            return run_staged(device, program, binding, interrupt, error);
    return gr_program_run(device, program, binding, interrupt, error);
}

gr_status gr_execute_request(gr_device *device, gr_planner *plan, const void *request,
                             const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error) {
    gr_program *program = gr_program_new(error);
    if (program == NULL)
        return GR_ERR_MEMORY;
    plan(request, device, program);
    const gr_status status = program->status == GR_OK
                                 ? gr_execute_program(device, program, binding, interrupt, error)
                                 : program->status;
    free(program);
    return status;
}

gr_status gr_execute_whole(gr_device *device, const gr_chunked_reduction *reduction,
                           const gr_program *program, const gr_binding *binding,
                           const gr_interrupt *interrupt, gr_error *error) {
    return gr_zero_copy_can_run(device, reduction, binding)
               ? gr_zero_copy_run(device, reduction, program, binding, error)
               : gr_execute_program(device, program, binding, interrupt, error);
}

gr_status gr_execute_reduction(gr_device *device, const gr_chunked_reduction *reduction,
                               const gr_binding *binding, const gr_progress *progress,
                               const gr_interrupt *interrupt, gr_error *error) {
    if (gr_staging_ring_can_reduce(device, reduction, binding))
        return gr_staging_ring_reduce(device, reduction, binding, progress, interrupt, error);
    const gr_chunk_range all = {.count = reduction->count, .total = reduction->count};
    gr_program *program = gr_program_new(error);
    if (program == NULL)
        return GR_ERR_MEMORY;
    reduction->plan(reduction->request, &device->backend->info.caps, &all, program);
    const gr_status status = gr_execute_whole(device, reduction, program, binding, interrupt, error);
    free(program);
    return status;
}

/* Whether the host can poll the results: the host tests each 32-bit word of the zero-copy result, so kernels
 * must write it with aligned 4-byte stores. */
static bool can_poll(const gr_device *device, const gr_binding *binding, size_t item_bytes) {
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        if (binding->inputs[i].host != NULL)
            return false;
    return binding->host_out != NULL && device->backend->streams->maps &&
           binding->out_bytes <= GR_ASYNC_RESULT_MAX_BYTES &&
           (binding->out_bytes == item_bytes || item_bytes % sizeof(uint32_t) == 0);
}

gr_status gr_execute_small_results(gr_device *device, const gr_program *program, const gr_binding *binding,
                                   size_t item_bytes, const gr_interrupt *interrupt, gr_error *error) {
    gr_async_result later;
    if (!can_poll(device, binding, item_bytes))
        return gr_execute_program(device, program, binding, interrupt, error);
    const gr_status status = gr_async_result_begin(device, program, binding, interrupt, &later, error);
    return status == GR_OK ? gr_async_result_wait(&later, binding->host_out, error) : status;
}
