/* Streams and events of the fake driver, the captures of streams into graphs, and what graphs own. */
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"

static bool is_default(gr_cu_stream stream) {
    return stream == NULL || stream == GR_CU_STREAM_LEGACY;
}

/* The graph that some stream captures into and that the legacy stream would have to be ordered with. */
static object *implicit_capture(void) {
    object *o = state.objects;
    while (o && !(o->kind == STREAM && o->context == top() && o->graph && o->blocking))
        o = o->next;
    return o ? o->graph : NULL;
}

gr_cu_result find_stream(gr_cu_stream handle, object **out) {
    *out = NULL;
    if (!is_default(handle)) {
        *out = known(STREAM, handle);
        return *out ? GR_CU_SUCCESS : INVALID_HANDLE;
    }
    object *graph = implicit_capture();
    if (!graph)
        return GR_CU_SUCCESS;
    graph->invalidated = true;
    return CAPTURE_IMPLICIT;
}

bool forbidden(void) {
    bool found = false;
    for (object *o = state.objects; o; o = o->next) {
        if (o->kind != GRAPH || !o->by || thread.mode == GR_CU_CAPTURE_RELAXED)
            continue;
        const bool stands = o->by == &thread
                                ? o->mode != GR_CU_CAPTURE_RELAXED
                                : o->mode == GR_CU_CAPTURE_GLOBAL && thread.mode == GR_CU_CAPTURE_GLOBAL;
        o->invalidated |= stands;
        found |= stands;
    }
    return found;
}

gr_cu_result spoil(object *graph, gr_cu_result result) {
    graph->invalidated = true;
    return result;
}

/* ---- streams ---- */

gr_cu_result cuStreamCreate(gr_cu_stream *out, unsigned flags) {
    gr_cu_result result = begin(S_cuStreamCreate, CONTEXT);
    if (result == GR_CU_SUCCESS && flags != 0 && flags != GR_CU_STREAM_NON_BLOCKING)
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *stream = make(STREAM);
    stream->lane = 16 + ++state.last_lane;
    stream->blocking = flags == 0;
    *out = (gr_cu_stream)stream;
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuStreamDestroy_v2(gr_cu_stream stream) {
    return destroy_handle(S_cuStreamDestroy_v2, STREAM, stream);
}

gr_cu_result cuStreamGetId(gr_cu_stream handle, unsigned long long *id) {
    gr_cu_result result = begin(S_cuStreamGetId, CONTEXT);
    const object *stream = result == GR_CU_SUCCESS && !is_default(handle) ? known(STREAM, handle) : NULL;
    if (result == GR_CU_SUCCESS && !is_default(handle) && !stream)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS && stream && stream->graph) /* as the driver has it (H200, 580) */
        result = spoil(stream->graph, CAPTURE_UNSUPPORTED);
    if (result == GR_CU_SUCCESS)
        *id = stream ? stream->lane : 1;
    return end(result);
}

/* Of a stream of any context, whichever is current. */
gr_cu_result cuStreamGetCtx(gr_cu_stream handle, gr_cu_context *out) {
    gr_cu_result result = begin(S_cuStreamGetCtx, CONTEXT);
    const object *found = NULL;
    for (const object *o = state.objects; o && result == GR_CU_SUCCESS; o = o->next)
        if (o->kind == STREAM && o == (const object *)handle)
            found = o;
    if (result == GR_CU_SUCCESS && !found)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS)
        *out = found->context;
    return end(result);
}

/* Pools give back what they hold beyond their threshold whenever somebody waits. */
static void settle(void) {
    for (object *o = state.objects; o; o = o->next)
        if (o->kind == POOL && o->context == top())
            trim(o, o->threshold);
}

gr_cu_result cuStreamSynchronize(gr_cu_stream handle) {
    gr_cu_result result = begin(S_cuStreamSynchronize, CONTEXT);
    object *stream = NULL;
    if (result == GR_CU_SUCCESS)
        result = find_stream(handle, &stream);
    if (result == GR_CU_SUCCESS && stream && stream->graph)
        result = spoil(stream->graph, CAPTURE_UNSUPPORTED);
    if (result == GR_CU_SUCCESS && forbidden())
        result = CAPTURE_UNSUPPORTED;
    if (result == GR_CU_SUCCESS)
        result = wait_for(stream);
    if (result == GR_CU_SUCCESS)
        settle();
    return end(result);
}

/* ---- events ---- */

gr_cu_result cuEventCreate(gr_cu_event *event, unsigned flags) {
    gr_cu_result result = begin(S_cuEventCreate, CONTEXT);
    if (result == GR_CU_SUCCESS && flags != 0 && flags != GR_CU_EVENT_NO_TIMING)
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        *event = (gr_cu_event)make(EVENT);
    return end(result);
}

