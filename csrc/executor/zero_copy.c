/* Zero-copy execution, and polling results in mapped memory. */
#include "executor/zero_copy.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "executor/mapped.h"

enum {
    ALIGNMENT = 256,
    HEADER = ALIGNMENT, /* bytes before the elements: the result */
    MAX_IDLE = 16,
    SPIN_NANOSECONDS = 100000,
    UNWRITTEN = 0xA5, /* poison: the value of each byte before the kernel writes it */
};

/* Mapped memory with the result, then the elements. It can be reused by any stream as soon as the result is
 * complete. */
static const gr_cached_kind zero_copy_buffers = {.name = "a call",
                                                 .size = sizeof(gr_mapped),
                                                 .max_idle = MAX_IDLE,
                                                 .not_fork_safe = true,
                                                 .open = gr_mapped_open,
                                                 .close = gr_mapped_close};

bool gr_zero_copy_can_run(const gr_device *device, const gr_chunked_reduction *reduction,
                          const gr_binding *binding) {
    if (!device->backend->streams->maps || binding->host_out == NULL)
        return false;
    const bool of_host = binding->inputs[0].host != NULL;
    for (size_t i = 1; i < reduction->inputs; ++i)
        if ((binding->inputs[i].host != NULL) != of_host)
            return false;
    return !of_host || reduction->count * reduction->item_bytes * reduction->inputs <= GR_ZERO_COPY_BYTES;
}

/* Whether the kernel has written all 32-bit words; the words of a complex number may arrive one by one. If
 * the result itself contains the poison, the host waits for the stream instead. */
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

void gr_result_poison(void *result, size_t bytes) {
    memset(result, UNWRITTEN, bytes);
    atomic_thread_fence(memory_order_release);
}

gr_status gr_result_spin_wait(gr_backend *backend, gr_stream stream, const void *result, size_t bytes,
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

/* Copies host elements to mapped memory and runs the kernel. *pinned: the source is pinned, so another
 * library's copy in the default stream may have been writing to it while it was read. The kernel runs after
 * that copy, so now the copy is complete. The query is free while the kernel runs. */
static gr_status run_once(gr_device *device, const gr_chunked_reduction *reduction, const gr_program *program,
                          const gr_binding *binding, const gr_mapped *self, gr_stream stream,
                          const gr_devptr *addresses, bool *pinned, gr_error *error) {
    gr_backend *backend = device->backend;
    const size_t bytes = (size_t)reduction->count * reduction->item_bytes;
    char *room = (char *)self->host + HEADER;
    for (size_t i = 0; i < reduction->inputs; ++i, room += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)
        if (binding->inputs[i].host != NULL)
            memcpy(room, (const char *)binding->inputs[i].host + binding->inputs[i].origin, bytes);
    gr_result_poison(self->host, GR_RESULT_BYTES);
    gr_status status = gr_program_enqueue(device, program, addresses, stream, NULL, error);
    *pinned = false;
    for (size_t i = 0; i < reduction->inputs && status == GR_OK; ++i) {
        const gr_source *source = &binding->inputs[i];
        gr_devptr ignored;
        *pinned = *pinned || (source->host != NULL &&
                              backend->streams->pinned(backend, (const char *)source->host + source->origin,
                                                       bytes, &ignored));
    }
    return status == GR_OK ? gr_result_spin_wait(backend, stream, self->host, binding->out_bytes, error)
                           : status;
}

static gr_status run_in(gr_device *device, const gr_stream_state *stream_state,
                        const gr_chunked_reduction *reduction, const gr_program *program,
                        const gr_binding *binding, gr_error *error) {
    gr_free_list *free_list = &device->allocator.free_list;
    const gr_stream_state any = {.stream = 0};
    const size_t bytes = (size_t)reduction->count * reduction->item_bytes;
    gr_devptr addresses[GR_MAX_BUFFERS] = {0}, inputs[GR_MAX_PROGRAM_INPUTS] = {0};
    gr_workspace workspace = {.count = 0};
    gr_cached *cached = NULL;
    gr_status status = gr_free_list_acquire(free_list, &zero_copy_buffers,
                                            HEADER + GR_ZERO_COPY_BYTES + ALIGNMENT, &any, &cached, error);
    if (status != GR_OK)
        return status;
    const gr_mapped *self = (const gr_mapped *)cached;
    gr_devptr room = self->there + HEADER;
    for (size_t i = 0; i < reduction->inputs; ++i, room += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)
        inputs[i] = binding->inputs[i].host != NULL ? room : binding->inputs[i].origin;
    gr_program_bind(program, inputs, self->there, addresses);
    status = gr_workspace_alloc(device, stream_state, program, false, addresses, &workspace, error);
    bool again = true; /* if the source is pinned, run once more: its elements are complete now */
    for (int run = 0; status == GR_OK && again && run < 2; ++run)
        status = run_once(device, reduction, program, binding, self, stream_state->stream, addresses, &again,
                          error);
    memcpy(binding->host_out, self->host, binding->out_bytes);
    gr_workspace_free(device, &workspace, status == GR_OK);
    gr_free_list_release(free_list, cached, status == GR_OK);
    return status;
}

gr_status gr_zero_copy_run(gr_device *device, const gr_chunked_reduction *reduction,
                           const gr_program *program, const gr_binding *binding, gr_error *error) {
    gr_stream_state stream_state;
    gr_status status = gr_device_attach(device, error);
    if (status != GR_OK)
        return status;
    status = gr_binding_stream(device, binding, &stream_state, error);
    if (status == GR_OK)
        status = run_in(device, &stream_state, reduction, program, binding, error);
    gr_device_detach(device);
    return status;
}
