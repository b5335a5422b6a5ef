#include "interpreter/turns.h"

#include <stdlib.h>
#include <time.h>

#include "interpreter/run.h"

enum { WAIT_NANOSECONDS = 10 * 1000 * 1000 };

/* A cluster that has begun before its turn and has left its worker; in the place of its index. */
typedef struct ptx_ahead {
    ptx_cluster *waiting; /* for its turn */
    bool ended;
} ptx_ahead;

static ptx_ahead *place_of(const ptx_turns *turns, uint64_t index) {
    return &turns->ahead[index % turns->length];
}

bool ptx_turns_open(ptx_run *run, unsigned threads) {
    ptx_turns *turns = &run->turns;
    const size_t length = (size_t)PTX_AHEAD * threads;
    turns->ahead = calloc(length, sizeof *turns->ahead);
    turns->length = turns->ahead != NULL ? length : 0;
    return turns->ahead != NULL;
}

void ptx_turns_close(ptx_run *run, ptx_worker *worker) {
    ptx_turns *turns = &run->turns;
    for (size_t i = 0; i < turns->length && !run->forked; i++) {
        ptx_cluster *cluster = turns->ahead[i].waiting;
        if (!cluster)
            continue;
        for (unsigned b = 0; b < run->cluster_blocks; b++)
            cluster->blocks[b]->worker = worker;
        cluster->next = worker->idle;
        worker->idle = cluster;
    }
    free(turns->ahead);
}

static bool has_room(const ptx_turns *turns, size_t room) {
    return turns->next - turns->current + room <= turns->length;
}

/* To be called after a change. Those that wait for room wait until there is some for all of them, else they
   would sleep again at once. */
static void wake(ptx_run *run) {
    const ptx_turns *turns = &run->turns;
    const ptx_ahead *place = place_of(turns, turns->current);
    if ((turns->adopting && (place->waiting || place->ended)) ||
        (turns->crowded && has_room(turns, turns->length / 2)))
        pthread_cond_broadcast(&run->turns.moved);
}

/* Until something has happened, or a while has passed. The calling thread asks whether to stop. */
static void wait_a_while(ptx_worker *worker) {
    ptx_run *run = worker->run;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_NANOSECONDS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&run->turns.moved, &run->lock, &until);
    if (worker->caller) {
        pthread_mutex_unlock(&run->lock);
        (void)ptx_run_interrupted(run, &worker->polled);
        pthread_mutex_lock(&run->lock);
    }
}

/* Whether clusters from this one on no longer matter. */
static bool is_over(const ptx_run *run, uint64_t index) {
    return index >= run->cluster_count || atomic_load(&run->stop) ||
           index >= atomic_load(&run->failed_cluster);
}

ptx_taken ptx_turns_take(ptx_worker *worker, uint64_t *index, bool *in_turn) {
    ptx_run *run = worker->run;
    ptx_turns *turns = &run->turns;
    pthread_mutex_lock(&run->lock);
    for (size_t room = 1; !is_over(run, turns->next) && !has_room(turns, room); room = turns->length / 2) {
        turns->crowded++;
        wait_a_while(worker);
        turns->crowded--;
    }
    const bool good = !is_over(run, turns->next);
    if (good) {
        *index = turns->next++;
        *in_turn = !turns->taken && *index == turns->current;
        if (*in_turn) {
            turns->taken = true;
            turns->current++;
        }
    }
    pthread_mutex_unlock(&run->lock);
    return good ? PTX_TAKEN_INDEX : PTX_TAKEN_NONE;
}

ptx_taken ptx_turns_adopt(ptx_worker *worker, uint64_t *index, ptx_cluster **cluster) {
    ptx_run *run = worker->run;
    ptx_turns *turns = &run->turns;
    pthread_mutex_lock(&run->lock);
    ptx_ahead *place = place_of(turns, turns->current);
    turns->adopting = true;
    while (!is_over(run, turns->current) && turns->current < turns->next && !place->waiting && !place->ended)
        wait_a_while(worker);
    turns->adopting = false;
    ptx_taken taken = turns->current < run->cluster_count ? PTX_TAKEN_FAILED : PTX_TAKEN_NONE;
    if (!is_over(run, turns->current)) {
        taken = place->ended ? PTX_TAKEN_ENDED : place->waiting ? PTX_TAKEN_BEGUN : PTX_TAKEN_INDEX;
        *cluster = place->waiting;
        *place = (ptx_ahead){0};
        *index = turns->current++;
        turns->next += taken == PTX_TAKEN_INDEX;
        wake(run);
    }
    pthread_mutex_unlock(&run->lock);
    return taken;
}

bool ptx_turns_reach(ptx_worker *worker, ptx_cluster *cluster) {
    ptx_run *run = worker->run;
    ptx_turns *turns = &run->turns;
    pthread_mutex_lock(&run->lock);
    const bool now = !turns->taken && cluster->index == turns->current;
    if (now) {
        turns->taken = true;
        turns->current++;
    } else {
        place_of(turns, cluster->index)->waiting = cluster;
    }
    wake(run);
    pthread_mutex_unlock(&run->lock);
    return now;
}

ptx_cluster *ptx_turns_end(ptx_worker *worker, const ptx_cluster *ended) {
    ptx_run *run = worker->run;
    ptx_turns *turns = &run->turns;
    ptx_cluster *next = NULL;
    pthread_mutex_lock(&run->lock);
    if (ended->in_turn)
        turns->taken = false;
    else
        place_of(turns, ended->index)->ended = true;
    while (!turns->taken && place_of(turns, turns->current)->ended)
        place_of(turns, turns->current++)->ended = false;
    if (!turns->taken && place_of(turns, turns->current)->waiting) {
        ptx_ahead *place = place_of(turns, turns->current++);
        next = place->waiting;
        *place = (ptx_ahead){0};
        turns->taken = true;
    }
    wake(run);
    pthread_mutex_unlock(&run->lock);
    return next;
}
