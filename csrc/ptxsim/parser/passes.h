/* The passes over a parsed kernel. */
#ifndef PTXSIM_PASSES_H
#define PTXSIM_PASSES_H

#include "ir.h"

/* Reconvergence analysis: the immediate post-dominators (IPDOM) of basic blocks, at which diverged lanes
   reconverge. Sets op[1] (the reconvergence point), target_syncs and next_syncs of every branch; returns
   false if memory ran out. */
bool ptx_cfg_build(ptx_kernel *kernel);

/* PTX uses a new virtual register for each value; the interpreter needs few slots.
   Linear-scan register allocation: registers with disjoint live intervals share a slot. The register file of
   a warp becomes about five times smaller, so that it stays in the L1 cache. Only registers that may be read
   before they are written have separate slots, and only those are poisoned at the start of a block. Without
   memory, or if the analysis takes too long, the slots remain unchanged. Called after the targets of branches
   are resolved. */
void ptx_allocate_registers(ptx_kernel *kernel);

#endif
