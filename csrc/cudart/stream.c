/* Streams and events. All work is done when a call returns, so that streams are always empty; an event keeps
   the time at which it was recorded. */
#include <stdlib.h>
#include <time.h>

#include "cudart/cudart.h"

enum { DISABLE_TIMING = 2, LOWEST_PRIORITY = 0, HIGHEST_PRIORITY = -5, PREDEFINED_STREAMS = 2 };

struct cudart_stream {
    struct cudart_stream *next;
    unsigned flags;
    int priority;
    unsigned long long id;
};

struct cudart_event {
    struct cudart_event *next;
    unsigned flags;
    bool recorded;
    uint64_t nanoseconds;
};

static cudaStream_t streams;
static cudaEvent_t events;
static unsigned long long last_id = PREDEFINED_STREAMS;

/* NULL and the small numbers are the default streams. */
static bool is_predefined(cudaStream_t stream) {
    return (uintptr_t)stream <= PREDEFINED_STREAMS;
}

cudaError_t cudart_check_stream(cudaStream_t stream) {
    if (is_predefined(stream))
        return cudaSuccess;
    for (cudaStream_t each = streams; each; each = each->next)
        if (each == stream)
            return cudaSuccess;
    return cudart_refuse(cudaErrorInvalidResourceHandle, "%p is not a stream, or it is destroyed",
                         (void *)stream);
}

static cudaError_t check_event(cudaEvent_t event) {
    for (cudaEvent_t each = events; each; each = each->next)
        if (each == event)
            return cudaSuccess;
    return cudart_refuse(cudaErrorInvalidResourceHandle, "%p is not an event, or it is destroyed",
                         (void *)event);
}

/* ---- streams ---- */

static cudaError_t create_stream(cudaStream_t *out, unsigned flags, int priority) {
    cudaStream_t stream = calloc(1, sizeof *stream);
    if (!stream)
        return cudaErrorMemoryAllocation;
    if (priority > LOWEST_PRIORITY)
        priority = LOWEST_PRIORITY;
    if (priority < HIGHEST_PRIORITY)
        priority = HIGHEST_PRIORITY;
    *stream = (struct cudart_stream){.next = streams, .flags = flags, .priority = priority, .id = ++last_id};
    streams = *out = stream;
    return cudaSuccess;
}

static cudaError_t destroy_stream(cudaStream_t stream) {
    for (cudaStream_t *at = &streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            free(stream);
            return cudaSuccess;
        }
    return cudaErrorInvalidResourceHandle;
}

static cudaError_t synchronize(cudaStream_t stream) {
    const cudaError_t error = cudart_check_stream(stream);
    cudart_show_printed();
    return error;
}

CUDART_API cudaStreamCreate(cudaStream_t *out) {
    CUDART_RUN(create_stream(out, 0, LOWEST_PRIORITY));
}

CUDART_API cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
    CUDART_RUN(create_stream(out, flags, LOWEST_PRIORITY));
}

CUDART_API cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
    CUDART_RUN(create_stream(out, flags, priority));
}

CUDART_API cudaStreamDestroy(cudaStream_t stream) {
    CUDART_RUN(destroy_stream(stream));
}

CUDART_API cudaStreamSynchronize(cudaStream_t stream) {
    CUDART_RUN(synchronize(stream));
}
CUDART_ALSO(cudaStreamSynchronize_ptsz, cudaStreamSynchronize)

CUDART_API cudaStreamQuery(cudaStream_t stream) {
    CUDART_RUN(cudart_check_stream(stream));
}
CUDART_ALSO(cudaStreamQuery_ptsz, cudaStreamQuery)

CUDART_API cudaDeviceSynchronize(void) {
    CUDART_RUN(synchronize(NULL));
}

static cudaError_t wait_in(cudaStream_t stream, cudaEvent_t event) {
    cudaError_t error = check_event(event);
    if (error == cudaSuccess)
        error = cudart_check_stream(stream);
    if (error == cudaSuccess)
        (void)cudart_capture_wait(stream, event);
    return error;
}

CUDART_API cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)flags;
    CUDART_RUN(wait_in(stream, event));
}
CUDART_ALSO(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent)

static cudaError_t stream_fields(cudaStream_t stream, unsigned *flags, int *priority,
                                 unsigned long long *id) {
    const cudaError_t error = cudart_check_stream(stream);
    if (error != cudaSuccess)
        return error;
    const bool predefined = is_predefined(stream);
    if (flags)
        *flags = predefined ? 0 : stream->flags;
    if (priority)
        *priority = predefined ? 0 : stream->priority;
    if (id)
        *id = predefined ? (uintptr_t)stream : stream->id;
    return cudaSuccess;
}

CUDART_API cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) {
    CUDART_RUN(stream_fields(stream, flags, NULL, NULL));
}
CUDART_ALSO(cudaStreamGetFlags_ptsz, cudaStreamGetFlags)

CUDART_API cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    CUDART_RUN(stream_fields(stream, NULL, priority, NULL));
}
CUDART_ALSO(cudaStreamGetPriority_ptsz, cudaStreamGetPriority)

CUDART_API cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
    CUDART_RUN(stream_fields(stream, NULL, NULL, id));
}
CUDART_ALSO(cudaStreamGetId_ptsz, cudaStreamGetId)

static cudaError_t priority_range(int *least, int *greatest) {
    if (least)
        *least = LOWEST_PRIORITY;
    if (greatest)
        *greatest = HIGHEST_PRIORITY;
    return cudaSuccess;
}

CUDART_API cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    CUDART_RUN(priority_range(least, greatest));
}

/* Host functions run without the lock, as they may call the runtime. */

/* ---- capture ---- */

