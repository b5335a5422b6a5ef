#include "instrumentation/race_order.h"

#include <stdlib.h>
#include <string.h>

#include "reserve.h"

static unsigned row_length(const ptx_checking *c) {
    return c->everybody + PTX_LATE_COPIER + 1;
}

static uint32_t *row_of(const ptx_checking *c, uint32_t *rows, unsigned warp) {
    return rows + (size_t)warp * row_length(c);
}

static void take_later(uint32_t *to, const uint32_t *from, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* ---- life ---- */

bool ptx_order_open(ptx_checking *c, bool mbarriers) {
    size_t entries = (size_t)(c->threads / PTX_LANES) * row_length(c);
    c->cluster = &c->own;
    if (!mbarriers)
        return true;
    c->learnt = calloc(entries, sizeof *c->learnt);
    c->apart = calloc(entries, sizeof *c->apart);
    return c->learnt && c->apart;
}

static void forget_meetings(ptx_checking *c) {
    for (size_t i = 0; i < c->meeting_count; i++) {
        free(c->meetings[i].arrived);
        free(c->meetings[i].over);
    }
    c->meeting_count = 0;
}

void ptx_order_close(ptx_checking *c) {
    forget_meetings(c);
    free(c->meetings);
    free(c->learnt);
    free(c->apart);
}

void ptx_order_reset(ptx_checking *c) {
    size_t bytes = (size_t)(c->threads / PTX_LANES) * row_length(c) * sizeof *c->learnt;
    c->own.now = 0;
    memset(c->warp_knows, 0, sizeof c->warp_knows);
    memset(c->passed_know, 0, sizeof c->passed_know);
    memset(c->fenced, 0, sizeof c->fenced);
    memset(c->lane_knows, 0, sizeof c->lane_knows);
    memset(c->part_time, 0, sizeof c->part_time);
    if (c->learnt) {
        memset(c->learnt, 0, bytes);
        memset(c->apart, 0, bytes);
    }
}

void ptx_order_begin(ptx_checking *c, const ptx_block *block) {
    const ptx_worker *worker = block->worker;
    c->first = block->rank * c->threads;
    if (block->rank == 0) {
        c->own.now++;
        c->own.meetings = 0;
    }
    forget_meetings(c);
    c->begin = c->block_time = c->cluster_time = c->cluster->now;
    for (unsigned i = 0; i < worker->warp_count; i++) {
        c->warp_time[i] = c->begin;
        c->started[i] = block->warps[i].live;
        c->lanes_apart[i] = 0;
    }
}

/* ---- what is known ---- */

static bool learnt(const ptx_checking *c, unsigned warp, unsigned lane, unsigned thread, uint32_t time) {
    return time < row_of(c, c->learnt, warp)[thread] ||
           ((c->lanes_apart[warp] >> lane & 1) && time < row_of(c, c->apart, warp)[thread]);
}

bool ptx_ordered(const ptx_checking *c, unsigned warp, unsigned lane, unsigned thread, uint32_t time) {
    unsigned mine = thread - c->first, other = mine / PTX_LANES;
    if (time < c->begin || c->failed)
        return true;
    if (mine < c->threads) {
        if (time < c->block_time || mine == warp * PTX_LANES + lane)
            return true;
        if (other == warp ? ptx_lanes_ordered(c, warp, lane, mine % PTX_LANES, time)
                          : time < c->warp_knows[warp][other])
            return true;
    } else if (thread < c->everybody && time < c->cluster_time) {
        return true;
    }
    return c->learnt && learnt(c, warp, lane, thread, time);
}

/* All that one lane knows, and what it has done itself. */
static void tell_all(const ptx_checking *c, unsigned warp, unsigned lane, uint32_t *to) {
    for (unsigned i = 0; i < c->everybody; i++)
        to[i] = c->cluster_time > to[i] ? c->cluster_time : to[i];
    uint32_t *block = to + c->first;
    for (unsigned i = 0; i < c->threads; i++) {
        unsigned other = i / PTX_LANES;
        uint32_t time = c->warp_knows[warp][other];
        if (other == warp) {
            uint32_t part = c->lane_knows[warp][lane][i % PTX_LANES];
            time = part > c->warp_time[warp] ? part : c->warp_time[warp];
        }
        time = time > c->block_time ? time : c->block_time;
        block[i] = time > block[i] ? time : block[i];
    }
    block[warp * PTX_LANES + lane] = c->cluster->now;
    take_later(to, row_of(c, c->learnt, warp), row_length(c));
    if (c->lanes_apart[warp] >> lane & 1)
        take_later(to, row_of(c, c->apart, warp), row_length(c));
}

/* ---- barriers of warps and blocks ---- */

/* Everybody in `mask` learns what any of them knows, and what they all did until now. */
static void share(uint32_t (*knows)[PTX_LANES], uint32_t mask, uint32_t now) {
    uint32_t row[PTX_LANES] = {0};
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t *of_one = knows[__builtin_ctz(left)];
        for (unsigned i = 0; i < PTX_LANES; i++)
            row[i] = of_one[i] > row[i] ? of_one[i] : row[i];
    }
    for (uint32_t left = mask; left; left &= left - 1)
        row[__builtin_ctz(left)] = now;
    for (uint32_t left = mask; left; left &= left - 1)
        memcpy(knows[__builtin_ctz(left)], row, sizeof row);
}