gr_cu_result cuEventDestroy_v2(gr_cu_event event) {
    return destroy_handle(S_cuEventDestroy_v2, EVENT, event);
}

gr_cu_result cuEventRecord(gr_cu_event handle, gr_cu_stream stream_handle) {
    gr_cu_result result = begin(S_cuEventRecord, CONTEXT);
    object *stream = NULL, *event = result == GR_CU_SUCCESS ? known(EVENT, handle) : NULL;
    if (result == GR_CU_SUCCESS && !event)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS)
        result = find_stream(stream_handle, &stream);
    if (result != GR_CU_SUCCESS)
        return end(result);
    event->time = -1;
    event->asked = 0;
    event->invalidated = false;
    event->graph = stream ? stream->graph : NULL;
    event->last = state.last_id + 1;
    return end(put(stream, (work){.action = MARK, .on = event->graph ? NULL : event}));
}

/* Whether a stream may wait for an event, and what that does to captures. */
static gr_cu_result join(object *stream, const object *event) {
    object *from = event->graph, *to = stream ? stream->graph : NULL;
    if (event->invalidated)
        return CAPTURED_EVENT;
    if (!from)
        return to && event->last ? spoil(to, CAPTURE_ISOLATION) : GR_CU_SUCCESS;
    if (from->invalidated)
        return CAPTURE_INVALIDATED;
    if (!stream)
        return spoil(from, CAPTURE_IMPLICIT);
    if (to && to != from) {
        spoil(to, CAPTURE_MERGE);
        return spoil(from, CAPTURE_MERGE);
    }
    stream->graph = from;
    return GR_CU_SUCCESS;
}

gr_cu_result cuStreamWaitEvent(gr_cu_stream stream_handle, gr_cu_event handle, unsigned flags) {
    gr_cu_result result = begin(S_cuStreamWaitEvent, CONTEXT);
    object *stream = NULL;
    const object *event = result == GR_CU_SUCCESS ? known(EVENT, handle) : NULL;
    if (result == GR_CU_SUCCESS && (flags != 0 || !event))
        result = INVALID_VALUE;
    if (result == GR_CU_SUCCESS)
        result = find_stream(stream_handle, &stream);
    if (result == GR_CU_SUCCESS)
        result = join(stream, event);
    if (result == GR_CU_SUCCESS && event->last)
        result = put(stream, (work){.action = MARK, .after = event->last});
    return end(result);
}

/* An event that may be asked for; one that a capture recorded never happens. */
static gr_cu_result find_event(enum symbol symbol, gr_cu_event handle, object **event) {
    gr_cu_result result = begin(symbol, SAFE);
    *event = result == GR_CU_SUCCESS ? known(EVENT, handle) : NULL;
    if (result == GR_CU_SUCCESS && !*event)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS && (*event)->graph)
        return spoil((*event)->graph, CAPTURED_EVENT);
    return result == GR_CU_SUCCESS && (*event)->invalidated ? CAPTURED_EVENT : result;
}

/* Not ready when it is asked for the first time. */
gr_cu_result cuEventQuery(gr_cu_event handle) {
    object *event;
    gr_cu_result result = find_event(S_cuEventQuery, handle, &event);
    if (result != GR_CU_SUCCESS || is_done(event->last))
        return end(result);
    if (event->asked++ == 0)
        return end(NOT_READY);
    run_until(event->last);
    return end(top()->sticky);
}

gr_cu_result cuEventSynchronize(gr_cu_event handle) {
    object *event;
    gr_cu_result result = find_event(S_cuEventSynchronize, handle, &event);
    if (result != GR_CU_SUCCESS)
        return end(result);
    run_until(event->last);
    settle();
    return end(top()->sticky);
}

gr_cu_result cuEventElapsedTime(float *milliseconds, gr_cu_event start_handle, gr_cu_event stop_handle) {
    gr_cu_result result = begin(S_cuEventElapsedTime, CONTEXT);
    if (result != GR_CU_SUCCESS)
        return end(result);
    const object *start = known(EVENT, start_handle), *stop = known(EVENT, stop_handle);
    if (!start || !stop || start->last == 0 || stop->last == 0)
        return end(INVALID_HANDLE);
    if (start->time < 0 || stop->time < 0)
        return end(NOT_READY);
    *milliseconds = (float)((stop->time - start->time) / 1000.0);
    return end(GR_CU_SUCCESS);
}

/* ---- captures ---- */

