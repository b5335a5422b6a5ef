/* Executes a warp until it has to wait or its quantum is used up. */
#ifndef PTXSIM_EXECUTOR_H
#define PTXSIM_EXECUTOR_H

#include "interpreter/state.h"

enum { PTX_QUANTUM = 4096 };

/* Runs until the warp waits at a barrier, needs a ticket, has exited, or has executed PTX_QUANTUM
   instructions. */
ptx_status ptx_warp_run(ptx_warp *warp);
/* Reports the deadlock of a cluster in which all warps wait at barriers. */
ptx_status ptx_deadlock(ptx_cluster *cluster);

#endif
