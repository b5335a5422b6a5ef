#include "executor/staging_ring.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "executor/copy_pool.h"
#include "executor/zero_copy.h"

enum {
    PLACES = 8,
    CHUNK_BYTES = 4 << 20, /* of a place in the ring: at 50 GB/s a copy of 80 us, a kernel takes 4 */
    LEAST_CHUNK_BYTES = 256,
    MOST_THREADS = 8, /* an H200's host copies 50 GB/s with them, and its bus takes 55 */
    ALIGNMENT = 256,
    POLL_MILLISECONDS = 50, /* between looks at signals, and between reports of progress */
    IDLE_RINGS = 2,
    PLAIN_BYTES = 4 << 10, /* room for temporaries of programs */
};

typedef struct gr_staging_ring {
    gr_cached cached; /* whose bytes are those of a place */
    char *host;       /* PLACES places, a result */
    gr_devptr mapped; /* of `host`, or 0 */
    gr_devptr device; /* PLACES places, what follows, a result */
    /* For the programs. Their stream is not ordered with the default one, whose calls have memory of their
     * own. */
    gr_devptr zeroed, plain;
    gr_devptr result;
    gr_stream copies, kernels;
    gr_event copied[PLACES], reduced[PLACES]; /* what was last done to each place */
    gr_event before;                          /* the work in the default stream when a call began */
    gr_copy_pool *pool;
    gr_program program; /* of the chunk whose launches are being ordered */
} gr_staging_ring;

typedef struct run {
    gr_device *device;
    gr_backend *backend;
    gr_staging_ring *ring;
    const gr_chunked_reduction *reduction;
    const gr_binding *binding;
    const gr_progress *progress;
    const gr_interrupt *interrupt;
    size_t chunk_bytes; /* of one input */
    const char *from[GR_COPY_SOURCES];
    bool pinned; /* the device copies from the array itself */
    bool mixed;  /* one of two vectors is pinned */
    uint64_t chunks;
    uint64_t sent, freed;   /* chunks whose copies were ordered, and are done */
    struct timespec looked; /* last, for signals */
} run;

/* Whether kernels take the chunks in; else all of them go to memory that has room for them. */
static bool takes_in(const run *self) {
    return self->reduction->plan != NULL;
}

