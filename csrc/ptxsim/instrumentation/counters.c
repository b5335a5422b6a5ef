/* Counts issues, divergence, wavefronts and sectors per instruction and per round. */
#include "instrumentation/counters.h"

#include <stdlib.h>
#include <string.h>

#include "diagnostic.h"
#include "instrumentation/transactions.h"

/* State of one resident block; a worker reuses it for consecutive blocks. */
typedef struct counter_state {
    ptx_counters *owner;
    const ptx_instr *code;
    ptx_counter *instructions;
    ptx_round rounds[PTX_MAX_ROUNDS];
    size_t round_count;
    size_t round;                         /* index of the current round */
    uint32_t alive;                       /* mask of the warps that were alive at its start */
    uint32_t worked_lanes[PTX_MAX_WARPS]; /* mask of the lanes that worked in this round, per warp */
    uint32_t lanes[PTX_MAX_WARPS];        /* mask of the existing lanes, per warp */
    bool in_timeline;                     /* the block is the timeline's */
    uint8_t
        ways[PTX_TIMELINE_STRIDE]; /* degree of each thread's worst bank conflict, for the timeline only */
} counter_state;

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    ptx_counters *counters = (ptx_counters *)self;
    counter_state *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->owner = counters;
    c->code = worker->kernel->code;
    c->instructions = calloc(counters->kernel->count, sizeof *c->instructions);
    if (!c->instructions) {
        free(c);
        return NULL;
    }
    return c;
}

static void add_round(ptx_round *to, const ptx_round *from) {
    to->blocks += from->blocks;
    to->warps += from->warps;
    to->working_warps += from->working_warps;
    to->lanes += from->lanes;
    to->working_lanes += from->working_lanes;
    to->shared_wavefronts += from->shared_wavefronts;
    to->shared_ideal += from->shared_ideal;
}

static void add_instruction(ptx_counter *to, const ptx_counter *from) {
    for (unsigned i = 0; i <= PTX_LANES; i++)
        to->lanes[i] += from->lanes[i];
    to->divergent += from->divergent;
    to->shared_wavefronts += from->shared_wavefronts;
    to->shared_ideal += from->shared_ideal;
    to->global_requests += from->global_requests;
    to->global_sectors += from->global_sectors;
    to->global_ideal += from->global_ideal;
    to->copied += from->copied;
}

static void detach(ptx_observer *self, void *state) {
    ptx_counters *counters = (ptx_counters *)self;
    counter_state *c = state;
    for (size_t i = 0; i < counters->kernel->count; i++)
        add_instruction(&counters->instructions[i], &c->instructions[i]);
    for (size_t i = 0; i < c->round_count; i++)
        add_round(&counters->rounds[i], &c->rounds[i]);
    if (c->round_count > counters->round_count)
        counters->round_count = c->round_count;
    free(c->instructions);
    free(c);
}

static void begin_round(counter_state *c, uint32_t alive) {
    c->alive = alive;
    memset(c->worked_lanes, 0, sizeof c->worked_lanes);
    if (c->in_timeline)
        memset(c->ways, 0, sizeof c->ways);
}

static void block_begin(void *state, const ptx_block *block) {
    counter_state *c = state;
    const ptx_worker *worker = block->worker;
    for (unsigned i = 0; i < worker->warp_count; i++)
        c->lanes[i] = block->warps[i].live;
    c->in_timeline = block->number == c->owner->timeline_block;
    if (c->in_timeline)
        c->owner->timeline_threads = worker->run->block_threads;
    c->round = 0;
    begin_round(c, PTX_ALL_LANES >> (PTX_MAX_WARPS - worker->warp_count));
}

/* Writes the current round into the timeline. */
static void update_timeline(const counter_state *c) {
    ptx_counters *to = c->owner;
    uint8_t *row = to->timeline + c->round * PTX_TIMELINE_STRIDE;
    for (unsigned t = 0; t < to->timeline_threads; t++) {
        const unsigned worked_lanes = c->worked_lanes[t / PTX_LANES] >> t % PTX_LANES & 1, ways = c->ways[t];
        const unsigned before = row[t] >> PTX_WAYS;
        row[t] = (uint8_t)((row[t] & (PTX_WORKED | PTX_CONFLICTED)) | (worked_lanes ? PTX_WORKED : 0u) |
                           (ways > 0 ? PTX_CONFLICTED : 0u) | (ways > before ? ways : before) << PTX_WAYS);
    }
    if (to->timeline_rounds <= c->round)
        to->timeline_rounds = c->round + 1;
}

