/* Warps that wait for memory to change. */
#ifndef PTXSIM_POLL_H
#define PTXSIM_POLL_H

#include "interpreter/state.h"

/* To be called by an instruction that may be waiting for others, with a digest of what it found. When that is
   what it found the last time, the warp gives up its turn. */
ptx_status ptx_poll_check(ptx_warp *warp, const ptx_instr *in, uint32_t mask, uint64_t seen);

#endif
