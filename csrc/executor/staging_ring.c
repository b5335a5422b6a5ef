/* The staging ring: pinned stages, copy threads, and a copy and a compute stream that are ordered by events.
 */
#include "executor/staging_ring.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "executor/copy_pool.h"
#include "executor/mapped.h"

enum {
    STAGES = 8,
    CHUNK_BYTES = 4 << 20, /* bytes per stage: at 50 GB/s a copy of 80 us; the kernel takes 4 us */
    MIN_CHUNK_BYTES = 256,
    MAX_THREADS = 8, /* host copy threads: 8 threads of an H200's host copy 50 GB/s, the bus takes 55 GB/s */
    ALIGNMENT = 256,
    POLL_MILLISECONDS = 50, /* between checks for signals, and between reports of progress */
    IDLE_RINGS = 2,
    RESULT_BYTES = 16,
    PLAIN_BYTES = 4 << 10, /* bytes for temporary buffers of programs */
    /* Events: the last copy into each stage, the last kernel that read each stage, and the end of the work
     * that was in the default stream when the call began. */
    COPIED = 0,
    REDUCED = COPIED + STAGES,
    BEFORE = REDUCED + STAGES,
    EVENTS,
};

typedef struct gr_staging_ring {
    gr_cached cached; /* cached.bytes is the size of a stage */
    char *host;       /* pinned memory: STAGES stages, then the result */
    gr_devptr mapped; /* device address of `host`, 0 if it is not mapped */
    gr_devptr device; /* device memory: STAGES stages, then `zeroed`, `plain` and a result */
    /* Workspace of the chunks' programs. Their stream is not ordered with the default stream, whose calls
     * have other memory. */
    gr_devptr zeroed, plain;
    gr_devptr result;
    gr_stream copies, kernels;
    gr_event events[EVENTS];
    gr_copy_pool *pool;
    gr_program program; /* of the chunk that is being enqueued */
} gr_staging_ring;

typedef struct run {
    gr_device *device;
    gr_backend *backend;
    gr_staging_ring *ring;
    const gr_chunked_reduction *reduction;
    const gr_binding *binding;
    const gr_progress *progress;
    const gr_interrupt *interrupt;
    gr_copy_job job;
    bool pinned; /* the arrays are pinned: uploaded without staging */
    uint64_t chunks;
    uint64_t sent, freed;    /* chunks whose copies are enqueued; chunks whose copies are complete */
    struct timespec checked; /* time of the last check for signals */
} run;

/* Whether chunks are reduced; otherwise they are uploaded to one buffer of the full size. */
static bool reduces(const run *self) {
    return self->reduction->plan != NULL;
}

/* Tests set the environment variable to get many chunks from small arrays. */
static size_t stage_bytes(void) {
    const char *text = getenv("GPUREDUCE_CHUNK_BYTES");
    const unsigned long asked = text != NULL ? strtoul(text, NULL, 10) : 0;
    const size_t bytes = asked / ALIGNMENT * ALIGNMENT;
    return bytes >= MIN_CHUNK_BYTES && bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
}

static size_t copy_threads(void) {
    cpu_set_t cpus;
    const int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    return count < MAX_THREADS ? (size_t)count : MAX_THREADS;
}

static void ring_close(gr_free_list *free_list, gr_cached *cached) {
    gr_backend *backend = free_list->backend;
    const gr_stream_ops *streams = backend->streams;
    gr_staging_ring *self = (gr_staging_ring *)cached;
    gr_copy_pool_close(self->pool);
    for (size_t i = 0; i < EVENTS; ++i)
        streams->event_close(backend, self->events[i]);
    streams->stream_close(backend, self->copies);
    streams->stream_close(backend, self->kernels);
    backend->free(backend, self->device);
    streams->host_free(backend, self->host);
}

