/* State of a launch as a whole: its first error, and whether it should stop. */
#ifndef PTXSIM_RUN_H
#define PTXSIM_RUN_H

#include "interpreter/state.h"

/* Initialises the lock and the condition variables; returns false, with none initialised, on failure. */
bool ptx_run_open_locks(ptx_run *run);

/* Records the error of a cluster (UINT64_MAX: of the whole launch). The error of the lowest cluster is kept,
   which a single thread would report. */
void ptx_run_fail(ptx_run *run, uint64_t cluster, const ptx_error *error);

/* Polls the interrupt callback at most every 10 ms and records an interrupt in the run. */
bool ptx_run_interrupted(ptx_run *run, uint64_t *last_poll);

/* Waits for a condition for at most 10 ms. The caller holds the lock of the run. */
void ptx_run_wait(ptx_run *run, pthread_cond_t *changed);

/* Monotonic time in nanoseconds. */
uint64_t ptx_now(void);

#endif
