/* What concerns a launch as a whole: its errors, and whether it is to stop. */
#ifndef PTXSIM_RUN_H
#define PTXSIM_RUN_H

#include "interpreter/state.h"

/* False, with no lock open, where one cannot be made. */
bool ptx_run_open_locks(ptx_run *run);

/* Records the error of a cluster (UINT64_MAX: of the launch as a whole). Of several that of the lowest one
   stays, which is the one that a single thread would have met. */
void ptx_run_fail(ptx_run *run, uint64_t cluster, const ptx_error *error);

/* Asks the caller's callback whether to stop, at most every 10 ms; records it in the run. */
bool ptx_run_interrupted(ptx_run *run, uint64_t *last_poll);

/* A clock's nanoseconds. */
uint64_t ptx_now(void);

#endif
