#include "feed/ring.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/process.h"
#include "feed/copy_pool.h"
#include "feed/direct.h"

enum {
    PLACES = 8,
    CHUNK_BYTES = 4 << 20, /* of a place in the ring: at 50 GB/s a copy of 80 us, a kernel takes 4 */
    LEAST_CHUNK_BYTES = 256,
    MOST_THREADS = 8, /* an H200's host copies 50 GB/s with them, and its bus takes 55 */
    ALIGNMENT = 256,
    POLL_MILLISECONDS = 50, /* between looks at signals, and between reports of progress */
    IDLE_RINGS = 2,
    SLOTS_BYTES = GR_FLAT_MOST_BLOCKS * GR_FLAT_SLOT_BYTES,
    STATE_BYTES = 64,
    RESULT_BYTES = 16,
};

struct gr_ring {
    gr_ring *next;
    int owner; /* a forked child has neither its threads nor its memory on the device */
    size_t place_bytes;
    char *host;       /* PLACES places, a result */
    gr_devptr mapped; /* of `host`, or 0 */
    gr_devptr device; /* PLACES places, the slots of the flat kernels, a State, a result */
    gr_devptr slots, state, result;
    gr_stream copies, kernels;
    gr_event *copied[PLACES], *reduced[PLACES]; /* what was last done to each place */
    gr_event *before;                           /* the work in the default stream when a call began */
    gr_copy_pool *pool;
};

typedef struct run {
    gr_backend *backend;
    gr_ring *ring;
    const gr_general_request *request;
    const gr_interrupt *interrupt;
    gr_kernel *kernel;
    size_t sources, item_bytes, chunk_bytes; /* of one source */
    const char *from[GR_COPY_SOURCES];
    bool pinned;            /* the device copies from the array itself */
    bool mixed;             /* one of two vectors is pinned */
    uint64_t count, chunks; /* elements, chunks */
    uint64_t sent, freed;   /* chunks whose copies were ordered, and are done */
    struct timespec looked; /* last, for signals */
} run;

/* The environment variable makes chunks small enough for tests to have many. */
static size_t place_bytes(void) {
    const char *text = getenv("GPUREDUCE_CHUNK_BYTES");
    const unsigned long asked = text != NULL ? strtoul(text, NULL, 10) : 0;
    const size_t bytes = asked / ALIGNMENT * ALIGNMENT;
    return bytes >= LEAST_CHUNK_BYTES && bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
}

static size_t copy_threads(void) {
    cpu_set_t cpus;
    const int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    return count < MOST_THREADS ? (size_t)count : MOST_THREADS;
}

static void ring_close(gr_backend *backend, gr_ring *ring) {
    const gr_stream_ops *streams = backend->streams;
    if (ring->owner == gr_process()) {
        gr_copy_pool_close(ring->pool);
        for (size_t i = 0; i < PLACES; ++i) {
            streams->event_close(backend, ring->copied[i]);
            streams->event_close(backend, ring->reduced[i]);
        }
        streams->event_close(backend, ring->before);
        streams->stream_close(backend, ring->copies);
        streams->stream_close(backend, ring->kernels);
        backend->free(backend, ring->device);
        streams->host_free(backend, ring->host);
    }
    free(ring);
}

void gr_rings_close(gr_backend *backend, gr_ring *rings) {
    while (rings != NULL) {
        gr_ring *next = rings->next;
        ring_close(backend, rings);
        rings = next;
    }
}

static gr_status fill_ring(gr_backend *backend, gr_ring *ring, gr_error *error) {
    const gr_stream_ops *streams = backend->streams;
    const size_t bytes = PLACES * ring->place_bytes;
    void *host = NULL;
    gr_status status =
        backend->alloc(backend, bytes + SLOTS_BYTES + STATE_BYTES + RESULT_BYTES, &ring->device, error);
    ring->slots = ring->device + bytes;
    ring->state = ring->slots + SLOTS_BYTES;
    ring->result = ring->state + STATE_BYTES;
    if (status == GR_OK)
        status = gr_backend_clear(backend, ring->slots, SLOTS_BYTES, error);
    if (status == GR_OK)
        status = streams->host_alloc(backend, bytes + RESULT_BYTES, &host, &ring->mapped, error);
    ring->host = host;
    if (ring->mapped != 0) /* where the result can be looked for */
        ring->result = ring->mapped + bytes;
    if (status == GR_OK)
        status = streams->stream_open(backend, &ring->copies, error);
    if (status == GR_OK)
        status = streams->stream_open(backend, &ring->kernels, error);
    if (status == GR_OK)
        status = streams->event_open(backend, &ring->before, error);
    for (size_t i = 0; status == GR_OK && i < PLACES; ++i) {
        status = streams->event_open(backend, &ring->copied[i], error);
        if (status == GR_OK)
            status = streams->event_open(backend, &ring->reduced[i], error);
    }
    return status == GR_OK ? gr_copy_pool_open(copy_threads(), &ring->pool, error) : status;
}

