#include "feed/direct.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/process.h"
#include "reduce/flat/plan.h"

enum {
    ALIGNMENT = 256,
    RESULT_BYTES = 16,
    ROOM = ALIGNMENT, /* for the result; the elements come after it */
    SLOTS_BYTES = GR_FLAT_MOST_BLOCKS * GR_FLAT_SLOT_BYTES,
    IDLE_DIRECTS = 8,
    SPIN_NANOSECONDS = 100000,
    UNWRITTEN = 0xA5, /* each byte of a result that is not there yet */
};

struct gr_direct {
    gr_direct *next;
    int owner;  /* a forked child cannot use it */
    char *host; /* the result, then the elements */
    gr_devptr mapped, slots;
};

static void direct_close(gr_backend *backend, gr_direct *self) {
    if (self->owner == gr_process()) {
        backend->free(backend, self->slots);
        backend->streams->host_free(backend, self->host);
    }
    free(self);
}

void gr_directs_close(gr_backend *backend, gr_direct *directs) {
    while (directs != NULL) {
        gr_direct *next = directs->next;
        direct_close(backend, directs);
        directs = next;
    }
}

static gr_status take(gr_device *device, gr_direct **out, gr_error *error) {
    gr_backend *backend = device->backend;
    pthread_mutex_lock(&device->lock);
    gr_direct *self = device->directs;
    if (self != NULL)
        device->directs = self->next;
    pthread_mutex_unlock(&device->lock);
    if (self != NULL && self->owner == gr_process()) {
        *out = self;
        return GR_OK;
    }
    free(self);
    self = calloc(1, sizeof *self);
    if (self == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a call");
    self->owner = gr_process();
    void *host = NULL;
    gr_status status = backend->streams->host_alloc(backend, ROOM + GR_DIRECT_BYTES + ALIGNMENT, &host,
                                                    &self->mapped, error);
    self->host = host;
    if (status == GR_OK)
        status = backend->alloc(backend, SLOTS_BYTES, &self->slots, error);
    if (status == GR_OK)
        status = gr_backend_clear(backend, self->slots, SLOTS_BYTES, error);
    if (status != GR_OK) {
        direct_close(backend, self);
        return status;
    }
    *out = self;
    return GR_OK;
}

static void give(gr_device *device, gr_direct *self, bool clean) {
    size_t idle = 0;
    pthread_mutex_lock(&device->lock);
    for (const gr_direct *other = device->directs; other != NULL; other = other->next)
        ++idle;
    const bool keep = clean && idle < IDLE_DIRECTS;
    if (keep) {
        self->next = device->directs;
        device->directs = self;
    }
    pthread_mutex_unlock(&device->lock);
    if (!keep)
        direct_close(device->backend, self);
}

bool gr_direct_takes(const gr_device *device, const gr_general_request *request,
                     const gr_general_plan *plan) {
    const bool pair = request->layout.pair;
    if (!plan->single_pass || !device->backend->streams->maps || request->host_out == NULL)
        return false;
    if (request->source.host == NULL)
        return !pair || request->second.host == NULL;
    return (!pair || request->second.host != NULL) &&
           plan->reduced_count * request->layout.item_bytes * (pair ? 2 : 1) <= GR_DIRECT_BYTES;
}

/* Where the kernel finds the elements: on the device, or at `room` bytes into our memory. */
static uint64_t place(const gr_direct *self, const gr_source *source, size_t room) {
    return source->host == NULL ? source->origin : self->mapped + room;
}

/* The other vector of a dot product lies behind the first. */
static size_t second_room(size_t bytes) {
    return ROOM + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static const char *first_of(const gr_source *source) {
    return (const char *)source->host + source->origin;
}

/* A result has come when none of its words looks as before; a complex number may come in parts. Where a
   result itself looks so, the driver's word is waited for. */
static bool written(const volatile void *result, size_t bytes) {
    const volatile uint32_t *words = result;
    const volatile uint16_t *halves = result;
    const volatile uint8_t *byte = result;
    if (bytes == 1)
        return *byte != UNWRITTEN;
    if (bytes == 2)
        return *halves != UNWRITTEN * 0x101U;
    for (size_t i = 0; i < bytes / 4; ++i)
        if (words[i] == UNWRITTEN * 0x1010101U)
            return false;
    return true;
}

void gr_result_expect(void *result, size_t bytes) {
    memset(result, UNWRITTEN, bytes);
    atomic_thread_fence(memory_order_release);
}

gr_status gr_result_await(gr_backend *backend, gr_stream stream, const void *result, size_t bytes,
                          gr_error *error) {
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        for (int i = 0; i < 64; ++i)
            if (written(result, bytes)) {
                atomic_thread_fence(memory_order_acquire);
                return GR_OK;
            }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec < SPIN_NANOSECONDS);
    return backend->wait(backend, stream, error);
}

/* Copies what lies in host memory, and runs the kernel. *pinned: another library's copy in the default stream
   may have been writing to that memory; by now, as the kernel comes after it, no longer. Asking for it costs
   nothing while the kernel runs. */
static gr_status run_once(gr_backend *backend, const gr_direct *self, const gr_general_request *request,
                          const gr_launch *launch, size_t bytes, size_t result_bytes, bool *pinned,
                          gr_error *error) {
    const gr_source *const sources[] = {&request->source, &request->second};
    const size_t count = request->source.host == NULL ? 0 : request->layout.pair ? 2 : 1;
    for (size_t i = 0; i < count; ++i)
        memcpy(self->host + (i == 0 ? ROOM : second_room(bytes)), first_of(sources[i]), bytes);
    gr_result_expect(self->host, RESULT_BYTES);
    gr_status status = backend->launch(backend, launch, NULL, error);
    *pinned = false;
    for (size_t i = 0; i < count && status == GR_OK; ++i) {
        gr_devptr ignored;
        *pinned = *pinned || backend->streams->pinned(backend, first_of(sources[i]), bytes, &ignored);
    }
    return status == GR_OK ? gr_result_await(backend, 0, self->host, result_bytes, error) : status;
}

gr_status gr_direct_run(gr_registry *registry, gr_device *device, const gr_general_request *request,
                        uint64_t count, gr_error *error) {
    gr_backend *backend = device->backend;
    const gr_layout *layout = &request->layout;
    const size_t bytes = (size_t)count * layout->item_bytes;
    const size_t result_bytes = gr_dtypes[gr_op_result(request->op, request->dtype)].item_bytes;
    gr_flat_launch planned;
    gr_flat_plan_make(count, layout->item_bytes, layout->pair, &backend->info.can, &planned);
    gr_kernel *kernel = NULL;
    gr_direct *self = NULL;
    gr_status status =
        gr_device_flat_kernel(registry, device, planned.kernel, request->op, request->dtype, &kernel, error);
    if (status == GR_OK)
        status = take(device, &self, error);
    if (status != GR_OK)
        return status;

    gr_flat_params *params = &planned.params;
    params->in = place(self, &request->source, ROOM);
    if (layout->pair)
        params->second = place(self, &request->second, second_room(bytes));
    params->out = self->mapped;
    params->slots = self->slots;
    params->flags |= GR_FLAT_FINAL;
    if (request->initial != NULL) {
        params->flags |= GR_FLAT_HAS_INITIAL;
        memcpy(params->initial, request->initial, result_bytes);
    }
    const gr_launch launch = {.kernel = kernel,
                              .grid = {planned.grid},
                              .block = {planned.block},
                              .shared_bytes = planned.shared_bytes,
                              .params = params,
                              .param_bytes = sizeof *params,
                              .overlap = backend->info.can.capability >= GR_HOPPER};
    bool pinned = false;
    status = run_once(backend, self, request, &launch, bytes, result_bytes, &pinned, error);
    if (status == GR_OK && pinned) /* rare, and then right the second time */
        status = run_once(backend, self, request, &launch, bytes, result_bytes, &pinned, error);
    memcpy(request->host_out, self->host, result_bytes);
    give(device, self, status == GR_OK);
    return status;
}
