#include "machine/run.h"

#include <time.h>

#include "diagnostic.h"

enum { POLL_NANOSECONDS = 10 * 1000 * 1000 };

void ptx_run_fail(ptx_run *run, uint64_t cluster, const ptx_error *error) {
    pthread_mutex_lock(&run->lock);
    uint64_t lowest = atomic_load(&run->failed_cluster);
    bool whole = cluster == UINT64_MAX;
    if (run->status == PTX_OK || (!whole && cluster < lowest)) {
        run->status = error->status;
        run->error = *error;
    }
    if (!whole && cluster < lowest)
        atomic_store(&run->failed_cluster, cluster);
    if (whole)
        atomic_store(&run->stop, true);
    pthread_cond_broadcast(&run->turns.moved); /* those who wait may have to give up */
    pthread_mutex_unlock(&run->lock);
}

uint64_t ptx_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool ptx_run_interrupted(ptx_run *run, uint64_t *polled) {
    const ptx_launch_config *config = run->config;
    if (!config->interrupted)
        return false;
    uint64_t time = ptx_now();
    if (time - *polled < POLL_NANOSECONDS)
        return false;
    *polled = time;
    if (!config->interrupted(config->interrupted_arg))
        return false;
    ptx_error error;
    ptx_fail(&error, PTX_ERR_INTERRUPTED, "kernel %s was interrupted", run->kernel->name);
    ptx_run_fail(run, UINT64_MAX, &error);
    return true;
}