static gr_status take_ring(gr_device *device, gr_ring **out, gr_error *error) {
    const size_t bytes = place_bytes();
    pthread_mutex_lock(&device->lock);
    gr_ring *ring = device->rings;
    if (ring != NULL)
        device->rings = ring->next;
    pthread_mutex_unlock(&device->lock);
    if (ring != NULL && ring->owner == gr_process() && ring->place_bytes == bytes) {
        *out = ring;
        return GR_OK;
    }
    if (ring != NULL)
        ring_close(device->backend, ring);
    ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a ring of chunks");
    ring->owner = gr_process();
    ring->place_bytes = bytes;
    const gr_status status = fill_ring(device->backend, ring, error);
    if (status != GR_OK) {
        ring_close(device->backend, ring);
        return status;
    }
    *out = ring;
    return GR_OK;
}

/* Keeps the ring for a later call, unless what its kernels left behind cannot be relied on. */
static void give_ring(gr_device *device, gr_ring *ring, bool clean) {
    size_t idle = 0;
    pthread_mutex_lock(&device->lock);
    for (const gr_ring *other = device->rings; other != NULL; other = other->next)
        ++idle;
    const bool keep = clean && idle < IDLE_RINGS;
    if (keep) {
        ring->next = device->rings;
        device->rings = ring;
    }
    pthread_mutex_unlock(&device->lock);
    if (!keep)
        ring_close(device->backend, ring);
}

bool gr_host_stream_takes(const gr_device *device, const gr_general_request *request,
                          const gr_general_plan *plan) {
    if (!plan->single_pass || request->source.host == NULL ||
        (request->layout.pair && request->second.host == NULL))
        return false;
    /* The simulator sees an array that is one chunk at an address of its own, where it knows its ends. */
    const uint64_t bytes = plan->reduced_count * request->layout.item_bytes * (request->layout.pair ? 2 : 1);
    return bytes > (device->backend->streams->maps ? GR_DIRECT_BYTES : place_bytes());
}

static void describe(run *self, const gr_general_request *request, uint64_t count) {
    const gr_stream_ops *streams = self->backend->streams;
    const gr_source *const sources[] = {&request->source, &request->second};
    self->sources = request->layout.pair ? 2 : 1;
    self->item_bytes = request->layout.item_bytes;
    self->chunk_bytes = self->ring->place_bytes / self->sources;
    self->count = count;
    const uint64_t bytes = count * self->item_bytes;
    self->chunks = bytes / self->chunk_bytes + (bytes % self->chunk_bytes != 0);
    size_t pinned = 0;
    for (size_t i = 0; i < self->sources; ++i) {
        gr_devptr ignored;
        self->from[i] = (const char *)sources[i]->host + sources[i]->origin;
        pinned += streams->pinned(self->backend, self->from[i], bytes, &ignored);
    }
    self->pinned = pinned == self->sources;
    self->mixed = pinned > 0 && !self->pinned;
    clock_gettime(CLOCK_MONOTONIC, &self->looked);
}

/* Has the threads begin, where there is something for them to copy. */
static gr_status start(const run *self, gr_error *error) {
    if (self->pinned)
        return GR_OK;
    const uint64_t bytes = self->count * self->item_bytes;
    /* Only pinned memory can have a copy of another library under way to it. */
    const gr_status status = self->mixed ? self->backend->sync(self->backend, error) : GR_OK;
    if (status != GR_OK)
        return status;
    gr_copy_job job = {.sources = self->sources,
                       .bytes = bytes,
                       .chunk_bytes = self->chunk_bytes,
                       .ring = self->ring->host,
                       .places = PLACES,
                       .place_bytes = self->ring->place_bytes};
    memcpy(job.from, self->from, sizeof job.from);
    gr_copy_pool_start(self->ring->pool, &job, PLACES);
    return GR_OK;
}

