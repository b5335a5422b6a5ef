/* Finds hazards in shared memory that running in lockstep hides.

   Each word remembers who wrote it last and who has read it since. Two accesses of one word by different
   threads, one of them a write, must be ordered: by a barrier of the block, or within a warp by bar.warp.sync
   (__syncwarp). Shuffles and votes order nothing, as CUDA defines them. Atomics do not race with each other,
   nor do lanes that write the same value in one instruction. Time is counted in such orderings, as in
   FastTrack (Flanagan and Freund, PLDI 2009), but with warps and blocks in the place of single threads. */
#ifndef PTXSIM_RACECHECK_H
#define PTXSIM_RACECHECK_H

#include "instrumentation/race.h"
#include "interpreter/hooks.h"

typedef struct ptx_racecheck ptx_racecheck;

ptx_status ptx_racecheck_create(const ptx_kernel *kernel, ptx_racecheck **out, ptx_error *error);
void ptx_racecheck_free(ptx_racecheck *racecheck);
ptx_observer *ptx_racecheck_observer(ptx_racecheck *racecheck);
/* The reports, which belong to the racecheck, by hazard and place. */
const ptx_race *ptx_racecheck_races(const ptx_racecheck *racecheck, size_t *count);
uint64_t ptx_racecheck_dropped(const ptx_racecheck *racecheck);

#endif
