/* The streams' work: what is put into them, in which order it may run, and when it does. */
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"

/* Of two works, the first put in before the second: whether the second has to wait for the first. */
static bool precedes(const work *first, const work *second) {
    if (first->id == second->after)
        return true;
    if (first->context != second->context)
        return false;
    return first->lane == second->lane || (first->lane == 0 && second->blocking) ||
           (second->lane == 0 && first->blocking);
}

void mark_before(work *const *works, size_t count, bool *marked) {
    memset(marked, 0, count * sizeof *marked);
    marked[count - 1] = true;
    for (size_t i = count - 1; i-- > 0;)
        for (size_t k = i + 1; k < count && !marked[i]; k++)
            marked[i] = marked[k] && precedes(works[i], works[k]);
}

static unsigned draw(unsigned below) {
    state.order = state.order * 1664525U + 1013904223U;
    if (state.order == 0) /* which means something else */
        state.order = 1;
    return (state.order >> 8) % below;
}

static bool copy(const work *w) {
    void *memory = reach(w->context, w->device, w->bytes);
    if (memory && w->action == COPY_IN)
        memcpy(memory, w->host, w->bytes);
    if (memory && w->action == COPY_OUT)
        memcpy(w->host, memory, w->bytes);
    if (memory && w->action == FILL)
        memset(memory, w->value, w->bytes);
    return memory != NULL;
}

static void release(object *memory, uint64_t id) {
    memory->live = false;
    memset(memory->memory, 0x5a, memory->bytes);
    if (!memory->pool && memory->freed_by == id) /* its pool is gone already */
        destroy(memory);
}

static void run(const work *w) {
    if (w->context->sticky != GR_CU_SUCCESS)
        return;
    switch (w->action) {
    case RUN_KERNEL:
        run_kernel(w->context, &w->launch);
        break;
    case RUN_GRAPH:
        if (w->on) {
            w->context->clock += fake_cuda_graph_microseconds((unsigned)w->launch.n);
            run_nodes(w->on);
        }
        break;
    case COPY_IN:
    case COPY_OUT:
    case FILL:
        if (!copy(w))
            w->context->sticky = ILLEGAL_ADDRESS;
        break;
    case ALLOCATE:
        if (w->on) {
            w->on->live = true;
            memset(w->on->memory, 0xa5, w->on->bytes);
        }
        break;
    case RELEASE:
        if (w->on)
            release(w->on, w->id);
        break;
    case MARK:
        if (w->on && w->on->last == w->id)
            w->on->time = w->context->clock;
    }
}

static bool is_ready(work *const *works, size_t place) {
    for (size_t i = 0; i < place; i++)
        if (precedes(works[i], works[place]))
            return false;
    return true;
}

/* Nodes whose order the graph leaves open run the other way round than they were put in, or as the seed says.
 */
void run_nodes(const object *exec) {
    const size_t count = exec->node_count;
    work **left = malloc((count + 1) * sizeof(work *));
    if (!left)
        abort();
    for (size_t i = 0; i < count; i++)
        left[i] = &exec->nodes[i];
    for (size_t many = count; many > 0; many--) {
        size_t next = state.order ? draw((unsigned)many) : many - 1;
        while (!is_ready(left, next))
            next--;
        run(left[next]);
        memmove(&left[next], &left[next + 1], (many - next - 1) * sizeof(work *));
    }
    free(left);
}

static void run_at(size_t place) {
    work *w = state.pending[place];
    state.pending_count--;
    memmove(&state.pending[place], &state.pending[place + 1], (state.pending_count - place) * sizeof(work *));
    run(w);
    if (w->staged)
        free(w->host);
    free(w);
}

/* Runs one of the works that have to come before the one at a place, or that one. */
static void run_towards(size_t place) {
    bool marked[MAX_PENDING];
    mark_before(state.pending, place + 1, marked);
    size_t first = 0;
    while (!marked[first])
        first++;
    run_at(first);
}

static size_t place_of(uint64_t id) {
    size_t place = 0;
    while (place < state.pending_count && state.pending[place]->id != id)
        place++;
    return place;
}

bool is_done(uint64_t id) {
    return place_of(id) == state.pending_count;
}

void run_until(uint64_t id) {
    for (size_t place; (place = place_of(id)) < state.pending_count;)
        run_towards(state.order ? draw((unsigned)state.pending_count) : place);
}

gr_cu_result wait_for(const object *stream) {
    const uint64_t lane = stream ? stream->lane : 0;
    context *in = top();
    for (size_t i = state.pending_count; i-- > 0;) {
        const work *w = state.pending[i];
        /* The legacy stream is done when the streams are that it waits for. */
        if (w->context == in && (w->lane == lane || (!stream && w->blocking))) {
            run_until(w->id);
            i = state.pending_count;
        }
    }
    return in->sticky;
}

void drain(const context *of) {
    for (size_t i = state.pending_count; i-- > 0;) {
        if (state.pending[i]->context == of) {
            run_until(state.pending[i]->id);
            i = state.pending_count;
        }
    }
}

void forget(const object *dead) {
    for (size_t i = 0; i < state.pending_count; i++)
        if (state.pending[i]->on == dead)
            state.pending[i]->on = NULL;
}

gr_cu_result put(object *stream, work item) {
    item.id = ++state.last_id;
    item.context = top();
    item.lane = stream ? stream->lane : 0;
    item.blocking = stream && stream->blocking;
    if (stream && stream->graph) {
        object *graph = stream->graph;
        if (graph->invalidated)
            return CAPTURE_INVALIDATED;
        work *grown = realloc(graph->nodes, (graph->node_count + 1) * sizeof *grown);
        if (!grown)
            abort();
        graph->nodes = grown;
        graph->nodes[graph->node_count++] = item;
        return GR_CU_SUCCESS;
    }
    work *kept = malloc(sizeof *kept);
    if (!kept)
        abort();
    *kept = item;
    if (state.pending_count == MAX_PENDING)
        run_at(0); /* nothing comes before it */
    state.pending[state.pending_count++] = kept;
    while (state.order && state.pending_count && draw(3) == 0)
        run_towards(draw((unsigned)state.pending_count));
    return GR_CU_SUCCESS;
}
