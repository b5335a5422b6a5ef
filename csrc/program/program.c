#include "program/program.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256 };

static size_t round_up(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

gr_program *gr_program_new(gr_error *error) {
    gr_program *program = malloc(sizeof *program);
    if (program == NULL)
        gr_fail(error, GR_ERR_MEMORY, "no host memory for a program");
    return program;
}

void gr_program_begin(gr_program *program) {
    program->buffer_count = program->step_count = program->place_count = 0;
    program->map_count = program->param_bytes = 0;
    program->full = false;
}

static uint32_t add_buffer(gr_program *program, gr_buffer buffer) {
    if (program->buffer_count == GR_MOST_BUFFERS) {
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
    if (program->step_count == GR_MOST_STEPS || bytes > GR_PARAM_ROOM - program->param_bytes) {
        program->full = true; /* the caller goes on with a step that will not run */
        program->step_count = program->param_bytes = 0;
    }
    gr_step *step = &program->steps[program->step_count++];
    *step = (gr_step){.kind = kind, .params = program->param_bytes, .param_bytes = bytes};
    memcpy(program->params + step->params, params, bytes);
    program->param_bytes = round_up(step->params + bytes, 64); /* as tensor maps want it */
    return step;
}

void gr_program_place(gr_program *program, size_t offset, uint32_t buffer) {
    if (program->place_count == GR_MOST_PLACES) {
        program->full = true;
        return;
    }
    const gr_step *last = &program->steps[program->step_count - 1];
    program->places[program->place_count++] = (gr_place){.offset = last->params + offset, .buffer = buffer};
}

void gr_program_map(gr_program *program, size_t offset, uint32_t buffer, const gr_tensor *tensor) {
    if (program->map_count == GR_MOST_MAPS) {
        program->full = true;
        return;
    }
    const gr_step *last = &program->steps[program->step_count - 1];
    program->maps[program->map_count++] =
        (gr_map){.offset = last->params + offset, .buffer = buffer, .tensor = *tensor};
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

/* All buffers of a kind in one piece of memory; each on its own where the backend then sees who leaves it. */
static gr_status take(gr_device *device, const gr_order *order, const gr_program *program,
                      gr_buffer_kind kind, gr_devptr *addresses, gr_rooms *rooms, gr_error *error) {
    const bool apart = device->backend->guards;
    const size_t all = gr_program_pack(program, kind, 0, addresses);
    for (size_t i = 0; i < program->buffer_count; ++i) {
        const gr_buffer *buffer = &program->buffers[i];
        if (buffer->kind != kind)
            continue;
        gr_memory *memory = &rooms->held[rooms->count];
        const gr_status status = gr_memory_take(&device->store, order, apart ? buffer->bytes : all,
                                                kind == GR_BUFFER_CLEAN, memory, error);
        if (status != GR_OK)
            return status;
        ++rooms->count;
        addresses[i] = memory->address;
        if (!apart) {
            gr_program_pack(program, kind, memory->address, addresses);
            break;
        }
    }
    return GR_OK;
}

gr_status gr_rooms_take(gr_device *device, const gr_order *order, const gr_program *program, bool output,
                        gr_devptr *addresses, gr_rooms *rooms, gr_error *error) {
    static const gr_buffer_kind kinds[] = {GR_BUFFER_CLEAN, GR_BUFFER_TEMPORARY, GR_BUFFER_OUTPUT};
    gr_status status = GR_OK;
    rooms->count = 0;
    for (size_t i = 0; status == GR_OK && i < (output ? 3 : 2); ++i)
        status = take(device, order, program, kinds[i], addresses, rooms, error);
    return status;
}

void gr_rooms_give(gr_device *device, gr_rooms *rooms, bool usable) {
    while (rooms->count > 0)
        gr_memory_give(&device->store, &rooms->held[--rooms->count], usable);
}
