/* Where diverging lanes meet again: basic blocks and their immediate post-dominators. */
#ifndef PTXSIM_CFG_H
#define PTXSIM_CFG_H

#include "ir.h"

/* Fills op[1], target_syncs and next_syncs of every branch; false when memory ran out. */
bool ptx_cfg_build(ptx_kernel *kernel);

#endif
