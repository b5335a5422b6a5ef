/* What a warp does between two looks at the others. */
#ifndef PTXSIM_EXECUTOR_H
#define PTXSIM_EXECUTOR_H

#include "interpreter/state.h"

enum { PTX_QUANTUM = 4096 };

/* Runs until the warp waits, is done, or has taken a quantum of steps. */
ptx_status ptx_warp_run(ptx_warp *warp);
/* The error of a cluster in which no warp can go on. */
ptx_status ptx_deadlock(ptx_cluster *cluster);

#endif
