/* Streams, events and pinned memory of the CUDA backend. */
#include "device/cuda/context.h"

static gr_status cuda_host_alloc(gr_backend *base, size_t bytes, void **out, gr_devptr *mapped,
                                 gr_error *error) {
    *out = NULL;
    gr_status status =
        GR_CUDA_CALL(base, 0, error, host_alloc(out, bytes, GR_CU_HOST_PORTABLE | GR_CU_HOST_MAPPED),
                     "allocating %zu bytes of pinned host memory", bytes);
    if (status == GR_OK)
        status = GR_CUDA_CALL(base, 0, error, host_pointer(mapped, *out, 0),
                              "mapping pinned host memory to cuda:%d", base->info.index);
    return status;
}

static void cuda_host_free(gr_backend *base, void *memory) {
    if (memory)
        GR_CUDA_RELEASE(as_cuda(base), host_free(memory));
}

/* For an address outside CUDA's memory the driver returns zeros if several attributes are queried. A query of
 * one attribute fails, which compute-sanitizer reports. */
static bool cuda_pinned(gr_backend *base, const void *memory, size_t bytes) {
    const cuda_backend *self = as_cuda(base);
    const gr_cu_deviceptr address = (uintptr_t)memory;
    unsigned type = 0;
    gr_cu_deviceptr start = 0;
    size_t length = 0;
    int attributes[] = {GR_CU_POINTER_MEMORY_TYPE, GR_CU_POINTER_RANGE_START, GR_CU_POINTER_RANGE_BYTES};
    void *values[] = {&type, &start, &length};
    gr_error ignored;
    if (gr_cuda_enter(self, &ignored) != GR_OK)
        return false;
    const bool known = self->driver->pointer_attributes(3, attributes, values, address) == GR_CU_SUCCESS;
    gr_cuda_leave(self, GR_OK, &ignored);
    return known && type == GR_CU_MEMORY_HOST && address >= start && address - start <= length &&
           bytes <= length - (address - start);
}

/* cuStreamGetCaptureInfo invalidates no capture. CUDA_ERROR_STREAM_CAPTURE_IMPLICIT is its answer for the
 * legacy default stream while a blocking stream is captured. The id of the legacy default stream is 0 by
 * definition. */
static gr_status cuda_get_state(gr_backend *base, gr_stream stream, gr_stream_state *out, gr_error *error) {
    const cuda_backend *self = as_cuda(base);
    const gr_cuda_driver *driver = self->driver;
    *out = (gr_stream_state){.stream = stream <= GR_LEGACY_HANDLE ? 0 : stream};
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    const gr_cu_stream handle = gr_cuda_stream(out->stream);
    unsigned long long id = 0;
    int capturing = 0;
    gr_cu_graph graph = NULL;
    gr_cu_result result = driver->capture_info(handle, &capturing, &out->capture, &graph, NULL, NULL);
    if (result == GR_CU_CAPTURE_IMPLICIT) {
        out->capture_would_invalidate = true;
        result = GR_CU_SUCCESS;
        capturing = GR_CU_CAPTURE_NONE;
    }
    if (result == GR_CU_SUCCESS && capturing != GR_CU_CAPTURE_NONE)
        id = out->stream; /* cuStreamGetId would invalidate the capture */
    else if (result == GR_CU_SUCCESS && out->stream != 0)
        result = driver->stream_id(handle, &id);
    status = gr_cuda_check(driver, result, error, "asking for stream 0x%llx of cuda:%d",
                           (unsigned long long)stream, base->info.index);
    status = gr_cuda_check_stream(self, stream, status, error);
    status = gr_cuda_leave(self, status, error);
    if (status == GR_OK && capturing == GR_CU_CAPTURE_INVALIDATED)
        status = gr_fail(error, GR_ERR_DEVICE, "stream 0x%llx of cuda:%d: its capture has failed before",
                         (unsigned long long)stream, base->info.index);
    out->id = id;
    out->graph = (uintptr_t)graph;
    if (capturing == GR_CU_CAPTURE_NONE)
        out->capture = 0;
    return status;
}