/* Both streams begin after what other libraries have put into the default stream. */
static gr_status order(const run *self, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_ring *ring = self->ring;
    gr_status status = backend->streams->record(backend, 0, ring->before, error);
    if (status == GR_OK)
        status = backend->streams->follow(backend, ring->copies, ring->before, error);
    if (status == GR_OK)
        status = backend->streams->follow(backend, ring->kernels, ring->before, error);
    return status;
}

/* From time to time: stops for a signal, reports progress. */
static gr_status look(run *self, gr_error *error) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double passed = (double)(now.tv_sec - self->looked.tv_sec) * 1e3 +
                          (double)(now.tv_nsec - self->looked.tv_nsec) * 1e-6;
    if (passed < POLL_MILLISECONDS)
        return GR_OK;
    self->looked = now;
    if (self->interrupt != NULL && self->interrupt->pending(self->interrupt->arg))
        return gr_fail(error, GR_ERR_INTERRUPTED, "interrupted while the array was on its way");
    const gr_progress *progress = self->request->progress;
    const uint64_t total = self->count * self->item_bytes * self->sources;
    const uint64_t done = self->freed * self->chunk_bytes * self->sources;
    if (progress != NULL && self->freed < self->chunks && progress->report(progress->arg, done, total))
        return gr_fail(error, GR_ERR_INTERRUPTED, "stopped by the progress callback");
    return GR_OK;
}

/* Counts the places that are free again; waits until chunk `wanted` has one. */
static gr_status free_places(run *self, uint64_t wanted, gr_error *error) {
    gr_backend *backend = self->backend;
    const uint64_t before = self->freed;
    gr_status status = GR_OK;
    while (status == GR_OK && self->freed < self->sent) {
        gr_event *event = self->ring->copied[self->freed % PLACES];
        bool done = wanted >= self->freed + PLACES;
        status = done ? backend->streams->event_wait(backend, event, error)
                      : backend->streams->event_done(backend, event, &done, error);
        if (status != GR_OK || !done)
            break;
        ++self->freed;
    }
    if (self->freed != before && !self->pinned)
        gr_copy_pool_allow(self->ring->pool, self->freed + PLACES);
    return status;
}

static size_t result_bytes(const run *self) {
    return gr_dtypes[gr_op_result(self->request->op, self->request->dtype)].item_bytes;
}

static uint64_t first_of(const run *self, uint64_t chunk) {
    return chunk * (self->chunk_bytes / self->item_bytes);
}

static uint64_t count_of(const run *self, uint64_t chunk) {
    const uint64_t most = self->chunk_bytes / self->item_bytes, left = self->count - first_of(self, chunk);
    return left < most ? left : most;
}

/* Orders the copies of a chunk to the device, out of pinned memory. */
static gr_status order_copies(const run *self, uint64_t chunk, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_stream_ops *streams = backend->streams;
    const gr_ring *ring = self->ring;
    const size_t place = (size_t)(chunk % PLACES), offset = place * ring->place_bytes;
    gr_status status = GR_OK;
    if (chunk >= PLACES) /* its place may still be read */
        status = streams->follow(backend, ring->copies, ring->reduced[place], error);
    for (size_t i = 0; status == GR_OK && i < self->sources; ++i) {
        const char *from = self->pinned ? self->from[i] + chunk * self->chunk_bytes
                                        : ring->host + offset + i * self->chunk_bytes;
        status = streams->copy(backend, ring->copies, ring->device + offset + i * self->chunk_bytes, from,
                               (size_t)count_of(self, chunk) * self->item_bytes, error);
    }
    return status == GR_OK ? streams->record(backend, ring->copies, ring->copied[place], error) : status;
}

