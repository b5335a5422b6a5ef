/* Instructions that a whole warp executes together. */
#ifndef PTXSIM_COLLECTIVE_H
#define PTXSIM_COLLECTIVE_H

#include "interpreter/state.h"

/* PTX_OK where all 32 lanes are here; else lanes that could still come are waited for, or it is an error. */
ptx_status ptx_require_whole_warp(ptx_warp *warp, const ptx_instr *in, uint32_t mask);

#endif
