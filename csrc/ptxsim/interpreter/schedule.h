/* Running the blocks of a launch on one host thread; launch.c starts one or several. */
#ifndef PTXSIM_SCHEDULE_H
#define PTXSIM_SCHEDULE_H

#include "interpreter/state.h"

/* Registers, shared memory and constants for one host thread. */
ptx_status ptx_worker_open(ptx_run *run, bool caller, ptx_worker **out, ptx_error *error);
void ptx_worker_close(ptx_worker *worker);

/* Takes clusters until there are none left or the run is to stop. Errors end up in the run. */
void ptx_worker_run(ptx_worker *worker);

#endif