gr_cu_result cuStreamBeginCapture_v2(gr_cu_stream handle, int mode) {
    gr_cu_result result = begin(S_cuStreamBeginCapture_v2, CONTEXT);
    object *stream = result == GR_CU_SUCCESS && !is_default(handle) ? known(STREAM, handle) : NULL;
    if (result == GR_CU_SUCCESS && !stream)
        result = CAPTURE_UNSUPPORTED;
    if (result == GR_CU_SUCCESS &&
        (stream->graph || mode < GR_CU_CAPTURE_GLOBAL || mode > GR_CU_CAPTURE_RELAXED))
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *graph = stream->graph = make(GRAPH);
    graph->lane = stream->lane;
    graph->mode = mode;
    graph->by = &thread;
    graph->capture = ++state.last_id;
    return end(GR_CU_SUCCESS);
}

/* Whether each stream that joined the capture is waited for by the one in which it began. */
static bool all_joined(const object *graph) {
    const size_t count = graph->node_count;
    size_t end_of_origin = count;
    while (end_of_origin > 0 && graph->nodes[end_of_origin - 1].lane != graph->lane)
        end_of_origin--;
    work **nodes = malloc((count + 1) * sizeof(work *));
    bool *marked = calloc(count + 1, sizeof *marked);
    if (!nodes || !marked)
        abort();
    for (size_t i = 0; i < count; i++)
        nodes[i] = &graph->nodes[i];
    if (end_of_origin > 0)
        mark_before(nodes, end_of_origin, marked);
    bool joined = true;
    for (size_t i = 0; i < count; i++)
        joined &= marked[i];
    free(nodes);
    free(marked);
    return joined;
}

static gr_cu_result end_of_capture(const object *stream) {
    object *graph = stream->graph;
    if (graph->lane != stream->lane)
        return spoil(graph, CAPTURE_UNMATCHED);
    if (graph->mode != GR_CU_CAPTURE_RELAXED && graph->by != &thread)
        return spoil(graph, CAPTURE_WRONG_THREAD);
    if (graph->invalidated)
        return CAPTURE_INVALIDATED;
    return all_joined(graph) ? GR_CU_SUCCESS : CAPTURE_UNJOINED;
}

gr_cu_result cuStreamEndCapture(gr_cu_stream handle, gr_cu_graph *out) {
    gr_cu_result result = begin(S_cuStreamEndCapture, CONTEXT);
    const object *stream = is_default(handle) ? NULL : known(STREAM, handle);
    object *graph = stream ? stream->graph : NULL;
    *out = NULL;
    if (!graph)
        return end(INVALID_HANDLE);
    if (result == GR_CU_SUCCESS)
        result = end_of_capture(stream);
    if (result == CAPTURE_UNMATCHED || result == CAPTURE_WRONG_THREAD)
        return end(result);
    for (object *o = state.objects; o; o = o->next) {
        if (o->graph != graph)
            continue;
        o->graph = NULL;
        o->invalidated |= o->kind == EVENT;
    }
    graph->by = NULL;
    if (result == GR_CU_SUCCESS)
        *out = (gr_cu_graph)graph;
    else
        destroy(graph); /* a failed capture leaves none behind */
    return end(result);
}

/* The handle of the last node of a stream in its graph, which is a number of the fake's; NULL for none. */
static gr_cu_graph_node last_node(const object *graph, uint64_t lane) {
    size_t count = graph->node_count;
    while (count > 0 && graph->nodes[count - 1].lane != lane)
        count--;
    return (gr_cu_graph_node)(uintptr_t)(count > 0 ? graph->capture << 32 | count : 0);
}

gr_cu_result cuStreamGetCaptureInfo_v2(gr_cu_stream handle, int *status, uint64_t *id, gr_cu_graph *graph,
                                       const gr_cu_graph_node **last, size_t *count) {
    gr_cu_result result = begin(S_cuStreamGetCaptureInfo_v2, CONTEXT);
    const object *stream = result == GR_CU_SUCCESS && !is_default(handle) ? known(STREAM, handle) : NULL;
    if (result == GR_CU_SUCCESS && !is_default(handle) && !stream)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS && is_default(handle) && implicit_capture())
        result = CAPTURE_IMPLICIT;
    static _Thread_local gr_cu_graph_node node;
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *into = stream ? stream->graph : NULL;
    *status = !into               ? GR_CU_CAPTURE_NONE
              : into->invalidated ? GR_CU_CAPTURE_INVALIDATED
                                  : GR_CU_CAPTURE_ACTIVE;
    if (id && *status == GR_CU_CAPTURE_ACTIVE)
        *id = into->capture;
    if (graph && *status == GR_CU_CAPTURE_ACTIVE)
        *graph = (gr_cu_graph)into;
    if (last && count && *status == GR_CU_CAPTURE_ACTIVE) {
        node = last_node(into, stream->lane);
        *last = &node;
        *count = node != NULL;
    }
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuThreadExchangeStreamCaptureMode(int *mode) {
    gr_cu_result result = begin(S_cuThreadExchangeStreamCaptureMode, INITIALISED);
    if (result == GR_CU_SUCCESS && (*mode < GR_CU_CAPTURE_GLOBAL || *mode > GR_CU_CAPTURE_RELAXED))
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    const int before = thread.mode;
    thread.mode = *mode;
    *mode = before;
    return end(GR_CU_SUCCESS);
}

