/* Vector clocks: how barriers, mbarriers and fences order the accesses of threads and of the async proxy. */
#include "instrumentation/happens_before.h"

#include <stdlib.h>
#include <string.h>

#include "reserve.h"

static unsigned clock_length(const ptx_race_state *c) {
    return c->cluster_threads + PTX_GROUPED_AGENT + 1;
}

static uint32_t *clock_row(const ptx_race_state *c, uint32_t *rows, unsigned warp) {
    return rows + (size_t)warp * clock_length(c);
}

static void join_clock(uint32_t *to, const uint32_t *from, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* ---- lifetime ---- */

bool ptx_hb_open(ptx_race_state *c, bool mbarriers) {
    size_t entries = (size_t)(c->threads / PTX_LANES) * clock_length(c);
    c->cluster = &c->own;
    if (!mbarriers)
        return true;
    c->mbarrier_clocks = calloc(entries, sizeof *c->mbarrier_clocks);
    c->split_clocks = calloc(entries, sizeof *c->split_clocks);
    return c->mbarrier_clocks && c->split_clocks;
}

static void free_mbarriers(ptx_race_state *c) {
    for (size_t i = 0; i < c->mbarrier_count; i++) {
        free(c->mbarriers[i].pending_clock);
        free(c->mbarriers[i].phase_clock);
    }
    c->mbarrier_count = 0;
}

void ptx_hb_close(ptx_race_state *c) {
    free_mbarriers(c);
    free(c->mbarriers);
    free(c->mbarrier_clocks);
    free(c->split_clocks);
}

void ptx_hb_reset(ptx_race_state *c) {
    size_t bytes = (size_t)(c->threads / PTX_LANES) * clock_length(c) * sizeof *c->mbarrier_clocks;
    c->own.now = 0;
    memset(c->warp_clocks, 0, sizeof c->warp_clocks);
    memset(c->arrival_clocks, 0, sizeof c->arrival_clocks);
    memset(c->fenced, 0, sizeof c->fenced);
    memset(c->lane_clocks, 0, sizeof c->lane_clocks);
    memset(c->partial_clock, 0, sizeof c->partial_clock);
    if (c->mbarrier_clocks) {
        memset(c->mbarrier_clocks, 0, bytes);
        memset(c->split_clocks, 0, bytes);
    }
}

void ptx_hb_begin(ptx_race_state *c, const ptx_block *block) {
    const ptx_worker *worker = block->worker;
    c->first_thread = block->rank * c->threads;
    if (block->rank == 0) {
        c->own.now++;
        c->own.mbarrier_count = 0;
    }
    free_mbarriers(c);
    c->begin_clock = c->block_clock = c->cluster_clock = c->cluster->now;
    for (unsigned i = 0; i < worker->warp_count; i++) {
        c->warp_clock[i] = c->begin_clock;
        c->initial_lanes[i] = block->warps[i].live;
        c->split_lanes[i] = 0;
    }
}

/* ---- queries ---- */

static bool acquired(const ptx_race_state *c, unsigned warp, unsigned lane, unsigned thread, uint32_t clock) {
    return clock < clock_row(c, c->mbarrier_clocks, warp)[thread] ||
           ((c->split_lanes[warp] >> lane & 1) && clock < clock_row(c, c->split_clocks, warp)[thread]);
}

bool ptx_happens_before(const ptx_race_state *c, unsigned warp, unsigned lane, unsigned thread,
                        uint32_t clock) {
    unsigned mine = thread - c->first_thread, other = mine / PTX_LANES;
    if (clock < c->begin_clock || c->failed)
        return true;
    if (mine < c->threads) {
        if (clock < c->block_clock || mine == warp * PTX_LANES + lane)
            return true;
        if (other == warp ? ptx_lane_happens_before(c, warp, lane, mine % PTX_LANES, clock)
                          : clock < c->warp_clocks[warp][other])
            return true;
    } else if (thread < c->cluster_threads && clock < c->cluster_clock) {
        return true;
    }
    return c->mbarrier_clocks && acquired(c, warp, lane, thread, clock);
}

/* Joins the complete vector clock of a lane, including its own accesses so far, into `to` (release). */
static void publish_clock(const ptx_race_state *c, unsigned warp, unsigned lane, uint32_t *to) {
    for (unsigned i = 0; i < c->cluster_threads; i++)
        to[i] = c->cluster_clock > to[i] ? c->cluster_clock : to[i];
    uint32_t *block = to + c->first_thread;
    for (unsigned i = 0; i < c->threads; i++) {
        unsigned other = i / PTX_LANES;
        uint32_t clock = c->warp_clocks[warp][other];
        if (other == warp) {
            uint32_t part = c->lane_clocks[warp][lane][i % PTX_LANES];
            clock = part > c->warp_clock[warp] ? part : c->warp_clock[warp];
        }
        clock = clock > c->block_clock ? clock : c->block_clock;
        block[i] = clock > block[i] ? clock : block[i];
    }
    block[warp * PTX_LANES + lane] = c->cluster->now;
    join_clock(to, clock_row(c, c->mbarrier_clocks, warp), clock_length(c));
    if (c->split_lanes[warp] >> lane & 1)
        join_clock(to, clock_row(c, c->split_clocks, warp), clock_length(c));
}

/* ---- barriers of warps and blocks ---- */

/* Replaces the clocks of all participants in `mask` by their join; entries of the participants become
   `now`. */
static void join_all(uint32_t (*clocks)[PTX_LANES], uint32_t mask, uint32_t now) {
    uint32_t row[PTX_LANES] = {0};
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t *of_one = clocks[__builtin_ctz(left)];
        for (unsigned i = 0; i < PTX_LANES; i++)
            row[i] = of_one[i] > row[i] ? of_one[i] : row[i];
    }
    for (uint32_t left = mask; left; left &= left - 1)
        row[__builtin_ctz(left)] = now;
    for (uint32_t left = mask; left; left &= left - 1)
        memcpy(clocks[__builtin_ctz(left)], row, sizeof row);
}

