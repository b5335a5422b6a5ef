/* Building programs, assigning addresses to their buffers, and allocating their workspace. */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256 };

static size_t round_up(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

gr_status gr_program_make(gr_device *device, gr_planner *plan, const void *request, gr_program **out,
                          gr_error *error) {
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a program");
    gr_status status = gr_device_attach(device, error);
    if (status == GR_OK) {
        gr_program_begin(*out);
        (*out)->error = error;
        plan(request, device, *out);
        status = (*out)->status;
        gr_device_detach(device);
    }
    if (status != GR_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

void gr_program_begin(gr_program *program) {
    program->buffer_count = program->step_count = program->relocation_count = 0;
    program->map_count = program->param_bytes = program->result_bytes = 0;
    program->input_bytes = SIZE_MAX;
    program->full = false;
    program->status = GR_OK;
}

static uint32_t add_buffer(gr_program *program, gr_buffer buffer) {
    if (program->buffer_count == GR_MAX_BUFFERS) {
        program->full = true;
        return 0;
    }
    program->buffers[program->buffer_count] = buffer;
    return (uint32_t)program->buffer_count++;
}

uint32_t gr_program_input(gr_program *program, uint32_t number) {
    return add_buffer(program, (gr_buffer){.kind = GR_BUFFER_INPUT, .number = number});
}

uint32_t gr_program_buffer(gr_program *program, gr_buffer_kind kind, size_t bytes) {
    return add_buffer(program, (gr_buffer){.kind = kind, .bytes = bytes});
}

gr_step *gr_program_step(gr_program *program, gr_step_kind kind, const void *params, size_t bytes) {
    if (program->step_count == GR_MAX_STEPS || bytes > GR_PARAM_CAPACITY - program->param_bytes) {
        program->full = true; /* the caller fills in a step that never runs */
        program->step_count = program->param_bytes = 0;
    }
    gr_step *step = &program->steps[program->step_count++];
    *step = (gr_step){.kind = kind, .params = program->param_bytes, .param_bytes = bytes};
    memcpy(program->params + step->params, params, bytes);
    program->param_bytes = round_up(step->params + bytes, 64); /* CUtensorMap needs 64-byte alignment */
    return step;
}

void gr_program_clear(gr_program *program, uint32_t buffer) {
    static const unsigned char zero = 0;
    gr_program_step(program, GR_STEP_MEMSET, &zero, sizeof zero)->buffer = buffer;
}

void gr_program_relocate(gr_program *program, size_t offset, uint32_t buffer) {
    if (program->relocation_count == GR_MAX_RELOCATIONS) {
        program->full = true;
        return;
    }
    const gr_step *last = &program->steps[program->step_count - 1];
    program->relocations[program->relocation_count++] =
        (gr_relocation){.offset = last->params + offset, .buffer = buffer};
}

void gr_program_map(gr_program *program, size_t offset, uint32_t buffer, const gr_tensor *tensor) {
    if (program->map_count == GR_MAX_MAPS) {
        program->full = true;
        return;
    }
    const gr_step *last = &program->steps[program->step_count - 1];
    program->maps[program->map_count++] =
        (gr_map){.offset = last->params + offset, .buffer = buffer, .tensor = *tensor};
}

void gr_program_fail(gr_program *program, gr_status status, const char *format, ...) {
    if (program->status != GR_OK)
        return;
    va_list arguments;
    va_start(arguments, format);
    program->status = gr_vfail(program->error, status, format, arguments);
    va_end(arguments);
}

size_t gr_program_pack(const gr_program *program, gr_buffer_kind kind, gr_devptr base, gr_devptr *addresses) {
    size_t bytes = 0;
    for (size_t i = 0; i < program->buffer_count; ++i) {
        if (program->buffers[i].kind != kind)
            continue;
        addresses[i] = base + bytes;
        bytes += round_up(program->buffers[i].bytes, ALIGNMENT);
    }
    return bytes;
}

void gr_program_bind(const gr_program *program, const gr_devptr *inputs, gr_devptr output,
                     gr_devptr *addresses) {
    for (size_t i = 0; i < program->buffer_count; ++i) {
        const gr_buffer *buffer = &program->buffers[i];
        if (buffer->kind == GR_BUFFER_INPUT)
            addresses[i] = inputs[buffer->number];
        else if (buffer->kind == GR_BUFFER_OUTPUT && output != 0)
            addresses[i] = output;
    }
}

size_t gr_workspace_bytes(const gr_program *program) {
    gr_devptr ignored[GR_MAX_BUFFERS];
    const size_t bytes = gr_program_pack(program, GR_BUFFER_ZEROED, 0, ignored) +
                         gr_program_pack(program, GR_BUFFER_TEMPORARY, 0, ignored);
    return bytes > 0 ? bytes + ALIGNMENT : 0; /* the memory may begin between two multiples */
}

gr_devptr gr_workspace_place(const gr_program *program, gr_devptr base, gr_devptr *addresses,
                             size_t *zeroed) {
    const gr_devptr first = round_up(base, ALIGNMENT);
    const size_t bytes = gr_program_pack(program, GR_BUFFER_ZEROED, first, addresses);
    gr_program_pack(program, GR_BUFFER_TEMPORARY, first + bytes, addresses);
    *zeroed = bytes;
    return first;
}

/* Sub-allocates all buffers of a kind from one allocation. On the simulator each buffer has an allocation of
 * its own, so that accesses out of bounds are detected. */
static gr_status alloc_buffers(gr_device *device, const gr_stream_state *stream_state,
                               const gr_program *program, gr_buffer_kind kind, gr_devptr *addresses,
                               gr_workspace *workspace, gr_error *error) {
    const bool separate = device->backend->detects_out_of_bounds;
    const size_t all = gr_program_pack(program, kind, 0, addresses);
    for (size_t i = 0; i < program->buffer_count; ++i) {
        const gr_buffer *buffer = &program->buffers[i];
        if (buffer->kind != kind)
            continue;
        gr_memory *memory = &workspace->held[workspace->count];
        const gr_status status =
            gr_memory_alloc(&device->allocator, stream_state, separate ? buffer->bytes : all,
                            kind == GR_BUFFER_ZEROED, memory, error);
        if (status != GR_OK)
            return status;
        ++workspace->count;
        addresses[i] = memory->address;
        if (!separate) {
            gr_program_pack(program, kind, memory->address, addresses);
            break;
        }
    }
    return GR_OK;
}

gr_status gr_workspace_alloc(gr_device *device, const gr_stream_state *stream_state,
                             const gr_program *program, bool output, gr_devptr *addresses,
                             gr_workspace *workspace, gr_error *error) {
    static const gr_buffer_kind kinds[] = {GR_BUFFER_ZEROED, GR_BUFFER_TEMPORARY, GR_BUFFER_OUTPUT};
    gr_status status = GR_OK;
    workspace->count = 0;
    for (size_t i = 0; status == GR_OK && i < (output ? 3 : 2); ++i)
        status = alloc_buffers(device, stream_state, program, kinds[i], addresses, workspace, error);
    return status;
}

gr_status gr_workspace_check(gr_device *device, const gr_workspace *workspace, gr_error *error) {
    gr_status status = GR_OK;
    for (size_t i = 0; status == GR_OK && i < workspace->count; ++i)
        status = gr_memory_check(&device->allocator, &workspace->held[i], error);
    return status;
}

void gr_workspace_free(gr_device *device, gr_workspace *workspace, bool usable) {
    while (workspace->count > 0)
        gr_memory_free(&device->allocator, &workspace->held[--workspace->count], usable);
}
