/* Hazards of barriers, for the race check. */
#ifndef PTXSIM_RACE_BARRIER_H
#define PTXSIM_RACE_BARRIER_H

#include "instrumentation/happens_before.h"

/* Reports warps that a barrier lets go on and that wait at different instructions: the condition around it
   was not the same for all. */
void ptx_race_check_barrier(ptx_race_state *c, const ptx_block *block, uint32_t mask);

/* Reports an instruction that lanes or warps have missed for which others wait. */
void ptx_race_missed_barrier(ptx_race_state *c, const ptx_warp *warp, const ptx_instr *in);

#endif
