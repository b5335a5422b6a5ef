/* Hazards at barriers: threads of a block that wait at different barriers, or never arrive. */
#ifndef PTXSIM_RACE_BARRIER_H
#define PTXSIM_RACE_BARRIER_H

#include "instrumentation/happens_before.h"

/* Reports warps that one barrier releases although they wait at different instructions: the condition around
   the barrier diverged. */
void ptx_race_check_barrier(ptx_race_state *c, const ptx_block *block, uint32_t mask);

/* Reports an instruction that some lanes or warps skipped and others wait for. */
void ptx_race_missed_barrier(ptx_race_state *c, const ptx_warp *warp, const ptx_instr *in);

#endif
