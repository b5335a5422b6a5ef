/* Logs the accesses of one block to global memory. */
#include "instrumentation/access_log.h"

#include <stdlib.h>

#include "diagnostic.h"
#include "interpreter/memory.h"
#include "reserve.h"

struct ptx_access_log {
    ptx_observer base; /* first member, so that a ptx_observer * can be cast to this type */
    uint64_t block;
    ptx_logged_access *entries;
    size_t count, capacity;
    uint64_t lost;
};

/* State of one resident block; a worker reuses it for consecutive blocks. Only the state that meets the
   logged block writes to the owner, so no lock is needed. */
typedef struct log_state {
    ptx_access_log *owner;
    const ptx_kernel *kernel;
    bool in_block;
    uint32_t round;
} log_state;

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    log_state *w = calloc(1, sizeof *w);
    if (w) {
        w->owner = (ptx_access_log *)self;
        w->kernel = worker->kernel;
    }
    return w;
}

static void detach(ptx_observer *self, void *state) {
    (void)self;
    free(state);
}

static void block_begin(void *state, const ptx_block *block) {
    log_state *w = state;
    const uint32_t *grid = block->worker->run->config->grid, *index = block->index;
    w->in_block = index[0] + grid[0] * (index[1] + (uint64_t)grid[1] * index[2]) == w->owner->block;
    w->round = 0;
}

static void barrier(void *state, const ptx_block *block, uint32_t mask) {
    log_state *w = state;
    if ((unsigned)__builtin_popcount(mask) == block->live_warps)
        w->round++;
}

static void append(ptx_access_log *to, const ptx_logged_access *entry) {
    if (to->count == PTX_MAX_LOGGED ||
        !ptx_reserve(&to->entries, &to->capacity, to->count, sizeof *to->entries))
        to->lost++;
    else
        to->entries[to->count++] = *entry;
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    const log_state *w = state;
    if (!w->in_block || access->space != PTX_SPACE_GLOBAL)
        return;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t address = access->address[lane];
        const ptx_allocation *at = ptx_view_find(warp->worker->view, address);
        append(w->owner, &(ptx_logged_access){.memory = at ? at->address : 0,
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

ptx_status ptx_access_log_create(uint64_t block, ptx_access_log **out, ptx_error *error) {
    ptx_access_log *log = calloc(1, sizeof *log);
    *out = log;
    if (!log)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for what a block accesses");
    log->base.hooks = &hooks;
    log->block = block;
    return PTX_OK;
}

void ptx_access_log_free(ptx_access_log *log) {
    if (!log)
        return;
    free(log->entries);
    free(log);
}

ptx_observer *ptx_access_log_observer(ptx_access_log *log) {
    return &log->base;
}

const ptx_logged_access *ptx_access_log_entries(const ptx_access_log *log, size_t *count, uint64_t *lost) {
    *count = log->count;
    *lost = log->lost;
    return log->entries;
}