static gr_status ring_open(gr_free_list *free_list, gr_cached *cached, gr_error *error) {
    gr_backend *backend = free_list->backend;
    const gr_stream_ops *streams = backend->streams;
    gr_staging_ring *self = (gr_staging_ring *)cached;
    const size_t bytes = STAGES * cached->bytes;
    void *host = NULL;
    gr_status status =
        backend->alloc(backend, bytes + GR_ZEROED_BYTES + PLAIN_BYTES + RESULT_BYTES, &self->device, error);
    self->zeroed = self->device + bytes;
    self->plain = self->zeroed + GR_ZEROED_BYTES;
    self->result = self->plain + PLAIN_BYTES;
    if (status == GR_OK)
        status = backend->memset_async(backend, 0, self->zeroed, 0, GR_ZEROED_BYTES, error);
    if (status == GR_OK)
        status = streams->host_alloc(backend, bytes + RESULT_BYTES, &host, &self->mapped, error);
    self->host = host;
    if (self->mapped != 0) /* where the host can poll it */
        self->result = self->mapped + bytes;
    if (status == GR_OK)
        status = streams->stream_open(backend, &self->copies, error);
    if (status == GR_OK)
        status = streams->stream_open(backend, &self->kernels, error);
    for (size_t i = 0; status == GR_OK && i < EVENTS; ++i)
        status = streams->event_open(backend, &self->events[i], error);
    return status == GR_OK ? gr_copy_pool_open(copy_threads(), &self->pool, error) : status;
}

static const gr_cached_kind rings = {"a ring of chunks", sizeof(gr_staging_ring), IDLE_RINGS, ring_open,
                                     ring_close};

bool gr_staging_ring_can_reduce(const gr_device *device, const gr_chunked_reduction *reduction,
                                const gr_binding *binding) {
    for (size_t i = 0; i < reduction->inputs; ++i)
        if (binding->inputs[i].host == NULL)
            return false;
    /* On the simulator an array of one chunk gets an allocation of its own instead, so that accesses out of
     * bounds are detected. */
    return reduction->count * reduction->item_bytes * reduction->inputs >
           (device->backend->streams->maps ? GR_ZERO_COPY_BYTES : stage_bytes());
}

/* Describes the copies, and starts the threads if there is something for them to copy. */
static gr_status start(run *self, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_staging_ring *ring = self->ring;
    gr_copy_job *job = &self->job;
    size_t pinned = 0;
    *job = (gr_copy_job){.sources = self->reduction->inputs,
                         .bytes = self->reduction->count * self->reduction->item_bytes,
                         .chunk_bytes = ring->cached.bytes / self->reduction->inputs,
                         .ring = ring->host,
                         .stages = STAGES,
                         .stage_bytes = ring->cached.bytes};
    for (size_t i = 0; i < job->sources; ++i) {
        const gr_source *source = &self->binding->inputs[i];
        job->from[i] = (const char *)source->host + source->origin;
        pinned += backend->streams->maps && backend->streams->pinned(backend, job->from[i], job->bytes);
    }
    self->pinned = pinned == job->sources;
    self->chunks = job->bytes / job->chunk_bytes + (job->bytes % job->chunk_bytes != 0);
    clock_gettime(CLOCK_MONOTONIC, &self->checked);
    if (self->pinned)
        return GR_OK;
    /* Only pinned memory can have a copy of another library under way to it. */
    const gr_status status = pinned > 0 ? backend->wait(backend, 0, error) : GR_OK;
    if (status == GR_OK)
        gr_copy_pool_start(ring->pool, job, STAGES);
    return status;
}

/* The streams begin after what other libraries have put into the default stream. */
static gr_status wait_for_default_stream(const run *self, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_staging_ring *ring = self->ring;
    gr_status status = backend->streams->record(backend, 0, ring->events[BEFORE], error);
    if (status == GR_OK)
        status = backend->streams->wait_event(backend, ring->copies, ring->events[BEFORE], error);
    if (status == GR_OK && reduces(self))
        status = backend->streams->wait_event(backend, ring->kernels, ring->events[BEFORE], error);
    return status;
}

/* From time to time: stops for a signal, reports progress. */
static gr_status check_interrupt(run *self, gr_error *error) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double passed = (double)(now.tv_sec - self->checked.tv_sec) * 1e3 +
                          (double)(now.tv_nsec - self->checked.tv_nsec) * 1e-6;
    if (passed < POLL_MILLISECONDS)
        return GR_OK;
    self->checked = now;
    if (self->interrupt != NULL && self->interrupt->pending(self->interrupt->arg))
        return gr_fail(error, GR_ERR_INTERRUPTED, "interrupted during the upload of the array");
    const gr_progress *progress = self->progress;
    const uint64_t sources = self->job.sources, done = self->freed * self->job.chunk_bytes * sources;
    if (progress != NULL && self->freed < self->chunks &&
        progress->report(progress->arg, done, self->job.bytes * sources))
        return gr_fail(error, GR_ERR_INTERRUPTED, "stopped by the progress callback");
    return GR_OK;
}

