#include "feed/later.h"

#include <string.h>

#include "feed/direct.h"

enum { IDLE_PLACES = 64 };

typedef struct place {
    gr_kept kept;
    void *host;
    gr_devptr mapped;
} place;

static gr_status place_open(gr_backend *backend, gr_kept *kept, gr_error *error) {
    place *self = (place *)kept;
    return backend->streams->host_alloc(backend, kept->bytes, &self->host, &self->mapped, error);
}

static void place_close(gr_backend *backend, gr_kept *self) {
    backend->streams->host_free(backend, ((place *)self)->host);
}

static const gr_kept_kind places = {.name = "a result",
                                    .size = sizeof(place),
                                    .most = IDLE_PLACES,
                                    .of_process = true,
                                    .open = place_open,
                                    .close = place_close};

static void *host_of(const gr_later *self) {
    return ((place *)self->place)->host;
}

static void give_back(gr_later *self, bool usable) {
    gr_rooms_give(self->device, &self->rooms, usable);
    gr_shelf_give(&self->device->store.shelf, self->place, usable);
}

static gr_status begin(gr_later *self, const gr_program *program, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    gr_order order;
    const gr_order any = {.stream = 0};
    gr_devptr addresses[GR_MOST_BUFFERS] = {0}, inputs[GR_MOST_INPUTS];
    const bool maps = self->device->backend->streams->maps;
    gr_status status = gr_binding_order(self->device, binding, &order, error);
    if (status == GR_OK && maps)
        status =
            gr_shelf_take(&self->device->store.shelf, &places, GR_LATER_BYTES, &any, &self->place, error);
    if (status != GR_OK)
        return status;
    self->stream = order.stream;
    for (size_t i = 0; i < GR_MOST_INPUTS; ++i)
        inputs[i] = binding->inputs[i].origin;
    gr_program_bind(program, inputs, maps ? ((place *)self->place)->mapped : 0, addresses);
    status = gr_rooms_take(self->device, &order, program, !maps, addresses, &self->rooms, error);
    for (size_t i = 0; i < program->buffer_count; ++i)
        if (program->buffers[i].kind == GR_BUFFER_OUTPUT)
            self->output = addresses[i];
    if (maps)
        gr_result_expect(host_of(self), self->bytes);
    if (status == GR_OK)
        status = gr_program_enqueue(self->device, program, addresses, self->stream, interrupt, error);
    if (status != GR_OK)
        give_back(self, false);
    return status;
}

gr_status gr_later_begin(gr_device *device, const gr_program *program, const gr_binding *binding,
                         const gr_interrupt *interrupt, gr_later *out, gr_error *error) {
    *out = (gr_later){.device = device, .bytes = binding->out_bytes};
    if (out->bytes > GR_LATER_BYTES)
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
    char copy[GR_LATER_BYTES];
    gr_status status = gr_device_attach(self->device, error);
    const bool attached = status == GR_OK;
    if (attached)
        status = self->place != NULL
                     ? gr_result_await(backend, self->stream, host_of(self), self->bytes, error)
                     : backend->download(backend, self->stream, copy, self->output, self->bytes, error);
    if (status == GR_OK && out != NULL)
        memcpy(out, self->place != NULL ? host_of(self) : copy, self->bytes);
    give_back(self, status == GR_OK);
    if (attached)
        gr_device_detach(self->device);
    return status;
}
