/* Checks that a warp executes an instruction convergently (mma, ldmatrix, wgmma). */
#ifndef PTXSIM_COLLECTIVE_H
#define PTXSIM_COLLECTIVE_H

#include "interpreter/state.h"

/* Returns PTX_OK if all 32 lanes execute the instruction, PTX_DIVERGED_RETRY if missing lanes may still
   reconverge here, otherwise a fault. */
ptx_status ptx_require_whole_warp(ptx_warp *warp, const ptx_instr *in, uint32_t mask);

#endif