/* The environment variable makes chunks small enough for tests to have many. */
static size_t stage_bytes(void) {
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

static void ring_close(gr_backend *backend, gr_cached *cached) {
    const gr_stream_ops *streams = backend->streams;
    gr_staging_ring *self = (gr_staging_ring *)cached;
    gr_copy_pool_close(self->pool);
    for (size_t i = 0; i < PLACES; ++i) {
        streams->event_close(backend, self->copied[i]);
        streams->event_close(backend, self->reduced[i]);
    }
    streams->event_close(backend, self->before);
    streams->stream_close(backend, self->copies);
    streams->stream_close(backend, self->kernels);
    backend->free(backend, self->device);
    streams->host_free(backend, self->host);
}

static gr_status ring_open(gr_backend *backend, gr_cached *cached, gr_error *error) {
    const gr_stream_ops *streams = backend->streams;
    gr_staging_ring *self = (gr_staging_ring *)cached;
    const size_t bytes = PLACES * cached->bytes;
    void *host = NULL;
    gr_status status = backend->alloc(backend, bytes + GR_ZEROED_BYTES + PLAIN_BYTES + GR_RESULT_BYTES,
                                      &self->device, error);
    self->zeroed = self->device + bytes;
    self->plain = self->zeroed + GR_ZEROED_BYTES;
    self->result = self->plain + PLAIN_BYTES;
    if (status == GR_OK)
        status = backend->fill(backend, 0, self->zeroed, 0, GR_ZEROED_BYTES, error);
    if (status == GR_OK)
        status = streams->host_alloc(backend, bytes + GR_RESULT_BYTES, &host, &self->mapped, error);
    self->host = host;
    if (self->mapped != 0) /* where the result can be looked for */
        self->result = self->mapped + bytes;
    if (status == GR_OK)
        status = streams->stream_open(backend, &self->copies, error);
    if (status == GR_OK)
        status = streams->stream_open(backend, &self->kernels, error);
    if (status == GR_OK)
        status = streams->event_open(backend, &self->before, error);
    for (size_t i = 0; status == GR_OK && i < PLACES; ++i) {
        status = streams->event_open(backend, &self->copied[i], error);
        if (status == GR_OK)
            status = streams->event_open(backend, &self->reduced[i], error);
    }
    return status == GR_OK ? gr_copy_pool_open(copy_threads(), &self->pool, error) : status;
}

static const gr_cached_kind rings = {.name = "a ring of chunks",
                                     .size = sizeof(gr_staging_ring),
                                     .most = IDLE_RINGS,
                                     .not_fork_safe = true,
                                     .open = ring_open,
                                     .close = ring_close};

bool gr_staging_ring_can_reduce(const gr_device *device, const gr_chunked_reduction *reduction,
                                const gr_binding *binding) {
    for (size_t i = 0; i < reduction->inputs; ++i)
        if (binding->inputs[i].host == NULL)
            return false;
    /* The simulator sees an array that is one chunk at an address of its own, where it knows its ends. */
    return reduction->count * reduction->item_bytes * reduction->inputs >
           (device->backend->streams->maps ? GR_ZERO_COPY_BYTES : stage_bytes());
}

static void describe(run *self) {
    const gr_stream_ops *streams = self->backend->streams;
    const uint64_t bytes = self->reduction->count * self->reduction->item_bytes;
    self->chunk_bytes = self->ring->cached.bytes / self->reduction->inputs;
    self->chunks = bytes / self->chunk_bytes + (bytes % self->chunk_bytes != 0);
    size_t pinned = 0;
    for (size_t i = 0; i < self->reduction->inputs; ++i) {
        const gr_source *source = &self->binding->inputs[i];
        gr_devptr ignored;
        self->from[i] = (const char *)source->host + source->origin;
        pinned += streams->pinned(self->backend, self->from[i], bytes, &ignored);
    }
    self->pinned = pinned == self->reduction->inputs;
    self->mixed = pinned > 0 && !self->pinned;
    clock_gettime(CLOCK_MONOTONIC, &self->looked);
}

/* Has the threads begin, where there is something for them to copy. */
static gr_status start(const run *self, gr_error *error) {
    if (self->pinned)
        return GR_OK;
    const uint64_t bytes = self->reduction->count * self->reduction->item_bytes;
    /* Only pinned memory can have a copy of another library under way to it. */
    const gr_status status = self->mixed ? self->backend->wait(self->backend, 0, error) : GR_OK;
    if (status != GR_OK)
        return status;
    gr_copy_job job = {.sources = self->reduction->inputs,
                       .bytes = bytes,
                       .chunk_bytes = self->chunk_bytes,
                       .ring = self->ring->host,
                       .stages = PLACES,
                       .stage_bytes = self->ring->cached.bytes};
    memcpy(job.from, self->from, sizeof job.from);
    gr_copy_pool_start(self->ring->pool, &job, PLACES);
    return GR_OK;
}

/* The streams begin after what other libraries have put into the default stream. */
static gr_status follow_default(const run *self, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_staging_ring *ring = self->ring;
    gr_status status = backend->streams->record(backend, 0, ring->before, error);
    if (status == GR_OK)
        status = backend->streams->wait_event(backend, ring->copies, ring->before, error);
    if (status == GR_OK && takes_in(self))
        status = backend->streams->wait_event(backend, ring->kernels, ring->before, error);
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
    const gr_progress *progress = self->progress;
    const uint64_t total = self->reduction->count * self->reduction->item_bytes * self->reduction->inputs;
    const uint64_t done = self->freed * self->chunk_bytes * self->reduction->inputs;
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
        const gr_event event = self->ring->copied[self->freed % PLACES];
        bool done = false;
        status = backend->streams->event_done(backend, event, wanted >= self->freed + PLACES, &done, error);
        if (status != GR_OK || !done)
            break;
        ++self->freed;
    }
    if (self->freed != before && !self->pinned)
        gr_copy_pool_allow(self->ring->pool, self->freed + PLACES);
    return status;
}

static gr_chunk_range part_of(const run *self, uint64_t chunk) {
    const uint64_t most = self->chunk_bytes / self->reduction->item_bytes, first = chunk * most;
    const uint64_t left = self->reduction->count - first;
    return (gr_chunk_range){
        .first = first, .count = left < most ? left : most, .total = self->reduction->count};
}

/* Orders the copies of a chunk to the device, out of pinned memory. */
static gr_status order_copies(const run *self, uint64_t chunk, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_stream_ops *streams = backend->streams;
    const gr_staging_ring *ring = self->ring;
    const size_t stage = (size_t)(chunk % PLACES), offset = stage * ring->cached.bytes;
    const gr_devptr to =
        takes_in(self) ? ring->device + offset : self->binding->device_out + chunk * self->chunk_bytes;
    gr_status status = GR_OK;
    if (takes_in(self) && chunk >= PLACES) /* its place may still be read */
        status = streams->wait_event(backend, ring->copies, ring->reduced[stage], error);
    for (size_t i = 0; status == GR_OK && i < self->reduction->inputs; ++i) {
        const char *from = self->pinned ? self->from[i] + chunk * self->chunk_bytes
                                        : ring->host + offset + i * self->chunk_bytes;
        status = backend->upload(backend, ring->copies, to + i * self->chunk_bytes, from,
                                 (size_t)part_of(self, chunk).count * self->reduction->item_bytes, error);
    }
    return status == GR_OK ? streams->record(backend, ring->copies, ring->copied[stage], error) : status;
}

