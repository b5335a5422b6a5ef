/* Detects divergent barriers, for the race detector. */
#include "instrumentation/race_barrier.h"

void ptx_race_check_barrier(ptx_race_state *c, const ptx_block *block, uint32_t mask) {
    unsigned first = (unsigned)__builtin_ctz(mask);
    for (uint32_t left = mask; left; left &= left - 1) {
        const ptx_warp *first_warp = &block->warps[first], *other = &block->warps[__builtin_ctz(left)];
        if (first_warp->pc == other->pc)
            continue;
        const ptx_race race = {.hazard = PTX_HAZARD_BARRIER,
                               .first_pc = first_warp->pc - 1,
                               .second_pc = other->pc - 1,
                               .first_thread = first * PTX_LANES,
                               .second_thread = other->index * PTX_LANES,
                               .first_block = c->block,
                               .second_block = c->block,
                               .block = c->block,
                               .count = 1};
        ptx_race_table_add(&c->table, &race);
    }
}

/* The instruction at which the missing lanes would continue. */
static uint32_t resume_pc(const ptx_warp *warp, uint32_t missing) {
    for (uint32_t i = warp->depth; i-- > 0;)
        if (warp->stack[i].mask & missing)
            return warp->stack[i].pc;
    return PTX_NO_PC;
}

void ptx_race_missed_barrier(ptx_race_state *c, const ptx_warp *warp, const ptx_instr *in) {
    uint32_t missing = warp->live & ~warp->active, first = warp->index * PTX_LANES;
    ptx_race race = {.hazard = PTX_HAZARD_BARRIER,
                     .first_pc = (uint32_t)(in - c->code),
                     .second_pc = PTX_NO_PC,
                     .first_thread = first + (unsigned)__builtin_ctz(warp->active),
                     .second_thread = first,
                     .first_block = c->block,
                     .second_block = c->block,
                     .block = c->block,
                     .count = 1};
    const ptx_block *block = warp->block;
    if (missing) {
        race.second_pc = resume_pc(warp, missing);
        race.second_thread = first + (unsigned)__builtin_ctz(missing);
    }
    for (unsigned i = 0; i < warp->worker->warp_count && !missing; i++) {
        const ptx_warp *other = &block->warps[i];
        if (other->state != PTX_WARP_WAITING || (other->pc == warp->pc && other->barrier == warp->barrier))
            continue;
        race.second_pc = other->pc - 1;
        race.second_thread = other->index * PTX_LANES;
        break;
    }
    ptx_race_table_add(&c->table, &race);
}
