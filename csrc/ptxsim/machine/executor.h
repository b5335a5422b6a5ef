/* Running the blocks of a launch, on one host thread or several. */
#ifndef PTXSIM_EXECUTOR_H
#define PTXSIM_EXECUTOR_H

#include <pthread.h>
#include <stdatomic.h>

#include "machine/exec.h"

/* One launch, shared by its workers. */
typedef struct ptx_run {
    const ptx_kernel *kernel;
    ptx_memory *memory;
    ptx_view view;
    const ptx_launch_config *config;
    unsigned block_threads;
    uint32_t cluster[3], clusters[3]; /* blocks of a cluster, clusters of the grid */
    unsigned cluster_blocks;
    bool explicit_cluster;
    size_t dynamic_base, shared_bytes; /* of a block: where the dynamic part starts, and all of it */
    uint64_t cluster_count;
    _Atomic uint64_t next_cluster;
    _Atomic uint64_t steps;
    _Atomic uint64_t failed_cluster; /* the lowest that failed, UINT64_MAX while none has */
    _Atomic bool stop;               /* budget or interrupt: nobody goes on */
    pthread_mutex_t lock;            /* guards what follows */
    pthread_cond_t finished;
    unsigned running; /* helper threads still at work */
    ptx_status status;
    ptx_error error;
} ptx_run;

/* Registers, shared memory and constants for one host thread. */
ptx_status ptx_worker_open(ptx_run *run, bool caller, ptx_worker **out, ptx_error *error);
void ptx_worker_close(ptx_worker *worker);

/* Takes clusters until there are none left or the run is to stop. Errors end up in the run. */
void ptx_worker_run(ptx_worker *worker);

/* Asks the caller's callback whether to stop, at most every 10 ms; records it in the run. */
bool ptx_run_interrupted(ptx_run *run, uint64_t *polled);

/* Records the error of a cluster (UINT64_MAX: of the launch as a whole). Of several that of the lowest one
   stays, which is the one that a single thread would have met. */
void ptx_run_fail(ptx_run *run, uint64_t cluster, const ptx_error *error);

/* ---- exec_mbarrier.c, for the scheduling ---- */

/* Does the copies that are under way and has them report. */
ptx_status ptx_copies_finish(ptx_cluster *cluster);
/* An error if one of them goes to this block, which is about to end. */
ptx_status ptx_copies_check(const ptx_block *block);

/* ---- executor.c, for schedule.c ---- */

enum { PTX_QUANTUM = 4096 };

/* Runs until the warp waits, is done, or has taken a quantum of steps. */
ptx_status ptx_warp_run(ptx_warp *warp);
/* The error of a cluster in which no warp can go on. */
ptx_status ptx_deadlock(ptx_cluster *cluster);

#endif
