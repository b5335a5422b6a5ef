/* Detection of spin-waits: warps that poll memory until another warp changes it. */
#ifndef PTXSIM_POLL_H
#define PTXSIM_POLL_H

#include "interpreter/state.h"

/* An instruction that may be polling passes a digest of what it read. If the same lanes read the same the
   last time, the warp yields. */
ptx_status ptx_poll_check(ptx_warp *warp, const ptx_instr *in, uint32_t mask, uint64_t seen);

#endif
