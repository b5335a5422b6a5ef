#include "instrumentation/visits.h"

#include <stdlib.h>

#include "diagnostic.h"
#include "interpreter/memory.h"
#include "reserve.h"

struct ptx_visits {
    ptx_observer base; /* first, so that a ptx_observer is one of these */
    uint64_t block;
    ptx_visit *items;
    size_t count, capacity;
    uint64_t lost;
};

/* One block after the other, of those that share a place; one place sees the block that is wanted, and it
   alone writes to the owner. */
typedef struct watching {
    ptx_visits *owner;
    const ptx_kernel *kernel;
    bool wanted;
    uint32_t round;
} watching;

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    watching *w = calloc(1, sizeof *w);
    if (w) {
        w->owner = (ptx_visits *)self;
        w->kernel = worker->kernel;
    }
    return w;
}

static void detach(ptx_observer *self, void *state) {
    (void)self;
    free(state);
}

static void block_begin(void *state, const ptx_block *block) {
    watching *w = state;
    const uint32_t *grid = block->worker->run->config->grid, *index = block->index;
    w->wanted = index[0] + grid[0] * (index[1] + (uint64_t)grid[1] * index[2]) == w->owner->block;
    w->round = 0;
}

static void barrier(void *state, const ptx_block *block, uint32_t mask) {
    watching *w = state;
    if ((unsigned)__builtin_popcount(mask) == block->live_warps)
        w->round++;
}

static void keep(ptx_visits *to, const ptx_visit *visit) {
    if (to->count == PTX_VISITS || !ptx_reserve(&to->items, &to->capacity, to->count, sizeof *to->items))
        to->lost++;
    else
        to->items[to->count++] = *visit;
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    const watching *w = state;
    if (!w->wanted || access->space != PTX_SPACE_GLOBAL)
        return;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t address = access->address[lane];
        const ptx_allocation *at = ptx_view_find(warp->worker->view, address);
        keep(w->owner, &(ptx_visit){.memory = at ? at->address : 0,
                                    .offset = at ? address - at->address : address,
                                    .pc = (uint32_t)(in - w->kernel->code),
                                    .thread = warp->index * PTX_LANES + lane,
                                    .round = w->round,
                                    .bytes = (uint16_t)access->bytes,
                                    .effect = (uint16_t)access->effect});
    }
}

static const ptx_hooks hooks = {
    .attach = attach, .detach = detach, .block_begin = block_begin, .access = on_access, .barrier = barrier};

ptx_status ptx_visits_create(uint64_t block, ptx_visits **out, ptx_error *error) {
    ptx_visits *visits = calloc(1, sizeof *visits);
    *out = visits;
    if (!visits)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for what a block accesses");
    visits->base.hooks = &hooks;
    visits->block = block;
    return PTX_OK;
}

void ptx_visits_free(ptx_visits *visits) {
    if (!visits)
        return;
    free(visits->items);
    free(visits);
}

ptx_observer *ptx_visits_observer(ptx_visits *visits) {
    return &visits->base;
}

const ptx_visit *ptx_visits_list(const ptx_visits *visits, size_t *count, uint64_t *lost) {
    *count = visits->count;
    *lost = visits->lost;
    return visits->items;
}
