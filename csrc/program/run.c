/* Executing programs: relocations and tensor maps are filled in, launches enqueued, operands in host memory
 * uploaded and results for the host downloaded. */
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

static bool reads_host(const gr_binding *binding) {
    bool found = false;
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        found = found || binding->inputs[i].host != NULL;
    return found;
}

gr_status gr_binding_stream(gr_device *device, const gr_binding *binding, gr_stream_state *out,
                            gr_error *error) {
    const bool from_host = reads_host(binding);
    const gr_status status = gr_stream_get_state(device, binding->stream, out, error);
    if (status != GR_OK)
        return status;
    if (out->capture != 0 && from_host)
        return gr_fail(error, GR_ERR_VALUE,
                       "stream: an array of the host cannot be captured into a graph; copy it to the device "
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

/* Returns the device address of the first element in *first. An operand in host memory is uploaded to *owned,
 * which the caller frees, also after a failure. */
static gr_status upload_input(gr_device *device, gr_stream stream, const gr_source *source, gr_devptr *owned,
                              gr_devptr *first, gr_error *error) {
    gr_backend *backend = device->backend;
    *first = source->origin;
    if (source->host == NULL)
        return GR_OK;
    gr_status status = gr_allocator_alloc(&device->allocator, stream, source->bytes, owned, error);
    if (status == GR_OK && source->bytes > 0)
        status = backend->upload(backend, stream, *owned, source->host, source->bytes, error);
    *first += *owned;
    return status;
}

/* Downloads results for the host, and waits while host memory is in use. */
static gr_status download_results(gr_backend *backend, const gr_program *program, const gr_binding *binding,
                                  const gr_devptr *addresses, gr_stream stream, gr_error *error) {
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && binding->host_out != NULL && i < program->buffer_count; ++i)
        if (program->buffers[i].kind == GR_BUFFER_OUTPUT)
            status = backend->download(backend, stream, binding->host_out, addresses[i], binding->out_bytes,
                                       error);
    if (status == GR_OK && binding->host_out == NULL && reads_host(binding))
        status = backend->wait(backend, stream, error);
    return status;
}

static gr_status run_in(gr_device *device, const gr_stream_state *stream_state, const gr_program *program,
                        const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    const gr_stream stream = stream_state->stream;
    gr_devptr addresses[GR_MAX_BUFFERS] = {0}, inputs[GR_MAX_PROGRAM_INPUTS] = {0},
              owned[GR_MAX_PROGRAM_INPUTS] = {0};
    gr_workspace workspace = {.count = 0};
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < program->buffer_count; ++i) {
        const uint32_t number = program->buffers[i].number;
        if (program->buffers[i].kind == GR_BUFFER_INPUT)
            status = upload_input(device, stream, &binding->inputs[number], &owned[number], &inputs[number],
                                  error);
    }
    gr_program_bind(program, inputs, binding->device_out, addresses);
    if (status == GR_OK)
        status = gr_workspace_alloc(device, stream_state, program, binding->host_out != NULL, addresses,
                                    &workspace, error);
    if (status == GR_OK)
        status = gr_program_enqueue(device, program, addresses, stream, interrupt, error);
    if (status == GR_OK)
        status = download_results(backend, program, binding, addresses, stream, error);
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        backend->streams->free_async(backend, stream, owned[i]);
    gr_workspace_free(device, &workspace, status == GR_OK);
    return status;
}

gr_status gr_program_run(gr_device *device, const gr_program *program, const gr_binding *binding,
                         const gr_interrupt *interrupt, gr_error *error) {
    gr_stream_state stream_state;
    gr_status status = gr_device_attach(device, error);
    if (status != GR_OK)
        return status;
    status = gr_binding_stream(device, binding, &stream_state, error);
    if (status == GR_OK)
        status = run_in(device, &stream_state, program, binding, interrupt, error);
    gr_device_detach(device);
    return status;
}