/* Counts the stages whose copies are complete; waits until there is a stage for chunk `wanted`. */
static gr_status reclaim_stages(run *self, uint64_t wanted, gr_error *error) {
    gr_backend *backend = self->backend;
    const uint64_t before = self->freed;
    gr_status status = GR_OK;
    while (status == GR_OK && self->freed < self->sent) {
        const gr_event event = self->ring->events[COPIED + self->freed % STAGES];
        bool done = false;
        status = backend->streams->event_done(backend, event, wanted >= self->freed + STAGES, &done, error);
        if (status != GR_OK || !done)
            break;
        ++self->freed;
    }
    if (self->freed != before && !self->pinned)
        gr_copy_pool_allow(self->ring->pool, self->freed + STAGES);
    return status;
}

static gr_chunk_range range_of(const run *self, uint64_t chunk) {
    const uint64_t capacity = self->job.chunk_bytes / self->reduction->item_bytes, first = chunk * capacity;
    const uint64_t left = self->reduction->count - first;
    return (gr_chunk_range){
        .first = first, .count = left < capacity ? left : capacity, .total = self->reduction->count};
}

/* Enqueues the uploads of a chunk from pinned memory. */
static gr_status enqueue_copies(const run *self, uint64_t chunk, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_stream_ops *streams = backend->streams;
    const gr_staging_ring *ring = self->ring;
    const size_t stage = (size_t)(chunk % STAGES), offset = stage * ring->cached.bytes;
    const gr_devptr to =
        reduces(self) ? ring->device + offset : self->binding->device_out + chunk * self->job.chunk_bytes;
    gr_status status = GR_OK;
    if (reduces(self) && chunk >= STAGES) /* the kernel may still read the stage */
        status = streams->wait_event(backend, ring->copies, ring->events[REDUCED + stage], error);
    for (size_t i = 0; status == GR_OK && i < self->reduction->inputs; ++i) {
        const char *from = self->pinned ? self->job.from[i] + chunk * self->job.chunk_bytes
                                        : ring->host + offset + i * self->job.chunk_bytes;
        status = backend->upload(backend, ring->copies, to + i * self->job.chunk_bytes, from,
                                 (size_t)range_of(self, chunk).count * self->reduction->item_bytes, error);
    }
    return status == GR_OK ? streams->record(backend, ring->copies, ring->events[COPIED + stage], error)
                           : status;
}

/* Enqueues the program that reduces a chunk, after its uploads. */
static gr_status enqueue_program(const run *self, uint64_t chunk, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_staging_ring *ring = self->ring;
    const size_t stage = (size_t)(chunk % STAGES);
    const gr_chunk_range part = range_of(self, chunk);
    gr_program *program = &self->ring->program;
    gr_program_begin(program);
    self->reduction->plan(self->reduction->request, &backend->info.caps, &part, program);
    gr_devptr addresses[GR_MAX_BUFFERS] = {0}, inputs[GR_MAX_PROGRAM_INPUTS] = {0};
    for (size_t i = 0; i < self->reduction->inputs; ++i)
        inputs[i] = ring->device + stage * ring->cached.bytes + i * self->job.chunk_bytes;
    gr_program_bind(program, inputs,
                    self->binding->host_out != NULL ? ring->result : self->binding->device_out, addresses);
    if (gr_program_pack(program, GR_BUFFER_ZEROED, ring->zeroed, addresses) > GR_ZEROED_BYTES ||
        gr_program_pack(program, GR_BUFFER_TEMPORARY, ring->plain, addresses) > PLAIN_BYTES)
        return gr_fail(error, GR_ERR_VALUE,
                       "the program of a chunk needs more workspace than a staging ring has");
    gr_status status =
        backend->streams->wait_event(backend, ring->kernels, ring->events[COPIED + stage], error);
    if (status == GR_OK)
        status = gr_program_enqueue(self->device, program, addresses, ring->kernels, self->interrupt, error);
    if (status == GR_OK)
        status = backend->streams->record(backend, ring->kernels, ring->events[REDUCED + stage], error);
    return status;
}

