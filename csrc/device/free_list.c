/* The free list: a mutex-protected list in order of release. */
#include "device/free_list.h"

#include <stdlib.h>

#include "device/process.h"

void gr_free_list_init(gr_free_list *free_list) {
    *free_list = (gr_free_list){.idle = NULL};
    pthread_mutex_init(&free_list->lock, NULL);
}

static void close_one(gr_free_list *free_list, gr_cached *self) {
    if (self->process == gr_process())
        self->kind->close(free_list, self);
    free(self);
}

void gr_free_list_close_idle(gr_free_list *free_list, const gr_cached_kind *kind) {
    gr_cached *unwanted = NULL, **end = &unwanted;
    pthread_mutex_lock(&free_list->lock);
    for (gr_cached **place = &free_list->idle; *place != NULL;) {
        gr_cached *self = *place;
        if (kind != NULL && self->kind != kind) {
            place = &self->next;
            continue;
        }
        *place = self->next;
        self->next = NULL;
        *end = self;
        end = &self->next;
    }
    pthread_mutex_unlock(&free_list->lock);
    while (unwanted != NULL) {
        gr_cached *self = unwanted;
        unwanted = self->next;
        close_one(free_list, self);
    }
}

void gr_free_list_clear(gr_free_list *free_list) {
    gr_free_list_close_idle(free_list, NULL);
}

static bool fits(const gr_cached *self, const gr_cached_kind *kind, size_t bytes,
                 const gr_stream_state *stream) {
    return self->kind == kind && self->bytes == bytes && self->stream_state.id == stream->id &&
           self->stream_state.capture == stream->capture;
}

static gr_cached *pop_idle(gr_free_list *free_list, const gr_cached_kind *kind, size_t bytes,
                           const gr_stream_state *stream) {
    gr_cached **place = &free_list->idle;
    pthread_mutex_lock(&free_list->lock);
    while (*place != NULL && !fits(*place, kind, bytes, stream))
        place = &(*place)->next;
    gr_cached *self = *place;
    if (self != NULL)
        *place = self->next;
    pthread_mutex_unlock(&free_list->lock);
    return self;
}

gr_status gr_free_list_acquire(gr_free_list *free_list, const gr_cached_kind *kind, size_t bytes,
                               const gr_stream_state *stream_state, gr_cached **out, gr_error *error) {
    const gr_stream_state any = {.stream = 0};
    gr_cached *self;
    if (stream_state == NULL)
        stream_state = &any;
    while ((self = pop_idle(free_list, kind, bytes, stream_state)) != NULL) {
        if (self->process == gr_process()) {
            *out = self;
            return GR_OK;
        }
        free(self);
    }
    self = calloc(1, kind->size);
    if (self == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for %s", kind->name);
    *self = (gr_cached){.kind = kind, .bytes = bytes, .stream_state = *stream_state, .process = gr_process()};
    const gr_status status = kind->open(free_list, self, error);
    if (status == GR_OK)
        *out = self;
    else
        close_one(free_list, self);
    return status;
}

void gr_free_list_release(gr_free_list *free_list, gr_cached *self, bool usable) {
    if (self == NULL)
        return;
    gr_cached *unwanted = self;
    if (usable) {
        size_t idle = 0;
        pthread_mutex_lock(&free_list->lock);
        self->next = free_list->idle;
        free_list->idle = self;
        gr_cached **place = &free_list->idle, **oldest = place;
        for (; *place != NULL; place = &(*place)->next)
            if ((*place)->kind == self->kind) {
                ++idle;
                oldest = place;
            }
        unwanted = idle > self->kind->max_idle ? *oldest : NULL;
        if (unwanted != NULL)
            *oldest = unwanted->next;
        pthread_mutex_unlock(&free_list->lock);
    }
    if (unwanted != NULL)
        close_one(free_list, unwanted);
}
