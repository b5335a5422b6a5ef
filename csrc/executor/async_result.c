/* Asynchronous results: small ones in mapped memory, which the host polls; otherwise a download. */
#include "executor/async_result.h"

#include <string.h>

#include "executor/zero_copy.h"

enum { MAX_IDLE_SMALL = 64, MAX_IDLE_LARGE = 4 };

static const gr_cached_kind small_results = {.name = "a result",
                                             .size = sizeof(gr_mapped),
                                             .max_idle = MAX_IDLE_SMALL,
                                             .not_fork_safe = true,
                                             .open = gr_mapped_open,
                                             .close = gr_mapped_close};

static const gr_cached_kind large_results = {.name = "results",
                                             .size = sizeof(gr_mapped),
                                             .max_idle = MAX_IDLE_LARGE,
                                             .not_fork_safe = true,
                                             .open = gr_mapped_open,
                                             .close = gr_mapped_close};

static gr_status acquire_mapped(const gr_async_result *self, gr_cached **out, gr_error *error) {
    const gr_stream_state any = {.stream = 0};
    const bool few = self->bytes <= GR_ASYNC_RESULT_BYTES;
    return gr_free_list_acquire(&self->device->allocator.free_list, few ? &small_results : &large_results,
                                few ? GR_ASYNC_RESULT_BYTES : GR_ASYNC_RESULT_MAX_BYTES, &any, out, error);
}

static void release(gr_async_result *self, bool usable) {
    gr_workspace_free(self->device, &self->workspace, usable);
    gr_free_list_release(&self->device->allocator.free_list, (gr_cached *)self->mapped, usable);
}

static gr_status begin(gr_async_result *self, const gr_program *program, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    gr_stream_state stream_state;
    gr_devptr addresses[GR_MAX_BUFFERS] = {0}, inputs[GR_MAX_PROGRAM_INPUTS];
    const bool maps = self->device->backend->streams->maps;
    gr_cached *cached = NULL;
    gr_status status = gr_binding_stream(self->device, binding, &stream_state, error);
    if (status == GR_OK && maps)
        status = acquire_mapped(self, &cached, error);
    if (status != GR_OK)
        return status;
    self->mapped = (gr_mapped *)cached;
    self->stream = stream_state.stream;
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        inputs[i] = binding->inputs[i].origin;
    gr_program_bind(program, inputs, maps ? self->mapped->there : 0, addresses);
    status =
        gr_workspace_alloc(self->device, &stream_state, program, !maps, addresses, &self->workspace, error);
    for (size_t i = 0; i < program->buffer_count; ++i)
        if (program->buffers[i].kind == GR_BUFFER_OUTPUT)
            self->output = addresses[i];
    if (maps)
        gr_result_poison(self->mapped->host, self->bytes);
    if (status == GR_OK)
        status = gr_program_enqueue(self->device, program, addresses, self->stream, interrupt, error);
    if (status != GR_OK)
        release(self, false);
    return status;
}

gr_status gr_async_result_begin(gr_device *device, const gr_program *program, const gr_binding *binding,
                                const gr_interrupt *interrupt, gr_async_result *out, gr_error *error) {
    *out = (gr_async_result){.device = device, .bytes = binding->out_bytes};
    if (out->bytes > GR_ASYNC_RESULT_MAX_BYTES)
        return gr_fail(error, GR_ERR_VALUE, "a result of %zu bytes is too large to be collected", out->bytes);
    gr_status status = gr_device_attach(device, error);
    if (status != GR_OK)
        return status;
    status = begin(out, program, binding, interrupt, error);
    gr_device_detach(device);
    return status;
}

gr_status gr_async_result_wait(gr_async_result *self, void *out, gr_error *error) {
    gr_backend *backend = self->device->backend;
    const gr_mapped *mapped = self->mapped;
    gr_status status = gr_device_attach(self->device, error);
    const bool attached = status == GR_OK;
    if (attached)
        status = mapped != NULL
                     ? gr_result_spin_wait(backend, self->stream, mapped->host, self->bytes, error)
                     : backend->download(backend, self->stream, out, self->output, self->bytes, error);
    if (status == GR_OK && mapped != NULL)
        memcpy(out, mapped->host, self->bytes);
    release(self, status == GR_OK);
    if (attached)
        gr_device_detach(self->device);
    return status;
}
