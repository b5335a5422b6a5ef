/* Running the blocks of a launch, on one host thread or several. */
#ifndef PTXSIM_EXECUTOR_H
#define PTXSIM_EXECUTOR_H

#include <pthread.h>
#include <stdatomic.h>

#include "exec.h"

/* One launch, shared by its workers. */
typedef struct ptx_run {
    const ptx_kernel *kernel;
    ptx_memory *memory;
    ptx_view view;
    const ptx_launch_config *config;
    unsigned block_threads;
    size_t dynamic_base, shared_bytes; /* of a block: where the dynamic part starts, and all of it */
    uint64_t blocks;
    _Atomic uint64_t next_block;
    _Atomic uint64_t steps;
    _Atomic uint64_t failed_block; /* the lowest that failed, UINT64_MAX while none has */
    _Atomic bool stop;             /* budget or interrupt: nobody goes on */
    pthread_mutex_t lock;          /* guards what follows */
    pthread_cond_t finished;
    unsigned running; /* helper threads still at work */
    ptx_status status;
    ptx_error error;
} ptx_run;

/* Registers, shared memory and constants for one host thread. */
ptx_status ptx_worker_open(ptx_run *run, bool caller, ptx_worker **out, ptx_error *error);
void ptx_worker_close(ptx_worker *worker);

/* Takes blocks until there are none left or the run is to stop. Errors end up in the run. */
void ptx_worker_run(ptx_worker *worker);

/* Asks the caller's callback whether to stop, at most every 10 ms; records it in the run. */
bool ptx_run_interrupted(ptx_run *run, uint64_t *polled);

/* Records the error of a block (UINT64_MAX: of the launch as a whole). Of several the lowest block's stays,
   which is the one that a single thread would have met. */
void ptx_run_fail(ptx_run *run, uint64_t block, const ptx_error *error);

#endif
