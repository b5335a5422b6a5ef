/* Records the steps of one block: instructions, accesses and written registers. Only the thread that runs the
   block writes to the trace, so no lock is needed. */
#include "instrumentation/trace.h"

#include <stdlib.h>
#include <string.h>

#include "diagnostic.h"
#include "instrumentation/transactions.h"
#include "interpreter/lanes.h"
#include "interpreter/memory.h"
#include "reserve.h"

enum { NO_STEP = UINT32_MAX };

/* ---- registers ---- */

static void record_register(ptx_trace *to, const ptx_warp *warp, uint32_t step, const ptx_instr *in,
                            unsigned k, unsigned operand) {
    if (!ptx_reserve(&to->register_writes, &to->register_write_capacity, to->register_write_count,
                     sizeof *to->register_writes)) {
        to->lost++;
        return;
    }
    ptx_register_write *write = &to->register_writes[to->register_write_count++];
    const bool wide = ptx_is_wide(in, k);
    *write = (ptx_register_write){.step = step, .operand = operand, .bytes = wide ? 8 : 4};
    const void *lanes = ptx_lanes(warp, in, k);
    for (unsigned i = 0; i < PTX_LANES; i++)
        write->lanes[i] = wide ? ((const ptx_u64 *)lanes)[i] : ((const ptx_u32 *)lanes)[i];
}

/* Instructions are reported before they execute; their results are read when the warp issues the next one. */
static void record_results(ptx_trace *to, const ptx_warp *warp) {
    const uint32_t step = to->last[warp->index];
    to->last[warp->index] = NO_STEP;
    if (step == NO_STEP || !to->steps[step].executed)
        return;
    const ptx_instr *in = &warp->worker->kernel->code[to->steps[step].pc];
    unsigned operand = 0;
    for (unsigned k = 0; k < in->operand_count; k++)
        if (ptx_role_of(in, k) == PTX_ROLE_WRITTEN)
            record_register(to, warp, step, in, k, operand++);
}

static void block_end(void *state, const ptx_block *block) {
    ptx_trace *to = state;
    for (unsigned i = 0; block->number == to->block && i < block->worker->warp_count; i++)
        record_results(to, &block->warps[i]);
}

/* ---- steps ---- */

static void issue(void *state, const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    ptx_trace *to = state;
    if (warp->block->number != to->block)
        return;
    record_results(to, warp);
    if (to->step_count == PTX_MAX_STEPS ||
        !ptx_reserve(&to->steps, &to->step_capacity, to->step_count, sizeof *to->steps)) {
        to->lost++;
        return;
    }
    to->last[warp->index] = (uint32_t)to->step_count;
    to->steps[to->step_count++] = (ptx_step){.pc = (uint32_t)(in - warp->worker->kernel->code),
                                             .warp = warp->index,
                                             .active = warp->active,
                                             .executed = mask,
                                             .round = warp->block->round};
}

static ptx_step_access *new_access(ptx_trace *to, uint32_t step) {
    if (step == NO_STEP)
        return NULL;
    if (!ptx_reserve(&to->accesses, &to->access_capacity, to->access_count, sizeof *to->accesses)) {
        to->lost++;
        return NULL;
    }
    ptx_step_access *record = &to->accesses[to->access_count++];
    *record = (ptx_step_access){.step = step};
    return record;
}

/* Records one entry per allocation that the lanes access. */
static void record_global(ptx_trace *to, const ptx_warp *warp, const ptx_access *access) {
    for (uint32_t left = access->mask; left;) {
        const ptx_allocation *at = ptx_view_find(warp->worker->view, access->address[__builtin_ctz(left)]);
        ptx_step_access *record = new_access(to, to->last[warp->index]);
        if (!record)
            return;
        ptx_access part = *access;
        part.mask = part.packed = 0;
        for (uint32_t rest = left; rest; rest &= rest - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(rest);
            if (at && access->address[lane] - at->address >= at->bytes)
                continue;
            part.mask |= 1u << lane;
            record->offset[lane] = access->address[lane] - (at ? at->address : 0);
        }
        unsigned ideal;
        record->wavefronts = (uint8_t)ptx_global_sectors(&part, &ideal);
        record->ideal = (uint8_t)ideal;
        record->memory = at ? at->address : 0;
        record->mask = part.mask;
        record->bytes = access->bytes;
        record->space = PTX_SPACE_GLOBAL;
        record->effect = (uint8_t)access->effect;
        left &= ~part.mask;
    }
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    ptx_trace *to = state;
    (void)in;
    if (warp->block->number != to->block)
        return;
    if (access->space == PTX_SPACE_GLOBAL) {
        record_global(to, warp, access);
        return;
    }
    ptx_step_access *record = new_access(to, to->last[warp->index]);
    if (!record)
        return;
    if (access->space == PTX_SPACE_SHARED) {
        unsigned ideal;
        record->wavefronts = (uint8_t)ptx_shared_wavefronts(access, &ideal, NULL);
        record->ideal = (uint8_t)ideal;
    }
    record->mask = access->mask;
    record->bytes = access->bytes;
    record->space = (uint8_t)access->space;
    record->effect = (uint8_t)access->effect;
    for (uint32_t left = access->mask; left; left &= left - 1)
        record->offset[__builtin_ctz(left)] = access->address[__builtin_ctz(left)];
}

static void on_async(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_async *copy) {
    ptx_trace *to = state;
    (void)in;
    const ptx_shared_address *place = copy->to.block ? &copy->to : &copy->from;
    ptx_step_access *record =
        warp->block->number == to->block && place->block == warp->block && !copy->completed
            ? new_access(to, to->last[warp->index])
            : NULL;
    if (!record)
        return;
    record->mask = 1u << copy->lane;
    record->bytes = (uint32_t)copy->bytes;
    record->space = PTX_SPACE_SHARED;
    record->effect = copy->to.block ? PTX_STEP_COPY_IN : PTX_STEP_COPY_OUT;
    record->offset[copy->lane] = place->offset;
}

/* ---- the trace ---- */

static const ptx_hooks hooks = {
    .block_end = block_end, .issue = issue, .access = on_access, .async = on_async};

ptx_status ptx_trace_create(uint64_t block, ptx_trace **out, ptx_error *error) {
    ptx_trace *trace = calloc(1, sizeof *trace);
    *out = trace;
    if (!trace)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for the steps of a block");
    trace->base.hooks = &hooks;
    trace->block = block;
    for (unsigned i = 0; i < PTX_MAX_WARPS; i++)
        trace->last[i] = NO_STEP;
    return PTX_OK;
}

void ptx_trace_free(ptx_trace *trace) {
    if (!trace)
        return;
    free(trace->steps);
    free(trace->accesses);
    free(trace->register_writes);
    free(trace);
}