/* Orders the kernel that takes a chunk in, when its copies are done. */
static gr_status order_kernel(const run *self, uint64_t chunk, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_ring *ring = self->ring;
    const gr_general_request *request = self->request;
    const size_t place = (size_t)(chunk % PLACES);
    const bool last = chunk == self->chunks - 1;
    gr_flat_launch planned;
    gr_flat_plan_make(count_of(self, chunk), self->item_bytes, request->layout.pair, &backend->info.can,
                      &planned);
    gr_flat_params *params = &planned.params;
    params->in = ring->device + place * ring->place_bytes;
    params->second = params->in + self->chunk_bytes;
    params->first = first_of(self, chunk);
    params->divisor = self->count;
    params->slots = ring->slots;
    params->carry = params->out = ring->state;
    params->flags = (chunk > 0 ? GR_FLAT_HAS_CARRY : 0u) | (last ? GR_FLAT_FINAL : 0u);
    if (last)
        params->out = request->host_out != NULL ? ring->result : request->device_out;
    if (last && request->initial != NULL) {
        params->flags |= GR_FLAT_HAS_INITIAL;
        memcpy(params->initial, request->initial, result_bytes(self));
    }
    const gr_launch launch = {.kernel = self->kernel,
                              .grid = {planned.grid},
                              .block = {planned.block},
                              .shared_bytes = planned.shared_bytes,
                              .params = params,
                              .param_bytes = sizeof *params,
                              .stream = ring->kernels};
    gr_status status = backend->streams->follow(backend, ring->kernels, ring->copied[place], error);
    if (status == GR_OK)
        status = backend->launch(backend, &launch, self->interrupt, error);
    if (status == GR_OK)
        status = backend->streams->record(backend, ring->kernels, ring->reduced[place], error);
    return status;
}

static gr_status pump(run *self, gr_error *error) {
    gr_status status = GR_OK;
    for (uint64_t chunk = 0; status == GR_OK && chunk < self->chunks; ++chunk) {
        status = free_places(self, chunk, error);
        while (status == GR_OK && !self->pinned &&
               !gr_copy_pool_wait(self->ring->pool, chunk, POLL_MILLISECONDS))
            status = look(self, error);
        if (status == GR_OK)
            status = order_copies(self, chunk, error);
        if (status == GR_OK)
            status = order_kernel(self, chunk, error);
        if (status == GR_OK) {
            self->sent = chunk + 1;
            status = look(self, error);
        }
    }
    return status;
}

/* Where the host looks for a result in mapped memory. */
static char *host_result(const run *self) {
    return self->ring->host + PLACES * self->ring->place_bytes;
}

static gr_status fetch(const run *self, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_ring *ring = self->ring;
    void *out = self->request->host_out;
    if (out != NULL && ring->mapped != 0) {
        const gr_status status =
            gr_result_await(backend, ring->kernels, host_result(self), result_bytes(self), error);
        memcpy(out, host_result(self), result_bytes(self));
        return status;
    }
    const gr_status status = backend->wait(backend, ring->kernels, error);
    return status == GR_OK && out != NULL
               ? backend->download(backend, out, ring->result, result_bytes(self), error)
               : status;
}

/* After this nothing reads the array or the ring any more, however the run went. */
static void settle(const run *self, gr_status status) {
    gr_backend *backend = self->backend;
    gr_error ignored;
    if (!self->pinned)
        gr_copy_pool_stop(self->ring->pool);
    if (status != GR_OK) {
        backend->wait(backend, self->ring->copies, &ignored);
        backend->wait(backend, self->ring->kernels, &ignored);
    }
}

gr_status gr_host_stream(gr_registry *registry, gr_device *device, const gr_general_request *request,
                         uint64_t count, const gr_interrupt *interrupt, gr_error *error) {
    gr_backend *backend = device->backend;
    run self = {.backend = backend, .request = request, .interrupt = interrupt};
    gr_status status =
        gr_device_flat_kernel(registry, device, "flat", request->op, request->dtype, &self.kernel, error);
    if (status == GR_OK)
        status = take_ring(device, &self.ring, error);
    if (status != GR_OK)
        return status;
    describe(&self, request, count);
    gr_result_expect(host_result(&self), RESULT_BYTES);
    status = start(&self, error);
    if (status == GR_OK)
        status = order(&self, error);
    if (status == GR_OK)
        status = pump(&self, error);
    if (status == GR_OK)
        status = fetch(&self, error);
    settle(&self, status);
    give_ring(device, self.ring, status == GR_OK);
    const gr_progress *progress = request->progress;
    const uint64_t total = count * self.item_bytes * self.sources;
    if (status == GR_OK && progress != NULL && progress->report(progress->arg, total, total))
        status = gr_fail(error, GR_ERR_INTERRUPTED, "stopped by the progress callback");
    return status;
}
