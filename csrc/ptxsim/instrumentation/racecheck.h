/* A dynamic race detector for shared memory, which finds hazards that lockstep execution hides.

   Shadow memory holds the last write and the concurrent reads of each word. Two accesses to a word by
   different threads, at least one of them a write, must be ordered by happens-before: by a barrier of the
   block, or within a warp by bar.warp.sync (__syncwarp). Shuffles and votes order nothing, as CUDA defines
   them. Atomics do not race with each other, nor do lanes that write the same value in one instruction. The
   clocks follow FastTrack (Flanagan and Freund, PLDI 2009), for warps and blocks instead of single threads;
   see happens_before.h. */
#ifndef PTXSIM_RACECHECK_H
#define PTXSIM_RACECHECK_H

#include "instrumentation/race_table.h"
#include "interpreter/hooks.h"

typedef struct ptx_racecheck {
    ptx_observer base;    /* first member, so that a ptx_observer * can be cast to this type */
    ptx_race_table table; /* the reports, sorted by hazard and instruction */
} ptx_racecheck;

ptx_status ptx_racecheck_create(ptx_racecheck **out, ptx_error *error);
void ptx_racecheck_free(ptx_racecheck *racecheck);

#endif
