/* Executes a call: chooses its stream and its transport, brings the operands, enqueues the program, fetches
 * the results and frees the memory. */
#include "executor/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "executor/staging_ring.h"

enum { ALIGNMENT = 256 };

gr_status gr_upload(gr_device *device, const gr_source *source, gr_devptr to, gr_stream stream,
                    const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    if (stream == 0 && gr_staging_ring_is_faster(device, source))
        return gr_staging_ring_upload(device, source, to, interrupt, error);
    const gr_status status = backend->upload(backend, stream, to, source->host, source->bytes, error);
    return status == GR_OK ? backend->wait(backend, stream, error) : status;
}

/* ---- transports ---- */

static size_t mapped_input_bytes(const gr_program *program) {
    return (program->input_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Whether the host polls the results in mapped memory: a copy would take longer than the kernel. The host
 * tests each 32-bit word, so kernels must write it with aligned 4-byte stores. Host elements are then read
 * from mapped memory, too. */
static bool can_map(const gr_execution *self) {
    const gr_program *program = self->program;
    const gr_binding *binding = self->binding;
    const size_t from_host = gr_binding_host_inputs(binding), item_bytes = program->result_bytes;
    size_t inputs = 0;
    for (size_t i = 0; i < program->buffer_count; ++i)
        inputs += program->buffers[i].kind == GR_BUFFER_INPUT;
    return self->device->backend->streams->maps && binding->host_out != NULL && item_bytes > 0 &&
           binding->out_bytes <= GR_POLLED_RESULT_BYTES &&
           (binding->out_bytes == item_bytes || item_bytes % sizeof(uint32_t) == 0) &&
           (from_host == 0 ||
            (from_host == inputs && program->input_bytes <= GR_ZERO_COPY_BYTES / from_host));
}

/* Uploads an input to memory of its own. */
static gr_status upload_input(gr_execution *self, uint32_t number, gr_error *error) {
    gr_device *device = self->device;
    gr_backend *backend = device->backend;
    const gr_source *source = &self->binding->inputs[number];
    const gr_stream stream = self->stream_state.stream;
    gr_devptr *to = &self->uploaded[number];
    const gr_status status = gr_allocator_alloc(&device->allocator, stream, source->bytes, to, error);
    if (status != GR_OK)
        return status;
    return stream == 0 && gr_staging_ring_is_faster(device, source)
               ? gr_staging_ring_upload(device, source, *to, self->interrupt, error)
               : backend->upload(backend, stream, *to, source->host, source->bytes, error);
}

/* Places the workspace in the memory of the caller, and enqueues that its zeroed part is set to zero. */
static gr_status use_workspace(gr_execution *self, gr_error *error) {
    const gr_binding *binding = self->binding;
    const size_t required = gr_workspace_bytes(self->program);
    size_t zeroed;
    if (binding->workspace_bytes < required)
        return gr_fail(error, GR_ERR_VALUE,
                       "workspace: expected %zu bytes for the plan on this device, got %zu", required,
                       binding->workspace_bytes);
    const gr_devptr first = gr_workspace_place(self->program, binding->workspace, self->addresses, &zeroed);
    gr_backend *backend = self->device->backend;
    return zeroed == 0 ? GR_OK
                       : backend->memset_async(backend, self->stream_state.stream, first, 0, zeroed, error);
}

/* Gives every operand its address on the device, and acquires the memory that it needs there. */
static gr_status bring_operands(gr_execution *self, gr_error *error) {
    const gr_program *program = self->program;
    const gr_binding *binding = self->binding;
    gr_devptr output = binding->device_out, next_mapped = 0;
    gr_status status = GR_OK;
    if (can_map(self)) {
        const size_t results = gr_program_pack(program, GR_BUFFER_OUTPUT, 0, self->addresses);
        status = gr_mapped_acquire(self->device,
                                   results + gr_binding_host_inputs(binding) * mapped_input_bytes(program),
                                   &self->mapped, error);
        output = status == GR_OK ? self->mapped->address : 0;
        next_mapped = output + results;
    }
    for (size_t i = 0; status == GR_OK && i < program->buffer_count; ++i) {
        const gr_buffer *buffer = &program->buffers[i];
        const gr_source *source = &binding->inputs[buffer->number];
        gr_devptr *address = &self->addresses[i];
        if (buffer->kind == GR_BUFFER_OUTPUT) {
            *address = output;
        } else if (buffer->kind == GR_BUFFER_INPUT && source->host == NULL) {
            *address = source->origin;
        } else if (buffer->kind == GR_BUFFER_INPUT && self->mapped != NULL) {
            *address = next_mapped;
            next_mapped += mapped_input_bytes(program);
        } else if (buffer->kind == GR_BUFFER_INPUT) {
            status = upload_input(self, buffer->number, error);
            *address = self->uploaded[buffer->number] + source->origin;
        }
    }
    if (status == GR_OK && binding->has_workspace)
        status = use_workspace(self, error);
    else if (status == GR_OK)
        status = gr_workspace_alloc(self->device, &self->stream_state, program,
                                    binding->host_out != NULL && self->mapped == NULL, self->addresses,
                                    &self->workspace, error);
    for (size_t i = 0; i < program->buffer_count; ++i)
        if (program->buffers[i].kind == GR_BUFFER_OUTPUT)
            self->output = self->addresses[i];
    return status;
}

/* Enqueues the program, after the host elements have been copied to mapped memory. *pinned: a source is
 * pinned, so another library's copy in the default stream may have been writing to it while it was read. The
 * kernel runs after that copy. The query is free while the kernel runs. */
static gr_status enqueue(const gr_execution *self, bool *pinned, gr_error *error) {
    gr_backend *backend = self->device->backend;
    const gr_program *program = self->program;
    for (size_t i = 0; self->mapped != NULL && i < program->buffer_count; ++i) {
        const gr_source *source = &self->binding->inputs[program->buffers[i].number];
        if (program->buffers[i].kind == GR_BUFFER_INPUT && source->host != NULL)
            memcpy((char *)self->mapped->host + (self->addresses[i] - self->mapped->address),
                   (const char *)source->host + source->origin, program->input_bytes);
    }
    if (self->mapped != NULL)
        gr_result_poison(self->mapped->host, self->bytes);
    const gr_status status = gr_program_enqueue(self->device, program, self->addresses,
                                                self->stream_state.stream, self->interrupt, error);
    *pinned = false;
    for (size_t i = 0; status == GR_OK && self->mapped != NULL && i < GR_MAX_PROGRAM_INPUTS; ++i) {
        const gr_source *source = &self->binding->inputs[i];
        const char *first = (const char *)source->host + source->origin;
        *pinned = *pinned ||
                  (source->host != NULL && backend->streams->pinned(backend, first, program->input_bytes));
    }
    return status;
}

/* Waits for the results. Returns when all work of the call that uses host memory is complete. */
static gr_status fetch(const gr_execution *self, void *out, gr_error *error) {
    gr_backend *backend = self->device->backend;
    const gr_stream stream = self->stream_state.stream;
    bool uploaded = false;
    if (self->mapped != NULL) {
        const gr_status status = gr_result_spin_wait(backend, stream, self->mapped->host, self->bytes, error);
        memcpy(out, self->mapped->host, self->bytes);
        return status;
    }
    if (out != NULL)
        return backend->download(backend, stream, out, self->output, self->bytes, error);
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        uploaded = uploaded || self->uploaded[i] != 0;
    return uploaded ? backend->wait(backend, stream, error) : GR_OK;
}

static void release(gr_execution *self, bool usable) {
    gr_backend *backend = self->device->backend;
    for (size_t i = 0; i < GR_MAX_PROGRAM_INPUTS; ++i)
        backend->streams->free_async(backend, self->stream_state.stream, self->uploaded[i]);
    gr_workspace_free(self->device, &self->workspace, usable);
    gr_free_list_release(&self->device->allocator.free_list, (gr_cached *)self->mapped, usable);
}

/* ---- calls ---- */

gr_status gr_execution_begin(gr_device *device, gr_planner *plan, const void *request,
                             const gr_binding *binding, const gr_interrupt *interrupt, gr_execution *out,
                             gr_error *error) {
    gr_program *program;
    bool again = false; /* a pinned source is read once more: its elements are complete then */
    gr_status status = gr_program_make(device, plan, request, &program, error);
    if (status != GR_OK)
        return status;
    *out = (gr_execution){.device = device,
                          .program = program,
                          .binding = binding,
                          .interrupt = interrupt,
                          .bytes = binding->out_bytes};
    status = gr_binding_stream(device, binding, &out->stream_state, error);
    if (status == GR_OK)
        status = bring_operands(out, error);
    if (status == GR_OK)
        status = enqueue(out, &again, error);
    if (status == GR_OK && again)
        status = gr_result_spin_wait(device->backend, out->stream_state.stream, out->mapped->host, out->bytes,
                                     error);
    if (status == GR_OK && again)
        status = enqueue(out, &again, error);
    if (status != GR_OK)
        release(out, false);
    free(program);
    return status;
}

gr_status gr_execution_end(gr_execution *self, void *out, gr_error *error) {
    gr_status status = fetch(self, out, error);
    if (status == GR_OK)
        status = gr_workspace_check(self->device, &self->workspace, error);
    release(self, status == GR_OK);
    return status;
}

/* Writes the size of the workspace that a call requires, and runs nothing. */
static gr_status require_workspace(gr_device *device, gr_planner *plan, const void *request, size_t *bytes,
                                   gr_error *error) {
    gr_program *program;
    const gr_status status = gr_program_make(device, plan, request, &program, error);
    if (status == GR_OK)
        *bytes = gr_workspace_bytes(program);
    free(program);
    return status;
}

gr_status gr_execute_request(gr_device *device, gr_planner *plan, const void *request,
                             const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error) {
    gr_execution call;
    if (binding->required_workspace != NULL)
        return require_workspace(device, plan, request, binding->required_workspace, error);
    gr_status status = gr_device_attach(device, error);
    if (status != GR_OK)
        return status;
    status = gr_execution_begin(device, plan, request, binding, interrupt, &call, error);
    if (status == GR_OK)
        status = gr_execution_end(&call, binding->host_out, error);
    gr_device_detach(device);
    return status;
}
