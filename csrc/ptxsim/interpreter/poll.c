/* The values that polling instructions read last: a hash table per warp with linear probing. */
#include "interpreter/poll.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_CAPACITY = 16, MAX_CAPACITY = 2048 }; /* entries, of which at most half are used */

static ptx_poll *find(ptx_poll *polls, size_t capacity, uint64_t place) {
    size_t i = place >> 32 & (capacity - 1);
    while (polls[i].place && polls[i].place != place)
        i = (i + 1) & (capacity - 1);
    return &polls[i];
}

void ptx_poll_reset(ptx_warp *warp) {
    if (warp->poll_count)
        memset(warp->polls, 0, warp->poll_capacity * sizeof *warp->polls);
    warp->poll_count = 0;
}

/* Ensures capacity for one more place. A table that cannot grow is cleared: the warp then polls all places
   as if for the first time. Returns false without any memory. */
static bool reserve(ptx_warp *warp) {
    if (2 * warp->poll_count < warp->poll_capacity)
        return true;
    const size_t capacity = warp->poll_capacity ? 2 * warp->poll_capacity : MIN_CAPACITY;
    ptx_poll *grown = capacity <= MAX_CAPACITY ? calloc(capacity, sizeof *grown) : NULL;
    if (!grown) {
        ptx_poll_reset(warp);
        return warp->polls != NULL;
    }
    for (size_t i = 0; i < warp->poll_capacity; i++)
        if (warp->polls[i].place)
            *find(grown, capacity, warp->polls[i].place) = warp->polls[i];
    free(warp->polls);
    warp->polls = grown;
    warp->poll_capacity = capacity;
    return true;
}

typedef enum poll_outcome { NEWS, NO_NEWS, WHOLE_ROUND } poll_outcome;

/* Stores the value read at a place. WHOLE_ROUND: no place had a new value since the last time. */
static poll_outcome poll_place(ptx_warp *warp, uint64_t place, uint64_t seen) {
    if (!reserve(warp))
        return NEWS;
    ptx_poll *poll = find(warp->polls, warp->poll_capacity, place);
    const poll_outcome outcome = poll->place == 0 || poll->seen != seen ? NEWS
                                 : poll->round == warp->poll_round      ? WHOLE_ROUND
                                                                        : NO_NEWS;
    warp->poll_count += poll->place == 0;
    warp->poll_round += outcome != NO_NEWS;
    *poll = (ptx_poll){.place = place, .seen = seen, .round = warp->poll_round};
    return outcome;
}

ptx_status ptx_poll_check(ptx_warp *warp, const ptx_instr *in, uint32_t mask, uint64_t addresses,
                          uint64_t seen) {
    const uint64_t place = ptx_mix_digest(ptx_mix_digest(addresses, (uintptr_t)in), mask) | 1;
    const poll_outcome outcome = poll_place(warp, place, seen);
    if (outcome == NEWS) {
        warp->worker->news++;
        warp->progressed = true;
    }
    if (outcome != WHOLE_ROUND)
        return PTX_OK;
    warp->stalled = !warp->progressed;
    return warp->stalled && warp->worker->stall_action != PTX_STALL_WAIT ? PTX_NO_PROGRESS : PTX_YIELD;
}

uint64_t ptx_poll_digest(const ptx_warp *warp) {
    const ptx_kernel *kernel = warp->worker->kernel;
    uint64_t sum = warp->pc + ((uint64_t)warp->active << 32) + warp->depth;
    for (size_t i = 0; i < kernel->register_bytes; i += sizeof(uint64_t)) {
        uint64_t lanes;
        memcpy(&lanes, warp->registers + i, sizeof lanes);
        sum = ptx_mix_digest(sum, lanes);
    }
    for (size_t i = 0; i < kernel->predicate_count; i++)
        sum = ptx_mix_digest(sum, warp->predicates[i]);
    for (size_t i = 0; i < warp->depth; i++)
        sum = ptx_mix_digest(sum, warp->stack[i].pc ^ (uint64_t)warp->stack[i].mask << 32);
    return sum;
}

bool ptx_poll_may_split(ptx_warp *warp) {
    return poll_place(warp, ptx_poll_digest(warp) | 1, warp->worker->news) == NEWS;
}