/* Orders the program that takes a chunk in, when its copies are done. */
static gr_status order_program(const run *self, uint64_t chunk, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_staging_ring *ring = self->ring;
    const size_t stage = (size_t)(chunk % PLACES);
    const gr_chunk_range part = part_of(self, chunk);
    gr_program *program = &self->ring->program;
    self->reduction->plan(self->reduction->request, &backend->info.caps, &part, program);
    gr_devptr addresses[GR_MAX_BUFFERS] = {0}, inputs[GR_MAX_PROGRAM_INPUTS] = {0};
    for (size_t i = 0; i < self->reduction->inputs; ++i)
        inputs[i] = ring->device + stage * ring->cached.bytes + i * self->chunk_bytes;
    gr_program_bind(program, inputs,
                    self->binding->host_out != NULL ? ring->result : self->binding->device_out, addresses);
    if (gr_program_pack(program, GR_BUFFER_ZEROED, ring->zeroed, addresses) > GR_ZEROED_BYTES ||
        gr_program_pack(program, GR_BUFFER_TEMPORARY, ring->plain, addresses) > PLAIN_BYTES)
        return gr_fail(error, GR_ERR_VALUE, "a part of the plan needs more memory than there is room for");
    gr_status status = backend->streams->wait_event(backend, ring->kernels, ring->copied[stage], error);
    if (status == GR_OK)
        status = gr_program_enqueue(self->device, program, addresses, ring->kernels, self->interrupt, error);
    if (status == GR_OK)
        status = backend->streams->record(backend, ring->kernels, ring->reduced[stage], error);
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
        if (status == GR_OK && takes_in(self))
            status = order_program(self, chunk, error);
        if (status == GR_OK) {
            self->sent = chunk + 1;
            status = look(self, error);
        }
    }
    return status;
}

/* Where the host looks for a result in mapped memory. */
static char *host_result(const run *self) {
    return self->ring->host + PLACES * self->ring->cached.bytes;
}

static gr_status fetch(const run *self, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_staging_ring *ring = self->ring;
    void *out = self->binding->host_out;
    if (!takes_in(self))
        return backend->wait(backend, ring->copies, error);
    if (out != NULL && ring->mapped != 0) {
        const gr_status status =
            gr_result_spin_wait(backend, ring->kernels, host_result(self), self->binding->out_bytes, error);
        memcpy(out, host_result(self), self->binding->out_bytes);
        return status;
    }
    const gr_status status = backend->wait(backend, ring->kernels, error);
    return status == GR_OK && out != NULL
               ? backend->download(backend, ring->kernels, out, ring->result, self->binding->out_bytes, error)
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

gr_status gr_staging_ring_reduce(gr_device *device, const gr_chunked_reduction *reduction,
                                 const gr_binding *binding, const gr_progress *progress,
                                 const gr_interrupt *interrupt, gr_error *error) {
    gr_cached *cached = NULL;
    const gr_stream_state any = {.stream = 0}; /* a ring's own streams begin behind the default one */
    gr_stream_state stream_state;
    gr_status status = gr_binding_stream(device, binding, &stream_state, error);
    if (status == GR_OK)
        status =
            gr_free_list_acquire(&device->allocator.free_list, &rings, stage_bytes(), &any, &cached, error);
    for (unsigned i = 0; status == GR_ERR_MEMORY && gr_allocator_reclaim(&device->allocator, i); ++i)
        status =
            gr_free_list_acquire(&device->allocator.free_list, &rings, stage_bytes(), &any, &cached, error);
    if (status != GR_OK)
        return status;
    run self = {.device = device,
                .backend = device->backend,
                .ring = (gr_staging_ring *)cached,
                .reduction = reduction,
                .binding = binding,
                .progress = progress,
                .interrupt = interrupt};
    describe(&self);
    gr_result_poison(host_result(&self), GR_RESULT_BYTES);
    status = start(&self, error);
    if (status == GR_OK)
        status = follow_default(&self, error);
    if (status == GR_OK)
        status = pump(&self, error);
    if (status == GR_OK)
        status = fetch(&self, error);
    settle(&self, status);
    gr_free_list_release(&device->allocator.free_list, cached, status == GR_OK);
    const uint64_t total = reduction->count * reduction->item_bytes * reduction->inputs;
    if (status == GR_OK && progress != NULL && progress->report(progress->arg, total, total))
        status = gr_fail(error, GR_ERR_INTERRUPTED, "stopped by the progress callback");
    return status;
}

bool gr_staging_ring_is_faster(const gr_device *device, const gr_source *source) {
    const gr_stream_ops *streams = device->backend->streams;
    gr_devptr ignored;
    return streams->maps && source->host != NULL && source->bytes > stage_bytes() &&
           !streams->pinned(device->backend, source->host, source->bytes, &ignored);
}

gr_status gr_staging_ring_upload(gr_device *device, const gr_source *source, gr_devptr to,
                                 const gr_interrupt *interrupt, gr_error *error) {
    const gr_chunked_reduction reduction = {.inputs = 1, .item_bytes = 1, .count = source->bytes};
    const gr_binding binding = {.inputs = {{.host = source->host, .bytes = source->bytes}}, .device_out = to};
    return gr_staging_ring_reduce(device, &reduction, &binding, NULL, interrupt, error);
}
