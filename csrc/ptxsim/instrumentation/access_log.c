/* Logs the accesses of one block to global memory. Only the thread that runs the block writes to the log, so
   no lock is needed. */
#include "instrumentation/access_log.h"

#include <stdlib.h>

#include "diagnostic.h"
#include "interpreter/memory.h"
#include "reserve.h"

static void append(ptx_access_log *to, const ptx_logged_access *entry) {
    if (to->count == PTX_MAX_LOGGED ||
        !ptx_reserve(&to->entries, &to->capacity, to->count, sizeof *to->entries))
        to->lost++;
    else
        to->entries[to->count++] = *entry;
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    ptx_access_log *log = state;
    if (warp->block->number != log->block || access->space != PTX_SPACE_GLOBAL)
        return;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t address = access->address[lane];
        const ptx_allocation *at = ptx_view_find(warp->worker->view, address);
        append(log, &(ptx_logged_access){.memory = at ? at->address : 0,
                                         .offset = at ? address - at->address : address,
                                         .pc = (uint32_t)(in - warp->worker->kernel->code),
                                         .thread = warp->index * PTX_LANES + lane,
                                         .round = warp->block->round,
                                         .bytes = (uint16_t)access->bytes,
                                         .effect = (uint16_t)access->effect});
    }
}

static const ptx_hooks hooks = {.access = on_access};

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