/* A synchronisation of the whole warp gives all lanes the clocks of the lanes that waited separately. */
static void merge_split_lanes(ptx_race_state *c, unsigned warp) {
    if (c->split_lanes[warp])
        join_clock(clock_row(c, c->mbarrier_clocks, warp), clock_row(c, c->split_clocks, warp),
                   clock_length(c));
    c->split_lanes[warp] = 0;
}

void ptx_hb_warp_sync(ptx_race_state *c, const ptx_warp *warp, uint32_t members) {
    unsigned w = warp->index;
    uint32_t now = ++c->cluster->now;
    if ((members & c->initial_lanes[w]) == c->initial_lanes[w]) {
        c->warp_clock[w] = now;
        merge_split_lanes(c, w);
        return;
    }
    c->partial_clock[w] = now;
    join_all(c->lane_clocks[w], members, now);
    if (members & c->split_lanes[w])
        c->split_lanes[w] |= members;
}

/* Joins the clocks that the warps of `mask` acquired from mbarriers. */
static void join_mbarrier_clocks(ptx_race_state *c, uint32_t mask) {
    if (!c->mbarrier_clocks)
        return;
    uint32_t *first = clock_row(c, c->mbarrier_clocks, (unsigned)__builtin_ctz(mask));
    for (uint32_t left = mask; left; left &= left - 1)
        merge_split_lanes(c, (unsigned)__builtin_ctz(left));
    for (uint32_t left = mask; left; left &= left - 1)
        join_clock(first, clock_row(c, c->mbarrier_clocks, (unsigned)__builtin_ctz(left)), clock_length(c));
    for (uint32_t left = mask; left; left &= left - 1)
        join_clock(clock_row(c, c->mbarrier_clocks, (unsigned)__builtin_ctz(left)), first, clock_length(c));
}

/* bar.sync without a thread count also orders the accesses of exited warps; with a count it does not. */
static bool covers_block(const ptx_block *block, uint32_t mask) {
    unsigned warps = (unsigned)__builtin_popcount(mask);
    bool counts = block->warps[__builtin_ctz(mask)].expected != 0;
    return warps == (counts ? block->worker->warp_count : block->live_warps);
}

/* Releases the clock of the arriving warp. */
void ptx_hb_barrier_arrive(ptx_race_state *c, const ptx_warp *warp, uint32_t barrier) {
    uint32_t *arrival_clock = c->arrival_clocks[barrier];
    const uint32_t now = ++c->cluster->now, w = warp->index;
    if (warp->block->barrier_arrivals[barrier] ==
        1u << w) /* the first arrival since the barrier last completed */
        memset(arrival_clock, 0, sizeof c->arrival_clocks[barrier]);
    for (unsigned i = 0; i < PTX_MAX_WARPS; i++) {
        uint32_t clock = c->warp_clocks[w][i] > c->block_clock ? c->warp_clocks[w][i] : c->block_clock;
        arrival_clock[i] = clock > arrival_clock[i] ? clock : arrival_clock[i];
    }
    arrival_clock[w] = now;
}

/* Waiting warps acquire the clocks of the warps that only arrived; the arriving warps acquire nothing. */
static void acquire_arrivals(ptx_race_state *c, const ptx_block *block, uint32_t mask) {
    const uint32_t barrier = block->warps[__builtin_ctz(mask)].barrier;
    const uint32_t *arrival_clock = c->arrival_clocks[barrier];
    for (uint32_t left = mask; left && block->barrier_arrivals[barrier]; left &= left - 1)
        join_clock(c->warp_clocks[__builtin_ctz(left)], arrival_clock, PTX_MAX_WARPS);
    for (uint32_t from = c->mbarrier_clocks ? block->barrier_arrivals[barrier] : 0; from; from &= from - 1)
        for (uint32_t left = mask; left; left &= left - 1)
            join_clock(clock_row(c, c->mbarrier_clocks, (unsigned)__builtin_ctz(left)),
                       clock_row(c, c->mbarrier_clocks, (unsigned)__builtin_ctz(from)), clock_length(c));
}

