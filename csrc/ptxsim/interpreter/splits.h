/* Warp splits: lanes of a warp with their own program counter and divergence stack, as in independent thread
   scheduling since sm_70 (J. Meng, D. Tarjan, K. Skadron, "Dynamic warp subdivision for integrated branch and
   memory divergence tolerance", ISCA 2010).

   A warp starts with one split, stored in its own fields. Lanes that wait at a reconvergence point become a
   split if the running lanes cannot continue without them: an instruction needs them, or they would change
   the memory that the running lanes poll. */
#ifndef PTXSIM_SPLITS_H
#define PTXSIM_SPLITS_H

#include "interpreter/state.h"

/* For an instruction that needs further lanes: merges a split that is at the same instruction, or switches to
   another split; with `create`, it may create one from waiting lanes. Returns false if no other split can
   run. */
bool ptx_splits_gather(ptx_warp *warp, bool create);
/* Creates a split from waiting lanes and switches to it; returns false if no lanes wait. */
bool ptx_splits_create(ptx_warp *warp);
/* Switches to the next split that is not blocked, if any. */
void ptx_splits_rotate(ptx_warp *warp);
/* Unblocks all splits after lanes have exited, since they may have waited for those. */
void ptx_splits_unblock(ptx_warp *warp);
/* Replaces the running split, which has no lanes left, by another one; returns false if no split is
   left. */
bool ptx_splits_switch(ptx_warp *warp);

#endif