/* ---- graphs, and what they own ---- */

static void hold_owner(object *graph, object *owner, unsigned count) {
    hold *grown = realloc(graph->holds, (graph->hold_count + 1) * sizeof *grown);
    if (!grown)
        abort();
    graph->holds = grown;
    graph->holds[graph->hold_count++] = (hold){owner, count};
}

static void drop(object *owner, unsigned count) {
    owner->references -= count;
    if (owner->references == 0)
        destroy(owner); /* which has `end` call its destructor */
}

void drop_holds(object *graph) {
    for (size_t i = 0; i < graph->hold_count; i++)
        drop(graph->holds[i].owner, graph->holds[i].count);
    free(graph->holds);
    graph->holds = NULL;
    graph->hold_count = 0;
}

gr_cu_result cuUserObjectCreate(gr_cu_owner *out, void *owned, void (*release)(void *), unsigned references,
                                unsigned flags) {
    gr_cu_result result = begin(S_cuUserObjectCreate, CONTEXT);
    if (result == GR_CU_SUCCESS && (!release || references == 0 || flags != GR_CU_OWNER_NO_SYNC))
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    object *owner = make(OWNER);
    owner->owned = owned;
    owner->release = release;
    owner->references = references;
    *out = (gr_cu_owner)owner;
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuGraphRetainUserObject(gr_cu_graph handle, gr_cu_owner owner_handle, unsigned count,
                                     unsigned flags) {
    gr_cu_result result = begin(S_cuGraphRetainUserObject, CONTEXT);
    object *graph = result == GR_CU_SUCCESS ? known(GRAPH, handle) : NULL;
    object *owner = result == GR_CU_SUCCESS ? known(OWNER, owner_handle) : NULL;
    if (result == GR_CU_SUCCESS && (!graph || !owner || count == 0 || flags > GR_CU_GRAPH_TAKES_REFERENCES ||
                                    (flags && count > owner->references)))
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    owner->references += flags == GR_CU_GRAPH_TAKES_REFERENCES ? 0 : count;
    hold_owner(graph, owner, count);
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuGraphInstantiateWithFlags(gr_cu_graph_exec *out, gr_cu_graph handle,
                                         unsigned long long flags) {
    gr_cu_result result = begin(S_cuGraphInstantiateWithFlags, CONTEXT);
    const object *graph = result == GR_CU_SUCCESS ? known(GRAPH, handle) : NULL;
    if (result == GR_CU_SUCCESS && (!graph || graph->by || flags != 0))
        result = INVALID_VALUE;
    if (result != GR_CU_SUCCESS)
        return end(result);
    const size_t bytes = graph->node_count * sizeof *graph->nodes;
    object *exec = make(GRAPH_EXEC);
    exec->nodes = malloc(bytes ? bytes : 1);
    if (!exec->nodes)
        abort();
    if (bytes)
        memcpy(exec->nodes, graph->nodes, bytes);
    exec->node_count = graph->node_count;
    for (size_t i = 0; i < graph->hold_count; i++) {
        graph->holds[i].owner->references += graph->holds[i].count;
        hold_owner(exec, graph->holds[i].owner, graph->holds[i].count);
    }
    *out = (gr_cu_graph_exec)exec;
    return end(GR_CU_SUCCESS);
}

gr_cu_result cuGraphLaunch(gr_cu_graph_exec handle, gr_cu_stream stream_handle) {
    gr_cu_result result = begin(S_cuGraphLaunch, CONTEXT);
    object *stream = NULL, *exec = result == GR_CU_SUCCESS ? known(GRAPH_EXEC, handle) : NULL;
    if (result == GR_CU_SUCCESS && !exec)
        result = INVALID_HANDLE;
    if (result == GR_CU_SUCCESS)
        result = find_stream(stream_handle, &stream);
    if (result == GR_CU_SUCCESS && stream && stream->graph)
        result = spoil(stream->graph, CAPTURE_UNSUPPORTED);
    if (result != GR_CU_SUCCESS)
        return end(result);
    /* Launches of one graph follow each other, whatever their streams. */
    work item = {.action = RUN_GRAPH, .on = exec, .after = exec->last, .launch.n = exec->launched++};
    exec->last = state.last_id + 1;
    return end(put(stream, item));
}

gr_cu_result cuGraphDestroy(gr_cu_graph graph) {
    return destroy_handle(S_cuGraphDestroy, GRAPH, graph);
}

gr_cu_result cuGraphExecDestroy(gr_cu_graph_exec exec) {
    return destroy_handle(S_cuGraphExecDestroy, GRAPH_EXEC, exec);
}
