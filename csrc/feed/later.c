#include "feed/later.h"

#include <string.h>

#include "feed/direct.h"

enum { IDLE_PLACES = 64, IDLE_ROOMS = 4 };

static const gr_kept_kind places = {.name = "a result",
                                    .size = sizeof(gr_mapped),
                                    .most = IDLE_PLACES,
                                    .of_process = true,
                                    .open = gr_mapped_open,
                                    .close = gr_mapped_close};

static const gr_kept_kind rooms = {.name = "results",
                                   .size = sizeof(gr_mapped),
                                   .most = IDLE_ROOMS,
                                   .of_process = true,
                                   .open = gr_mapped_open,
                                   .close = gr_mapped_close};

static gr_status take_place(const gr_later *self, gr_kept **out, gr_error *error) {
    const gr_order any = {.stream = 0};
    const bool few = self->bytes <= GR_LATER_BYTES;
    return gr_shelf_take(&self->device->store.shelf, few ? &places : &rooms,
                         few ? GR_LATER_BYTES : GR_LATER_MANY, &any, out, error);
}

static void give_back(gr_later *self, bool usable) {
    gr_rooms_give(self->device, &self->rooms, usable);
    gr_shelf_give(&self->device->store.shelf, (gr_kept *)self->place, usable);
}

static gr_status begin(gr_later *self, const gr_program *program, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    gr_order order;
    gr_devptr addresses[GR_MOST_BUFFERS] = {0}, inputs[GR_MOST_INPUTS];
    const bool maps = self->device->backend->streams->maps;
    gr_kept *kept = NULL;
    gr_status status = gr_binding_order(self->device, binding, &order, error);
    if (status == GR_OK && maps)
        status = take_place(self, &kept, error);
    if (status != GR_OK)
        return status;
    self->place = (gr_mapped *)kept;
    self->stream = order.stream;
    for (size_t i = 0; i < GR_MOST_INPUTS; ++i)
        inputs[i] = binding->inputs[i].origin;
    gr_program_bind(program, inputs, maps ? self->place->there : 0, addresses);
    status = gr_rooms_take(self->device, &order, program, !maps, addresses, &self->rooms, error);
    for (size_t i = 0; i < program->buffer_count; ++i)
        if (program->buffers[i].kind == GR_BUFFER_OUTPUT)
            self->output = addresses[i];
    if (maps)
        gr_result_expect(self->place->host, self->bytes);
    if (status == GR_OK)
        status = gr_program_enqueue(self->device, program, addresses, self->stream, interrupt, error);
    if (status != GR_OK)
        give_back(self, false);
    return status;
}

gr_status gr_later_begin(gr_device *device, const gr_program *program, const gr_binding *binding,
                         const gr_interrupt *interrupt, gr_later *out, gr_error *error) {
    *out = (gr_later){.device = device, .bytes = binding->out_bytes};
    if (out->bytes > GR_LATER_MANY)
        return gr_fail(error, GR_ERR_VALUE, "a result of %zu bytes is too large to be collected", out->bytes);
    gr_status status = gr_device_attach(device, error);
    if (status != GR_OK)
        return status;
    status = begin(out, program, binding, interrupt, error);
    gr_device_detach(device);
    return status;
}

gr_status gr_later_collect(gr_later *self, void *out, gr_error *error) {
    gr_backend *backend = self->device->backend;
    const gr_mapped *place = self->place;
    gr_status status = gr_device_attach(self->device, error);
    const bool attached = status == GR_OK;
    if (attached)
        status = place != NULL
                     ? gr_result_await(backend, self->stream, place->host, self->bytes, error)
                     : backend->download(backend, self->stream, out, self->output, self->bytes, error);
    if (status == GR_OK && place != NULL)
        memcpy(out, place->host, self->bytes);
    give_back(self, status == GR_OK);
    if (attached)
        gr_device_detach(self->device);
    return status;
}