static gr_status cuda_retain_in_graph(gr_backend *base, const gr_stream_state *stream_state,
                                      void (*forget)(void *arg), void *arg, gr_error *error) {
    const cuda_backend *self = as_cuda(base);
    const gr_cuda_driver *driver = self->driver;
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    gr_cu_owner owner = NULL;
    status = gr_cuda_check(driver, driver->owner_create(&owner, arg, forget, 1, GR_CU_OWNER_NO_SYNC), error,
                           "making an owner of captured memory on cuda:%d", base->info.index);
    if (status == GR_OK)
        status = gr_cuda_check(driver,
                               driver->graph_keep((gr_cu_graph)(uintptr_t)stream_state->graph, owner, 1,
                                                  GR_CU_GRAPH_TAKES_REFERENCES),
                               error, "leaving memory to a graph on cuda:%d", base->info.index);
    const bool kept = status == GR_OK; /* the graph owns the memory, whatever fails afterwards */
    status = gr_cuda_leave(self, status, error);
    return kept ? GR_OK : status;
}

static gr_status cuda_stream_open(gr_backend *base, gr_stream *out, gr_error *error) {
    gr_cu_stream stream = NULL;
    const gr_status status = GR_CUDA_CALL(base, 0, error, stream_create(&stream, GR_CU_STREAM_NON_BLOCKING),
                                          "making a stream on cuda:%d", base->info.index);
    *out = (uintptr_t)stream;
    return status;
}

static void cuda_stream_close(gr_backend *base, gr_stream stream) {
    if (stream != 0)
        GR_CUDA_RELEASE(as_cuda(base), stream_destroy(gr_cuda_stream(stream)));
}

/* A gr_event is a CUevent. */
static gr_cu_event event_of(gr_event event) {
    return (gr_cu_event)(uintptr_t)event;
}

static gr_status cuda_event_open(gr_backend *base, gr_event *out, gr_error *error) {
    gr_cu_event event = NULL;
    const gr_status status = GR_CUDA_CALL(base, 0, error, event_create(&event, GR_CU_EVENT_NO_TIMING),
                                          "making an event on cuda:%d", base->info.index);
    *out = (uintptr_t)event;
    return status;
}

static void cuda_event_close(gr_backend *base, gr_event event) {
    if (event != 0)
        GR_CUDA_RELEASE(as_cuda(base), event_destroy(event_of(event)));
}

static gr_status cuda_record(gr_backend *base, gr_stream stream, gr_event event, gr_error *error) {
    return GR_CUDA_CALL(base, stream, error, event_record(event_of(event), gr_cuda_stream(stream)),
                        "recording an event in a stream of cuda:%d", base->info.index);
}

static gr_status cuda_wait_event(gr_backend *base, gr_stream stream, gr_event event, gr_error *error) {
    return GR_CUDA_CALL(base, stream, error, stream_follow(gr_cuda_stream(stream), event_of(event), 0),
                        "ordering streams on cuda:%d", base->info.index);
}

static gr_status cuda_event_done(gr_backend *base, gr_event event, bool wait, bool *done, gr_error *error) {
    const cuda_backend *self = as_cuda(base);
    gr_status status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    const gr_cu_result result =
        (wait ? self->driver->event_wait : self->driver->event_query)(event_of(event));
    *done = result == GR_CU_SUCCESS;
    if (result != GR_CU_NOT_READY)
        status = gr_cuda_check(self->driver, result, error, "%s an event on cuda:%d",
                               wait ? "waiting for" : "asking for", base->info.index);
    return gr_cuda_leave(self, status, error);
}

const gr_stream_ops gr_cuda_stream_ops = {
    .maps = true,
    .get_state = cuda_get_state,
    .alloc_async = gr_cuda_alloc_async,
    .free_async = gr_cuda_free_async,
    .retain_in_graph = cuda_retain_in_graph,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .pinned = cuda_pinned,
    .stream_open = cuda_stream_open,
    .stream_close = cuda_stream_close,
    .event_open = cuda_event_open,
    .event_close = cuda_event_close,
    .record = cuda_record,
    .wait_event = cuda_wait_event,
    .event_done = cuda_event_done,
};
