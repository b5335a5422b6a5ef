/* Warp splits: lanes of a warp with a program counter and a divergence stack of their own, as independent
   thread scheduling has them from sm_70 on. A warp has one, its own fields, until the running lanes cannot go
   on: an instruction needs lanes that wait at a reconvergence point, or memory does not change that only such
   lanes would write to. Then the waiting lanes become a split, and run. (J. Meng, D. Tarjan, K. Skadron,
   "Dynamic warp subdivision for integrated branch and memory divergence tolerance", ISCA 2010.) */
#ifndef PTXSIM_SPLITS_H
#define PTXSIM_SPLITS_H

#include "interpreter/state.h"

/* For an instruction that needs lanes which are elsewhere: joins splits that are at it, or runs another one;
   with `divide`, one that is made of waiting lanes if need be. False where nothing else can run. */
bool ptx_splits_gather(ptx_warp *warp, bool divide);
/* Makes a split of lanes that wait, and runs it; false if none wait. */
bool ptx_splits_divide(ptx_warp *warp);
/* Runs the next split that can go on, if there is one. */
void ptx_splits_rotate(ptx_warp *warp);
/* To be called after lanes have exited: splits that wait for them may go on. */
void ptx_splits_release(ptx_warp *warp);
/* Goes on with another split in place of the running one, which has no lanes left; false if there is none. */
bool ptx_splits_take(ptx_warp *warp);

#endif