/* What some lanes have learnt becomes known to all of their warp. */
static void join_lanes(ptx_checking *c, unsigned warp) {
    if (c->lanes_apart[warp])
        take_later(row_of(c, c->learnt, warp), row_of(c, c->apart, warp), row_length(c));
    c->lanes_apart[warp] = 0;
}

void ptx_order_warp_sync(ptx_checking *c, const ptx_warp *warp, uint32_t members) {
    unsigned w = warp->index;
    uint32_t now = ++c->cluster->now;
    if ((members & c->started[w]) == c->started[w]) {
        c->warp_time[w] = now;
        join_lanes(c, w);
        return;
    }
    c->part_time[w] = now;
    share(c->lane_knows[w], members, now);
    if (members & c->lanes_apart[w])
        c->lanes_apart[w] |= members;
}

/* The warps of `mask` tell each other what they have learnt from mbarriers. */
static void share_learnt(ptx_checking *c, uint32_t mask) {
    if (!c->learnt)
        return;
    uint32_t *first = row_of(c, c->learnt, (unsigned)__builtin_ctz(mask));
    for (uint32_t left = mask; left; left &= left - 1)
        join_lanes(c, (unsigned)__builtin_ctz(left));
    for (uint32_t left = mask; left; left &= left - 1)
        take_later(first, row_of(c, c->learnt, (unsigned)__builtin_ctz(left)), row_length(c));
    for (uint32_t left = mask; left; left &= left - 1)
        take_later(row_of(c, c->learnt, (unsigned)__builtin_ctz(left)), first, row_length(c));
}

/* A barrier of all waits for the warps that have exited, too; one that counts does not. */
static bool orders_all(const ptx_block *block, uint32_t mask) {
    unsigned warps = (unsigned)__builtin_popcount(mask);
    bool counts = block->warps[__builtin_ctz(mask)].expected != 0;
    return warps == (counts ? block->worker->warp_count : block->live_warps);
}

/* What the warp has done until now, and knows of the others'. */
void ptx_order_barrier_arrive(ptx_checking *c, const ptx_warp *warp, uint32_t barrier) {
    uint32_t *known = c->passed_know[barrier];
    const uint32_t now = ++c->cluster->now, w = warp->index;
    if (warp->block->passed[barrier] == 1u << w) /* the first one since the barrier was complete */
        memset(known, 0, sizeof c->passed_know[barrier]);
    for (unsigned i = 0; i < PTX_MAX_WARPS; i++) {
        uint32_t time = c->warp_knows[w][i] > c->block_time ? c->warp_knows[w][i] : c->block_time;
        known[i] = time > known[i] ? time : known[i];
    }
    known[w] = now;
}

/* Those who wait learn what those knew who have only arrived; not the other way round. */
static void learn_from_passed(ptx_checking *c, const ptx_block *block, uint32_t mask) {
    const uint32_t barrier = block->warps[__builtin_ctz(mask)].barrier;
    const uint32_t *known = c->passed_know[barrier];
    for (uint32_t left = mask; left && block->passed[barrier]; left &= left - 1)
        take_later(c->warp_knows[__builtin_ctz(left)], known, PTX_MAX_WARPS);
    for (uint32_t from = c->learnt ? block->passed[barrier] : 0; from; from &= from - 1)
        for (uint32_t left = mask; left; left &= left - 1)
            take_later(row_of(c, c->learnt, (unsigned)__builtin_ctz(left)),
                       row_of(c, c->learnt, (unsigned)__builtin_ctz(from)), row_length(c));
}

