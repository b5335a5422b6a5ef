/* Short forward branches that ptxas turns into predicates: the machine code of their bodies is issued to
   every warp that comes by, with the lanes that skip it switched off, and the branch itself is gone. */
#ifndef PTXSIM_PREDICATION_H
#define PTXSIM_PREDICATION_H

#include "ir.h"

/* For each instruction of the kernel the branch that would become its predicate, PTX_NO_PC for most. The rule
   is ours: a guarded branch forward over at most PTX_PREDICATED instructions, none of them a branch, a
   barrier or an exchange between lanes, and none the target of another branch. A branch to the end of the
   kernel is none of these: its lanes exit. So counted, the shared-memory loads of v0 to v8 are those of an
   H200 to the last one. */
enum { PTX_PREDICATED = 16 };
void ptx_find_predicated(const ptx_kernel *kernel, uint32_t *branch_of);

#endif
