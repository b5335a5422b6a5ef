/* Copy threads: a job is a list of chunks in pieces; a mutex and two condition variables. */
#include "executor/copy_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/process.h"

/* Pieces per chunk, which threads take one at a time; pieces are whole cache lines (bytes). */
enum { PIECES = 8, LINE = 64 };
/* In jobs of up to this many chunks the waiting thread copies, too, while the other threads wake up. In
 * longer jobs it has to enqueue uploads in time. */
enum { SHARED_CHUNKS = 4 };

struct gr_copy_pool {
    pthread_mutex_t lock;
    pthread_cond_t work,
        progress; /* work: for the pool threads; progress: for the thread that waits for chunks */
    gr_copy_job job;
    uint64_t chunks, allowed; /* of the current job */
    uint64_t next;            /* index of the next piece to copy, counted over all chunks */
    unsigned copied[GR_COPY_MAX_STAGES];
    unsigned busy; /* threads that copy at the moment */
    bool quit;
    int process; /* process number: after fork() the child has no threads */
    size_t count;
    pthread_t threads[];
};

static void copy_piece(const gr_copy_job *job, uint64_t chunk, unsigned piece) {
    const uint64_t begin = chunk * job->chunk_bytes;
    const uint64_t left = job->bytes - begin;
    const size_t length = left < job->chunk_bytes ? (size_t)left : job->chunk_bytes;
    const size_t share = (length / PIECES + LINE) / LINE * LINE;
    const size_t from = piece * share, to = from + share < length ? from + share : length;
    char *stage = job->ring + chunk % job->stages * job->stage_bytes;
    for (size_t i = 0; from < to && i < job->sources; ++i)
        memcpy(stage + i * job->chunk_bytes + from, job->from[i] + begin + from, to - from);
}

static bool has_work(const gr_copy_pool *pool) {
    return pool->next < (pool->allowed < pool->chunks ? pool->allowed : pool->chunks) * PIECES;
}

/* Copies the next piece; the lock is released during the copy. */
static void copy_next(gr_copy_pool *pool) {
    const uint64_t piece = pool->next++, chunk = piece / PIECES;
    const gr_copy_job job = pool->job;
    ++pool->busy;
    pthread_mutex_unlock(&pool->lock);
    copy_piece(&job, chunk, piece % PIECES);
    pthread_mutex_lock(&pool->lock);
    --pool->busy;
    if (++pool->copied[chunk % job.stages] == PIECES || pool->busy == 0)
        pthread_cond_signal(&pool->progress);
}

static void *work(void *argument) {
    gr_copy_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->quit) {
        if (has_work(pool))
            copy_next(pool);
        else
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

gr_status gr_copy_pool_open(size_t threads, gr_copy_pool **out, gr_error *error) {
    gr_copy_pool *pool = calloc(1, sizeof *pool + threads * sizeof pool->threads[0]);
    if (pool == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for copy threads");
    pool->process = gr_process();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->progress, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* Signals are delivered to the threads of the program, not to these. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->count < threads && pthread_create(&pool->threads[pool->count], NULL, work, pool) == 0)
        ++pool->count;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *out = pool;
    return GR_OK;
}

void gr_copy_pool_close(gr_copy_pool *pool) {
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->count; ++i)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->progress);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void gr_copy_pool_start(gr_copy_pool *pool, const gr_copy_job *job, uint64_t allowed) {
    pthread_mutex_lock(&pool->lock);
    pool->job = *job;
    pool->chunks = job->bytes / job->chunk_bytes + (job->bytes % job->chunk_bytes != 0);
    pool->allowed = allowed;
    pool->next = 0;
    memset(pool->copied, 0, sizeof pool->copied);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void gr_copy_pool_allow(gr_copy_pool *pool, uint64_t allowed) {
    pthread_mutex_lock(&pool->lock);
    pool->allowed = allowed;
    if (has_work(pool))
        pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

bool gr_copy_pool_wait(gr_copy_pool *pool, uint64_t chunk, long milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&pool->lock);
    unsigned *copied = &pool->copied[chunk % pool->job.stages];
    int late = 0;
    while (*copied < PIECES && late == 0) {
        if ((pool->count == 0 || pool->chunks <= SHARED_CHUNKS) && has_work(pool))
            copy_next(pool);
        else
            late = pthread_cond_timedwait(&pool->progress, &pool->lock, &until);
    }
    const bool there = *copied == PIECES;
    if (there)
        *copied = 0; /* the stage may be overwritten */
    pthread_mutex_unlock(&pool->lock);
    return there;
}

void gr_copy_pool_stop(gr_copy_pool *pool) {
    if (pool->process != gr_process()) /* a signal handler called fork() during the call */
        return;
    pthread_mutex_lock(&pool->lock);
    pool->chunks = 0;
    while (pool->busy > 0)
        pthread_cond_wait(&pool->progress, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
