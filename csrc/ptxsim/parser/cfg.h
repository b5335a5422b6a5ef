/* Reconvergence analysis: basic blocks of a kernel and their immediate post-dominators (IPDOM), at which
   diverged lanes reconverge. */
#ifndef PTXSIM_CFG_H
#define PTXSIM_CFG_H

#include "ir.h"

/* Sets op[1] (the reconvergence point), target_syncs and next_syncs of every branch; returns false if memory
   ran out. */
bool ptx_cfg_build(ptx_kernel *kernel);

#endif