void ptx_order_barrier(ptx_checking *c, const ptx_block *block, uint32_t mask) {
    uint32_t now = ++c->cluster->now;
    for (uint32_t left = mask; left; left &= left - 1)
        c->warp_time[__builtin_ctz(left)] = now;
    if (orders_all(block, mask))
        c->block_time = now;
    else
        share(c->warp_knows, mask, now);
    share_learnt(c, mask);
    learn_from_passed(c, block, mask);
}

/* What any thread did before it arrived comes before what any does after it waited. */
void ptx_order_cluster_barrier(ptx_checking *c, const ptx_block *block) {
    unsigned warps = block->worker->warp_count;
    c->block_time = c->cluster_time = ++c->cluster->now;
    for (unsigned i = 0; i < warps; i++)
        c->warp_time[i] = c->block_time;
    if (!c->learnt)
        return;
    share_learnt(c, PTX_ALL_LANES >> (PTX_MAX_WARPS - warps));
    for (unsigned b = 0; b < block->worker->run->cluster_blocks; b++) {
        ptx_checking *other = c->cluster->blocks[b];
        for (unsigned i = 0; i < warps; i++) {
            take_later(c->learnt, row_of(other, other->learnt, i), row_length(c));
            if (other->lanes_apart[i])
                take_later(c->learnt, row_of(other, other->apart, i), row_length(c));
        }
    }
    share_learnt(c, PTX_ALL_LANES >> (PTX_MAX_WARPS - warps));
}

/* ---- mbarriers ---- */

static bool reserve_meeting(ptx_checking *owner) {
    return ptx_reserve(&owner->meetings, &owner->meeting_capacity, owner->meeting_count,
                       sizeof *owner->meetings);
}

/* That of an mbarrier; NULL when memory ran out. */
static ptx_meeting *find_meeting(ptx_checking *c, ptx_place at) {
    ptx_checking *owner = c->cluster->blocks[at.block->rank];
    for (size_t i = 0; i < owner->meeting_count; i++)
        if (owner->meetings[i].offset == at.offset)
            return &owner->meetings[i];
    ptx_meeting m = {.offset = at.offset, .copier = c->cluster->meetings++ % PTX_COPIERS};
    m.arrived = calloc(row_length(c), sizeof *m.arrived);
    m.over = calloc(row_length(c), sizeof *m.over);
    if (!m.arrived || !m.over || !reserve_meeting(owner)) {
        free(m.arrived);
        free(m.over);
        c->failed = true;
        return NULL;
    }
    owner->meetings[owner->meeting_count] = m;
    return &owner->meetings[owner->meeting_count++];
}

void ptx_order_arrive(ptx_checking *c, const ptx_warp *warp, const ptx_arrival *arrival) {
    ptx_meeting *m = arrival->at.block && c->learnt ? find_meeting(c, arrival->at) : NULL;
    if (!m)
        return;
    c->cluster->now++;
    if (arrival->arrives)
        tell_all(c, warp->index, arrival->lane, m->arrived);
    if (arrival->completes)
        m->arrived[c->everybody + m->copier] = c->cluster->now;
    if (arrival->ends)
        memcpy(m->over, m->arrived, row_length(c) * sizeof *m->over);
}

void ptx_order_wait(ptx_checking *c, const ptx_warp *warp, ptx_place at, uint32_t mask) {
    const ptx_meeting *m = at.block && c->learnt ? find_meeting(c, at) : NULL;
    unsigned w = warp->index;
    if (!m)
        return;
    if ((mask & warp->live) == warp->live) {
        take_later(row_of(c, c->learnt, w), m->over, row_length(c));
        return;
    }
    take_later(row_of(c, c->apart, w), m->over, row_length(c));
    c->lanes_apart[w] |= mask;
}

unsigned ptx_order_copy(ptx_checking *c, ptx_place barrier, unsigned thread) {
    const ptx_meeting *m = barrier.block ? find_meeting(c, barrier) : NULL;
    unsigned copier = m ? m->copier : 0;
    c->cluster->issuer[copier] = thread;
    return c->everybody + copier;
}

/* ---- fences ---- */

void ptx_order_async_fence(ptx_checking *c, const ptx_warp *warp, uint32_t mask) {
    const uint32_t now = ++c->cluster->now;
    for (uint32_t left = mask; left; left &= left - 1)
        c->fenced[warp->index * PTX_LANES + (unsigned)__builtin_ctz(left)] = now;
}

bool ptx_fenced(const ptx_checking *c, unsigned thread, uint32_t time) {
    return c->cluster->blocks[thread / c->threads]->fenced[thread % c->threads] > time;
}
