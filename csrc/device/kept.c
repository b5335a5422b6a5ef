#include "device/kept.h"

#include <stdlib.h>

#include "device/process.h"

void gr_shelf_init(gr_shelf *shelf) {
    *shelf = (gr_shelf){.idle = NULL};
    pthread_mutex_init(&shelf->lock, NULL);
}

static void close_one(gr_shelf *shelf, gr_kept *self) {
    if (!self->kind->of_process || self->process == gr_process())
        self->kind->close(shelf->backend, self);
    free(self);
}

void gr_shelf_clear(gr_shelf *shelf) {
    pthread_mutex_lock(&shelf->lock);
    gr_kept *next = shelf->idle;
    shelf->idle = NULL;
    pthread_mutex_unlock(&shelf->lock);
    while (next != NULL) {
        gr_kept *self = next;
        next = self->next;
        close_one(shelf, self);
    }
}

static bool fits(const gr_kept *self, const gr_kept_kind *kind, size_t bytes, uint64_t stream) {
    return self->kind == kind && self->bytes == bytes && self->order.id == stream;
}

static gr_kept *take_idle(gr_shelf *shelf, const gr_kept_kind *kind, size_t bytes, uint64_t stream) {
    gr_kept **place = &shelf->idle;
    pthread_mutex_lock(&shelf->lock);
    while (*place != NULL && !fits(*place, kind, bytes, stream))
        place = &(*place)->next;
    gr_kept *self = *place;
    if (self != NULL)
        *place = self->next;
    pthread_mutex_unlock(&shelf->lock);
    return self;
}

gr_status gr_shelf_take(gr_shelf *shelf, const gr_kept_kind *kind, size_t bytes, const gr_order *order,
                        gr_kept **out, gr_error *error) {
    gr_kept *self;
    while ((self = take_idle(shelf, kind, bytes, order->id)) != NULL) {
        if (!kind->of_process || self->process == gr_process()) {
            *out = self;
            return GR_OK;
        }
        free(self);
    }
    self = calloc(1, kind->size);
    if (self == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for %s", kind->name);
    *self = (gr_kept){.kind = kind, .bytes = bytes, .order = *order, .process = gr_process()};
    const gr_status status = kind->open(shelf->backend, self, error);
    if (status == GR_OK)
        *out = self;
    else
        close_one(shelf, self);
    return status;
}

void gr_shelf_give(gr_shelf *shelf, gr_kept *self, bool usable) {
    if (self == NULL)
        return;
    gr_kept *unwanted = self;
    if (usable) {
        size_t idle = 0;
        pthread_mutex_lock(&shelf->lock);
        self->next = shelf->idle;
        shelf->idle = self;
        gr_kept **place = &shelf->idle, **oldest = place;
        for (; *place != NULL; place = &(*place)->next)
            if ((*place)->kind == self->kind) {
                ++idle;
                oldest = place;
            }
        unwanted = idle > self->kind->most ? *oldest : NULL;
        if (unwanted != NULL)
            *oldest = unwanted->next;
        pthread_mutex_unlock(&shelf->lock);
    }
    if (unwanted != NULL)
        close_one(shelf, unwanted);
}
