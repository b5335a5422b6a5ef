/* Enqueues programs: fills in relocations and tensor maps, launches the steps, and chooses the stream. */
#include <string.h>

#include "program/program.h"

gr_status gr_program_instantiate(gr_device *device, const gr_program *program, const gr_devptr *addresses,
                                 gr_stream stream, gr_launch *launches, char *params, gr_error *error) {
    if (program->full)
        return gr_fail(error, GR_ERR_VALUE, "the plan exceeds the capacity of a program");
    memcpy(params, program->params, program->param_bytes);
    for (size_t i = 0; i < program->relocation_count; ++i) {
        const gr_relocation *relocation = &program->relocations[i];
        memcpy(params + relocation->offset, &addresses[relocation->buffer], sizeof addresses[0]);
    }
    for (size_t i = 0; i < program->map_count; ++i) {
        const gr_map *map = &program->maps[i];
        gr_tensor tensor = map->tensor;
        gr_tensor_map encoded;
        tensor.address += addresses[map->buffer];
        const gr_status status = device->backend->map_tensor(device->backend, &tensor, &encoded, error);
        if (status != GR_OK)
            return status;
        memcpy(params + map->offset, &encoded, sizeof encoded);
    }
    for (size_t i = 0; i < program->step_count; ++i) {
        const gr_step *step = &program->steps[i];
        const void *own = params + step->params;
        gr_kernel *kernel = step->found;
        gr_status status = GR_OK;
        if (step->kind == GR_STEP_LAUNCH && kernel == NULL)
            status = gr_kernels_find(&device->kernels, &step->kernel, &kernel, error);
        if (status != GR_OK)
            return status;
        launches[i] = (gr_launch){
            .library = step->kind == GR_STEP_LIBRARY ? own : NULL,
            .kernel = kernel,
            .grid = {step->grid[0], step->grid[1], step->grid[2]},
            .block = {step->block[0], step->block[1], step->block[2]},
            .cluster = {step->cluster[0], step->cluster[1], step->cluster[2]},
            .shared_bytes = step->shared_bytes,
            .stream = stream,
            .pdl = step->pdl,
            .params = own,
            .param_bytes = step->param_bytes,
            .one_param = step->one_param,
            .serialized_offset = step->serialized_offset,
            .first_block_offset = step->first_block_offset,
        };
    }
    return GR_OK;
}

/* Enqueues a memset or a small upload. */
static gr_status enqueue_copy(gr_backend *backend, const gr_program *program, const gr_step *step,
                              const gr_devptr *addresses, gr_stream stream, const void *params,
                              gr_error *error) {
    const gr_devptr address = addresses[step->buffer];
    return step->kind == GR_STEP_MEMCPY_INLINE
               ? backend->upload(backend, stream, address, params, step->param_bytes, error)
               : backend->memset_async(backend, stream, address, *(const unsigned char *)params,
                                       program->buffers[step->buffer].bytes, error);
}

gr_status gr_program_enqueue(gr_device *device, const gr_program *program, const gr_devptr *addresses,
                             gr_stream stream, const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    gr_launch launches[GR_MAX_STEPS];
    _Alignas(64) char params[GR_PARAM_CAPACITY];
    gr_status status = gr_program_instantiate(device, program, addresses, stream, launches, params, error);
    for (size_t i = 0; status == GR_OK && i < program->step_count; ++i) {
        const gr_step *step = &program->steps[i];
        const bool launched = step->kind == GR_STEP_LAUNCH || step->kind == GR_STEP_LIBRARY;
        status = launched
                     ? backend->launch(backend, &launches[i], interrupt, error)
                     : enqueue_copy(backend, program, step, addresses, stream, launches[i].params, error);
    }
    return status;
}

size_t gr_binding_host_inputs(const gr_binding *binding) {
    size_t count = 0;
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        count += binding->inputs[i].host != NULL;
    return count;
}

gr_status gr_binding_stream(gr_device *device, const gr_binding *binding, gr_stream_state *out,
                            gr_error *error) {
    const bool from_host = gr_binding_host_inputs(binding) > 0;
    const gr_status status = gr_stream_get_state(device, binding->stream, out, error);
    if (status != GR_OK)
        return status;
    if (out->capture != 0 && from_host)
        return gr_fail(error, GR_ERR_VALUE,
                       "stream: a host array cannot be captured into a graph; copy it to the device "
                       "before");
    if (out->capture != 0 && binding->host_out != NULL)
        return gr_fail(
            error, GR_ERR_VALUE,
            "stream: a result for the host cannot be captured into a graph; pass as_device=True, or "
            "out= on the device");
    if (!from_host || out->stream == 0)
        return GR_OK;
    const gr_status ordered = gr_stream_wait_for(device, out->stream, 0, error);
    return ordered == GR_OK ? gr_stream_get_state(device, 0, out, error) : ordered;
}
