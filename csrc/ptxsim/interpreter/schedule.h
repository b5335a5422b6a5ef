/* Runs blocks of a launch on one host thread (a worker); launch.c starts the workers. */
#ifndef PTXSIM_SCHEDULE_H
#define PTXSIM_SCHEDULE_H

#include "interpreter/state.h"

/* Resident blocks per worker by default: 16 on each of the 132 multiprocessors of an H200. */
enum { PTX_MAX_RESIDENT = 2112 };

/* Allocates registers, shared memory and constants for one host thread. */
ptx_status ptx_worker_open(ptx_run *run, bool caller, ptx_worker **out, ptx_error *error);
void ptx_worker_close(ptx_worker *worker);

/* Runs clusters until none are left or the run stops. Errors are recorded in the run. */
void ptx_worker_run(ptx_worker *worker);

#endif