static gr_status pump(run *self, gr_error *error) {
    gr_status status = GR_OK;
    for (uint64_t chunk = 0; status == GR_OK && chunk < self->chunks; ++chunk) {
        status = reclaim_stages(self, chunk, error);
        while (status == GR_OK && !self->pinned &&
               !gr_copy_pool_wait(self->ring->pool, chunk, POLL_MILLISECONDS))
            status = check_interrupt(self, error);
        if (status == GR_OK)
            status = enqueue_copies(self, chunk, error);
        if (status == GR_OK && reduces(self))
            status = enqueue_program(self, chunk, error);
        if (status == GR_OK) {
            self->sent = chunk + 1;
            status = check_interrupt(self, error);
        }
    }
    return status;
}

/* The result in mapped memory, which the host polls. */
static char *host_result(const run *self) {
    return self->ring->host + STAGES * self->ring->cached.bytes;
}

static gr_status download_result(const run *self, gr_error *error) {
    gr_backend *backend = self->backend;
    const gr_staging_ring *ring = self->ring;
    void *out = self->binding->host_out;
    if (!reduces(self))
        return backend->wait(backend, ring->copies, error);
    if (out != NULL && ring->mapped != 0) {
        const gr_status status =
            gr_result_spin_wait(backend, ring->kernels, host_result(self), self->binding->out_bytes, error);
        memcpy(out, host_result(self), self->binding->out_bytes);
        return status;
    }
    return out != NULL
               ? backend->download(backend, ring->kernels, out, ring->result, self->binding->out_bytes, error)
               : backend->wait(backend, ring->kernels, error);
}

/* Afterwards no thread and no stream reads the array or the ring, also after a failure. */
static void quiesce(const run *self, gr_status status) {
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
    gr_cached *cached =
        NULL; /* for any stream: the streams of a ring wait for the default stream by `before` */
    gr_stream_state stream_state;
    gr_status status = gr_binding_stream(device, binding, &stream_state, error);
    if (status == GR_OK)
        status =
            gr_free_list_acquire(&device->allocator.free_list, &rings, stage_bytes(), NULL, &cached, error);
    for (unsigned i = 0; status == GR_ERR_MEMORY && gr_allocator_reclaim(&device->allocator, i); ++i)
        status =
            gr_free_list_acquire(&device->allocator.free_list, &rings, stage_bytes(), NULL, &cached, error);
    if (status != GR_OK)
        return status;
    run self = {.device = device,
                .backend = device->backend,
                .ring = (gr_staging_ring *)cached,
                .reduction = reduction,
                .binding = binding,
                .progress = progress,
                .interrupt = interrupt};
    gr_result_poison(host_result(&self), RESULT_BYTES);
    status = start(&self, error);
    if (status == GR_OK)
        status = wait_for_default_stream(&self, error);
    if (status == GR_OK)
        status = pump(&self, error);
    if (status == GR_OK)
        status = download_result(&self, error);
    quiesce(&self, status);
    gr_free_list_release(&device->allocator.free_list, cached, status == GR_OK);
    const uint64_t total = self.job.bytes * self.job.sources;
    if (status == GR_OK && progress != NULL && progress->report(progress->arg, total, total))
        status = gr_fail(error, GR_ERR_INTERRUPTED, "stopped by the progress callback");
    return status;
}

bool gr_staging_ring_is_faster(const gr_device *device, const gr_source *source) {
    const gr_stream_ops *streams = device->backend->streams;
    return streams->maps && source->host != NULL && source->bytes > stage_bytes() &&
           !streams->pinned(device->backend, source->host, source->bytes);
}

gr_status gr_staging_ring_upload(gr_device *device, const gr_source *source, gr_devptr to,
                                 const gr_interrupt *interrupt, gr_error *error) {
    const gr_chunked_reduction reduction = {.inputs = 1, .item_bytes = 1, .count = source->bytes};
    const gr_binding binding = {.inputs = {{.host = source->host, .bytes = source->bytes}}, .device_out = to};
    return gr_staging_ring_reduce(device, &reduction, &binding, NULL, interrupt, error);
}
