/* Errors, interrupts and forks during a launch. */
#include "interpreter/run.h"

#include <time.h>
#include <unistd.h>

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
    pthread_cond_broadcast(&run->tickets.changed); /* waiting workers may have to stop */
    pthread_mutex_unlock(&run->lock);
}

uint64_t ptx_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool ptx_run_open_locks(ptx_run *run) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool finished = pthread_cond_init(&run->finished, &attributes) == 0;
    bool changed = finished && pthread_cond_init(&run->tickets.changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (changed && pthread_mutex_init(&run->lock, NULL) == 0)
        return true;
    if (changed)
        pthread_cond_destroy(&run->tickets.changed);
    if (finished)
        pthread_cond_destroy(&run->finished);
    return false;
}

/* Called in the child if the interrupt callback forked. A helper thread of the parent may have held the lock
   or been in the middle of a change, so the child discards the state that threads share. */
static void forget_helpers(ptx_run *run) {
    run->forked = true;
    run->running = 0;
    run->printed = NULL;
    run->printed_count = run->printed_capacity = 0;
    (void)ptx_run_open_locks(run);
}

void ptx_run_wait(ptx_run *run, pthread_cond_t *changed) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NANOSECONDS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(changed, &run->lock, &until);
}

bool ptx_run_interrupted(ptx_run *run, uint64_t *last_poll) {
    const ptx_launch_config *config = run->config;
    if (!config->interrupted)
        return false;
    uint64_t time = ptx_now();
    if (time - *last_poll < POLL_NANOSECONDS)
        return false;
    *last_poll = time;
    const pid_t process = getpid();
    const bool stop = config->interrupted(config->interrupted_arg), forked = getpid() != process;
    if (forked)
        forget_helpers(run);
    if (!stop && !forked)
        return false;
    ptx_error error;
    ptx_fail(&error, PTX_ERR_INTERRUPTED, "kernel %s was interrupted%s", run->kernel->name,
             forked ? ": the process was forked, and the child has none of its threads" : "");
    ptx_run_fail(run, UINT64_MAX, &error);
    return true;
}