static void end_round(counter_state *c, uint32_t alive) {
    ptx_round *round = &c->rounds[c->round];
    round->blocks++;
    for (uint32_t left = c->alive; left; left &= left - 1) {
        unsigned warp = (unsigned)__builtin_ctz(left);
        round->warps++;
        round->working_warps += c->worked_lanes[warp] != 0;
        round->lanes += ptx_count_lanes(c->lanes[warp]);
        round->working_lanes += ptx_count_lanes(c->worked_lanes[warp]);
    }
    if (c->in_timeline)
        update_timeline(c);
    if (c->round_count <= c->round)
        c->round_count = c->round + 1;
    if (c->round + 1 < PTX_MAX_ROUNDS)
        c->round++;
    begin_round(c, alive);
}

/* A barrier of only some warps does not end a round. */
static void barrier(void *state, const ptx_block *block, uint32_t mask) {
    if (ptx_count_lanes(mask) == block->live_warps)
        end_round(state, mask);
}

static void block_end(void *state, const ptx_block *block) {
    (void)block;
    end_round(state, 0);
}

static void issue(void *state, const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    counter_state *c = state;
    ptx_counter *counter = &c->instructions[in - c->code];
    if (in->kind == PTX_BRANCH) {
        counter->lanes[ptx_count_lanes(warp->active)]++;
        counter->divergent += mask && mask != warp->active;
        return;
    }
    counter->lanes[ptx_count_lanes(mask)]++;
    if (in->collective && in->kind == PTX_RUN && in->effect != PTX_EFFECT_WARP_SYNC)
        c->worked_lanes[warp->index] |= mask;
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    counter_state *c = state;
    ptx_counter *counter = &c->instructions[in - c->code];
    unsigned ideal;
    c->worked_lanes[warp->index] |= access->mask;
    if (access->space == PTX_SPACE_CLUSTER) /* another block's shared memory is not counted */
        return;
    if (access->space != PTX_SPACE_SHARED) {
        counter->global_requests++;
        counter->global_sectors += ptx_global_sectors(access, &ideal);
        counter->global_ideal += ideal;
        return;
    }
    uint8_t ways[PTX_LANES];
    unsigned wavefronts = ptx_shared_wavefronts(access, &ideal, c->in_timeline ? ways : NULL);
    counter->shared_wavefronts += wavefronts;
    counter->shared_ideal += ideal;
    c->rounds[c->round].shared_wavefronts += wavefronts;
    c->rounds[c->round].shared_ideal += ideal;
    for (unsigned i = 0; c->in_timeline && i < PTX_LANES; i++) {
        uint8_t *worst = &c->ways[warp->index * PTX_LANES + i];
        *worst = ways[i] > *worst ? ways[i] : *worst;
    }
}

static void async(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy) {
    counter_state *c = state;
    if (!copy->completed)
        c->worked_lanes[warp->index] |= 1u << copy->lane; /* the issuing lane */
    if (!copy->completed && !copy->multicast_repeat)
        c->instructions[in - c->code].copied += copy->bytes;
}

static const ptx_hooks hooks = {.attach = attach,
                                .detach = detach,
                                .block_begin = block_begin,
                                .block_end = block_end,
                                .issue = issue,
                                .access = on_access,
                                .async = async,
                                .barrier = barrier};

ptx_status ptx_counters_create(const ptx_kernel *kernel, uint64_t timeline_block, ptx_counters **out,
                               ptx_error *error) {
    ptx_counters *counters = calloc(1, sizeof *counters);
    *out = counters;
    if (counters) {
        counters->base.hooks = &hooks;
        counters->kernel = kernel;
        counters->timeline_block = timeline_block;
        counters->instructions = calloc(kernel->count, sizeof *counters->instructions);
        if (timeline_block != UINT64_MAX)
            counters->timeline = calloc(PTX_MAX_ROUNDS, PTX_TIMELINE_STRIDE);
        if (counters->instructions && (counters->timeline || timeline_block == UINT64_MAX))
            return PTX_OK;
    }
    ptx_counters_free(counters);
    *out = NULL;
    return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for counters");
}

void ptx_counters_free(ptx_counters *counters) {
    if (!counters)
        return;
    free(counters->instructions);
    free(counters->timeline);
    free(counters);
}