static cudaError_t begin_capture(cudaStream_t stream) {
    const cudaError_t error = cudart_check_stream(stream);
    if (error == cudaSuccess && !stream)
        return cudart_refuse(cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured");
    return error == cudaSuccess ? cudart_begin_capture(stream) : error;
}

static cudaError_t capture_status(cudaStream_t stream, int *status, unsigned long long *id) {
    const cudaError_t error = cudart_check_stream(stream);
    const cudaGraph_t graph = cudart_captured_graph(stream);
    if (error == cudaSuccess)
        *status = stream && graph;
    if (error == cudaSuccess && id && graph)
        *id = (uintptr_t)graph;
    return error;
}

CUDART_API cudaStreamBeginCapture(cudaStream_t stream, int mode) {
    (void)mode;
    CUDART_RUN(begin_capture(stream));
}
CUDART_ALSO(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture)

CUDART_API cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    CUDART_RUN(cudart_end_capture(stream, graph));
}
CUDART_ALSO(cudaStreamEndCapture_ptsz, cudaStreamEndCapture)

CUDART_API cudaStreamIsCapturing(cudaStream_t stream, int *status) {
    CUDART_RUN(capture_status(stream, status, NULL));
}
CUDART_ALSO(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing)

CUDART_API cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id,
                                    cudaGraph_t *graph, const cudaGraphNode_t **needs, const void **data,
                                    size_t *count) {
    if (graph || needs || data || count)
        CUDART_RUN(
            cudart_refuse(cudaErrorNotSupported, "the graph of a capture is not given before its end"));
    CUDART_RUN(capture_status(stream, status, id));
}
CUDART_ALSO(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo)

CUDART_API cudaThreadExchangeStreamCaptureMode(int *mode) {
    static _Thread_local int current;
    const int before = current;
    current = *mode;
    *mode = before;
    CUDART_RUN(cudaSuccess);
}

/* ---- host functions ---- */

static cudaError_t begin_host_call(cudaStream_t stream) {
    CUDART_RUN(cudart_check_stream(stream));
}

/* Whether a graph calls the function later. */
static bool captures_host_call(cudaStream_t stream, cudaHostFn_t function, void *user_data,
                               cudaError_t *error) {
    const cudart_work work = {.type = cudaGraphNodeTypeHost, .host = {function, user_data}};
    cudart_lock(true);
    const bool captured = cudart_capture(stream, &work, error);
    cudart_lock(false);
    return captured;
}

CUDART_API cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user_data) {
    cudaError_t error = begin_host_call(stream);
    if (error == cudaSuccess && !captures_host_call(stream, function, user_data, &error))
        function(user_data);
    return error;
}
CUDART_ALSO(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc)

CUDART_API cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *user_data,
                                 unsigned flags) {
    (void)flags;
    const cudaError_t error = begin_host_call(stream);
    if (error == cudaSuccess)
        callback(stream, cudaSuccess, user_data);
    return error;
}
CUDART_ALSO(cudaStreamAddCallback_ptsz, cudaStreamAddCallback)

/* ---- events ---- */

static cudaError_t create_event(cudaEvent_t *out, unsigned flags) {
    cudaEvent_t event = calloc(1, sizeof *event);
    if (!event)
        return cudaErrorMemoryAllocation;
    *event = (struct cudart_event){.next = events, .flags = flags};
    events = *out = event;
    return cudaSuccess;
}

static cudaError_t destroy_event(cudaEvent_t event) {
    for (cudaEvent_t *at = &events; *at; at = &(*at)->next)
        if (*at == event) {
            *at = event->next;
            free(event);
            return cudaSuccess;
        }
    return cudaErrorInvalidResourceHandle;
}

static uint64_t now(void) {
    struct timespec t;
    if (!cudart.wall)
        return cudart.clock;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
    cudaError_t error = check_event(event);
    if (error == cudaSuccess)
        error = cudart_check_stream(stream);
    if (error != cudaSuccess || cudart_capture_record(stream, event))
        return error;
    event->recorded = true;
    event->nanoseconds = now();
    return cudaSuccess;
}

static cudaError_t elapsed(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    cudaError_t error = check_event(start);
    if (error == cudaSuccess)
        error = check_event(end);
    if (error != cudaSuccess)
        return error;
    if (!start->recorded || !end->recorded || (start->flags | end->flags) & DISABLE_TIMING)
        return cudart_refuse(cudaErrorInvalidResourceHandle,
                             "cudaEventElapsedTime: an event is not recorded, or was created without timing");
    cudart.times_read = true;
    *milliseconds = (float)((double)(int64_t)(end->nanoseconds - start->nanoseconds) * 1e-6);
    return cudaSuccess;
}

static cudaError_t wait_for(cudaEvent_t event) {
    cudart_show_printed();
    return check_event(event);
}

CUDART_API cudaEventCreate(cudaEvent_t *out) {
    CUDART_RUN(create_event(out, 0));
}

CUDART_API cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
    CUDART_RUN(create_event(out, flags));
}

CUDART_API cudaEventDestroy(cudaEvent_t event) {
    CUDART_RUN(destroy_event(event));
}

CUDART_API cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    CUDART_RUN(record(event, stream));
}
CUDART_ALSO(cudaEventRecord_ptsz, cudaEventRecord)

CUDART_API cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    (void)flags;
    CUDART_RUN(record(event, stream));
}
CUDART_ALSO(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags)

CUDART_API cudaEventSynchronize(cudaEvent_t event) {
    CUDART_RUN(wait_for(event));
}

CUDART_API cudaEventQuery(cudaEvent_t event) {
    CUDART_RUN(check_event(event));
}

CUDART_API cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    CUDART_RUN(elapsed(milliseconds, start, end));
}
