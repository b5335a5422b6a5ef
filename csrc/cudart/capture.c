/* Stream capture: a stream that captures adds its work to a graph. Another stream joins by waiting for an
   event that the first one has recorded. */
#include <stdlib.h>

#include "cudart/cudart.h"

enum { MAX_TAILS = 64 };

/* A stream that captures, or an event that it has recorded. */
typedef struct capture {
    struct capture *next;
    const void *owner; /* the stream or the event */
    cudaGraph_t graph;
    cudaGraphNode_t tails[MAX_TAILS]; /* what the next work depends on */
    size_t tail_count;
    bool began; /* by cudaStreamBeginCapture, which cudaStreamEndCapture ends */
} capture;

static capture *captures;

static capture *find(const void *owner) {
    capture *each = captures;
    while (each && each->owner != owner)
        each = each->next;
    return each;
}

static capture *add(const void *owner, cudaGraph_t graph) {
    capture *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    *made = (capture){.next = captures, .owner = owner, .graph = graph};
    captures = made;
    return made;
}

static void remove_owner(const void *owner) {
    for (capture **at = &captures; *at; at = &(*at)->next)
        if ((*at)->owner == owner) {
            capture *old = *at;
            *at = old->next;
            free(old);
            return;
        }
}

/* Forgets all streams and events of a graph. */
static void remove_graph(cudaGraph_t graph) {
    for (capture **at = &captures; *at;) {
        capture *old = *at;
        if (old->graph != graph) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        free(old);
    }
}

bool cudart_capture(cudaStream_t stream, const cudart_work *work, cudaError_t *error) {
    capture *c = captures ? find(stream) : NULL;
    if (!c)
        return false;
    cudaGraphNode_t node;
    *error = cudart_graph_add(&node, c->graph, c->tails, c->tail_count, work);
    if (*error == cudaSuccess) {
        c->tails[0] = node;
        c->tail_count = 1;
    }
    return true;
}

/* The tails of one become tails of the other. */
static void join(capture *to, const capture *from) {
    for (size_t i = 0; i < from->tail_count && to->tail_count < MAX_TAILS; i++)
        to->tails[to->tail_count++] = from->tails[i];
}

bool cudart_capture_record(cudaStream_t stream, cudaEvent_t event) {
    const capture *c = captures ? find(stream) : NULL;
    if (captures)
        remove_owner(event);
    if (!c)
        return false;
    capture *kept = add(event, c->graph);
    if (kept)
        join(kept, c);
    return true;
}

bool cudart_capture_wait(cudaStream_t stream, cudaEvent_t event) {
    const capture *recorded = captures ? find(event) : NULL;
    if (!recorded)
        return false;
    capture *c = find(stream);
    if (!c)
        c = add(stream, recorded->graph);
    if (c)
        join(c, recorded);
    return true;
}

static cudaError_t begin(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaError_t error = cudart_check_stream(stream);
    if (error == cudaSuccess && !stream)
        return cudart_refuse(cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured");
    if (error == cudaSuccess && find(stream))
        error = cudaErrorIllegalState;
    if (error == cudaSuccess)
        error = cudart_graph_create(&graph);
    if (error != cudaSuccess)
        return error;
    capture *c = add(stream, graph);
    if (!c)
        return cudaErrorMemoryAllocation;
    c->began = true;
    return cudaSuccess;
}

static cudaError_t end(cudaStream_t stream, cudaGraph_t *graph) {
    const capture *c = find(stream);
    if (!c || !c->began || !graph)
        return c && graph ? cudaErrorStreamCaptureUnmatched : cudaErrorIllegalState;
    *graph = c->graph;
    remove_graph(c->graph);
    return cudaSuccess;
}

static cudaError_t status_of(cudaStream_t stream, int *status, unsigned long long *id) {
    const cudaError_t error = cudart_check_stream(stream);
    const capture *c = find(stream);
    if (error == cudaSuccess)
        *status = stream && c;
    if (error == cudaSuccess && id && c)
        *id = (uintptr_t)c->graph;
    return error;
}

CUDART_API cudaStreamBeginCapture(cudaStream_t stream, int mode) {
    (void)mode;
    CUDART_RUN(begin(stream));
}
CUDART_ALSO(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture)

CUDART_API cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    CUDART_RUN(end(stream, graph));
}
CUDART_ALSO(cudaStreamEndCapture_ptsz, cudaStreamEndCapture)

CUDART_API cudaStreamIsCapturing(cudaStream_t stream, int *status) {
    CUDART_RUN(status_of(stream, status, NULL));
}
CUDART_ALSO(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing)

CUDART_API cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id,
                                    cudaGraph_t *graph, const cudaGraphNode_t **needs, const void **data,
                                    size_t *count) {
    if (graph || needs || data || count)
        CUDART_RUN(
            cudart_refuse(cudaErrorNotSupported, "the graph of a capture is not given before its end"));
    CUDART_RUN(status_of(stream, status, id));
}
CUDART_ALSO(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo)

CUDART_API cudaThreadExchangeStreamCaptureMode(int *mode) {
    static _Thread_local int current;
    const int before = current;
    current = *mode;
    *mode = before;
    CUDART_RUN(cudaSuccess);
}