void ptx_hb_barrier(ptx_race_state *c, const ptx_block *block, uint32_t mask) {
    uint32_t now = ++c->cluster->now;
    for (uint32_t left = mask; left; left &= left - 1)
        c->warp_clock[__builtin_ctz(left)] = now;
    if (covers_block(block, mask))
        c->block_clock = now;
    else
        join_all(c->warp_clocks, mask, now);
    join_mbarrier_clocks(c, mask);
    acquire_arrivals(c, block, mask);
}

/* All accesses before an arrival happen before all accesses after the corresponding wait. */
void ptx_hb_cluster_barrier(ptx_race_state *c, const ptx_block *block) {
    unsigned warps = block->worker->warp_count;
    c->block_clock = c->cluster_clock = ++c->cluster->now;
    for (unsigned i = 0; i < warps; i++)
        c->warp_clock[i] = c->block_clock;
    if (!c->mbarrier_clocks)
        return;
    join_mbarrier_clocks(c, PTX_ALL_LANES >> (PTX_MAX_WARPS - warps));
    for (unsigned b = 0; b < block->worker->run->cluster_blocks; b++) {
        ptx_race_state *other = c->cluster->blocks[b];
        for (unsigned i = 0; i < warps; i++) {
            join_clock(c->mbarrier_clocks, clock_row(other, other->mbarrier_clocks, i), clock_length(c));
            if (other->split_lanes[i])
                join_clock(c->mbarrier_clocks, clock_row(other, other->split_clocks, i), clock_length(c));
        }
    }
    join_mbarrier_clocks(c, PTX_ALL_LANES >> (PTX_MAX_WARPS - warps));
}

/* ---- mbarriers ---- */

static bool reserve_mbarrier(ptx_race_state *owner) {
    return ptx_reserve(&owner->mbarriers, &owner->mbarrier_capacity, owner->mbarrier_count,
                       sizeof *owner->mbarriers);
}

/* The clocks of the mbarrier at an address; NULL if memory ran out. */
static ptx_mbarrier_clock *find_mbarrier(ptx_race_state *c, ptx_shared_address at) {
    ptx_race_state *owner = c->cluster->blocks[at.block->rank];
    for (size_t i = 0; i < owner->mbarrier_count; i++)
        if (owner->mbarriers[i].offset == at.offset)
            return &owner->mbarriers[i];
    ptx_mbarrier_clock m = {.offset = at.offset, .agent = c->cluster->mbarrier_count++ % PTX_ASYNC_AGENTS};
    m.pending_clock = calloc(clock_length(c), sizeof *m.pending_clock);
    m.phase_clock = calloc(clock_length(c), sizeof *m.phase_clock);
    if (!m.pending_clock || !m.phase_clock || !reserve_mbarrier(owner)) {
        free(m.pending_clock);
        free(m.phase_clock);
        c->failed = true;
        return NULL;
    }
    owner->mbarriers[owner->mbarrier_count] = m;
    return &owner->mbarriers[owner->mbarrier_count++];
}

void ptx_hb_mbarrier_arrive(ptx_race_state *c, const ptx_warp *warp, const ptx_mbarrier_event *event) {
    ptx_mbarrier_clock *m = event->at.block && c->mbarrier_clocks ? find_mbarrier(c, event->at) : NULL;
    if (!m)
        return;
    c->cluster->now++;
    if (event->arrives)
        publish_clock(c, warp->index, event->lane, m->pending_clock);
    if (event->completes_tx)
        m->pending_clock[c->cluster_threads + m->agent] = c->cluster->now;
    if (event->ends_phase)
        memcpy(m->phase_clock, m->pending_clock, clock_length(c) * sizeof *m->phase_clock);
}

void ptx_hb_mbarrier_wait(ptx_race_state *c, const ptx_warp *warp, ptx_shared_address at, uint32_t mask) {
    const ptx_mbarrier_clock *m = at.block && c->mbarrier_clocks ? find_mbarrier(c, at) : NULL;
    unsigned w = warp->index;
    if (!m)
        return;
    if ((mask & warp->live) == warp->live) {
        join_clock(clock_row(c, c->mbarrier_clocks, w), m->phase_clock, clock_length(c));
        return;
    }
    join_clock(clock_row(c, c->split_clocks, w), m->phase_clock, clock_length(c));
    c->split_lanes[w] |= mask;
}

unsigned ptx_hb_async_agent(ptx_race_state *c, ptx_shared_address barrier, unsigned thread) {
    const ptx_mbarrier_clock *m = barrier.block ? find_mbarrier(c, barrier) : NULL;
    unsigned agent = m ? m->agent : 0;
    c->cluster->issuer[agent] = thread;
    return c->cluster_threads + agent;
}

/* ---- fences ---- */

void ptx_hb_async_fence(ptx_race_state *c, const ptx_warp *warp, uint32_t mask) {
    const uint32_t now = ++c->cluster->now;
    for (uint32_t left = mask; left; left &= left - 1)
        c->fenced[warp->index * PTX_LANES + (unsigned)__builtin_ctz(left)] = now;
}

bool ptx_proxy_fenced(const ptx_race_state *c, unsigned thread, uint32_t clock) {
    return c->cluster->blocks[thread / c->threads]->fenced[thread % c->threads] > clock;
}
