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

/* Detaches all streams and events from a graph. */
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

cudaError_t cudart_begin_capture(cudaStream_t stream) {
    cudaGraph_t graph;
    const cudaError_t error = find(stream) ? cudaErrorIllegalState : cudart_graph_create(&graph);
    if (error != cudaSuccess)
        return error;
    capture *c = add(stream, graph);
    if (!c)
        return cudaErrorMemoryAllocation;
    c->began = true;
    return cudaSuccess;
}

cudaError_t cudart_end_capture(cudaStream_t stream, cudaGraph_t *graph) {
    const capture *c = find(stream);
    if (!c || !c->began || !graph)
        return c && graph ? cudaErrorStreamCaptureUnmatched : cudaErrorIllegalState;
    *graph = c->graph;
    remove_graph(c->graph);
    return cudaSuccess;
}

cudaGraph_t cudart_captured_graph(cudaStream_t stream) {
    const capture *c = find(stream);
    return c ? c->graph : NULL;
}
