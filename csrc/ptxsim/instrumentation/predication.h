/* Finds the short forward branches that ptxas converts to predication: the machine code of their bodies is
   issued to every warp that reaches them, with the skipping lanes inactive, and the branch itself
   disappears. */
#ifndef PTXSIM_PREDICATION_H
#define PTXSIM_PREDICATION_H

#include "ir.h"

/* Stores for each instruction the branch that predicates it, PTX_NO_PC if none. The heuristic is ours: a
   guarded forward branch over at most PTX_MAX_PREDICATED instructions, of which none is a branch, a barrier
   or an exchange between lanes, and none the target of another branch. A branch to the end of the kernel is
   excluded, as its lanes exit. With this rule the shared-memory loads of v0 to v8 are exactly those that an
   H200 counts. */
enum { PTX_MAX_PREDICATED = 16 };
void ptx_find_predicated(const ptx_kernel *kernel, uint32_t *branch_of);

#endif
