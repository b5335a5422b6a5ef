/* The ticket lock that orders clusters, and the slots of clusters that ran ahead. */
#include "interpreter/tickets.h"

#include <stdlib.h>

#include "interpreter/run.h"

/* The slot of a cluster that started without its ticket and has left its worker. */
typedef struct ptx_ticket_slot {
    ptx_cluster *waiting; /* waits for its ticket, or NULL */
    bool ended;
} ptx_ticket_slot;

static ptx_ticket_slot *slot_of(const ptx_tickets *tickets, uint64_t index) {
    return &tickets->slots[index % tickets->capacity];
}

bool ptx_tickets_open(ptx_run *run, unsigned threads) {
    ptx_tickets *tickets = &run->tickets;
    const size_t capacity = (size_t)PTX_MAX_AHEAD * threads;
    tickets->slots = calloc(capacity, sizeof *tickets->slots);
    tickets->capacity = tickets->slots != NULL ? capacity : 0;
    return tickets->slots != NULL;
}

void ptx_tickets_close(ptx_run *run, ptx_worker *worker) {
    ptx_tickets *tickets = &run->tickets;
    for (size_t i = 0; i < tickets->capacity && !run->forked; i++) {
        ptx_cluster *cluster = tickets->slots[i].waiting;
        if (!cluster)
            continue;
        for (unsigned b = 0; b < run->cluster_blocks; b++)
            cluster->blocks[b]->worker = worker;
        cluster->next = worker->idle;
        worker->idle = cluster;
    }
    free(tickets->slots);
}

static bool has_capacity(const ptx_tickets *tickets, size_t needed) {
    return tickets->next_ticket - tickets->now_serving + needed <= tickets->capacity;
}

/* Called after a change. Workers that wait for a free slot are woken once half of the slots are free, as they
   would otherwise sleep again at once. */
static void wake_waiters(ptx_run *run) {
    const ptx_tickets *tickets = &run->tickets;
    const ptx_ticket_slot *slot = slot_of(tickets, tickets->now_serving);
    if ((tickets->adopting && (slot->waiting || slot->ended)) ||
        (tickets->waiting_for_capacity && has_capacity(tickets, tickets->capacity / 2)))
        pthread_cond_broadcast(&run->tickets.changed);
}

/* Waits for a change, for at most 10 ms. The calling thread also polls the interrupt callback. */
static void wait_for_change(ptx_worker *worker) {
    ptx_run *run = worker->run;
    ptx_run_wait(run, &run->tickets.changed);
    if (worker->caller) {
        pthread_mutex_unlock(&run->lock);
        (void)ptx_run_interrupted(run, &worker->last_poll);
        pthread_mutex_lock(&run->lock);
    }
}

/* Whether clusters from `index` on no longer matter. */
static bool is_over(const ptx_run *run, uint64_t index) {
    return index >= run->cluster_count || atomic_load(&run->stop) ||
           index >= atomic_load(&run->failed_cluster);
}

ptx_ticket_result ptx_tickets_draw(ptx_worker *worker, uint64_t *index, bool *has_ticket) {
    ptx_run *run = worker->run;
    ptx_tickets *tickets = &run->tickets;
    pthread_mutex_lock(&run->lock);
    for (size_t needed = 1; !is_over(run, tickets->next_ticket) && !has_capacity(tickets, needed);
         needed = tickets->capacity / 2) {
        tickets->waiting_for_capacity++;
        wait_for_change(worker);
        tickets->waiting_for_capacity--;
    }
    const bool good = !is_over(run, tickets->next_ticket);
    if (good) {
        *index = tickets->next_ticket++;
        *has_ticket = !tickets->held && *index == tickets->now_serving;
        if (*has_ticket) {
            tickets->held = true;
            tickets->now_serving++;
        }
    }
    pthread_mutex_unlock(&run->lock);
    return good ? PTX_TICKET_START : PTX_TICKET_NONE;
}

ptx_ticket_result ptx_tickets_adopt(ptx_worker *worker, uint64_t *index, ptx_cluster **cluster) {
    ptx_run *run = worker->run;
    ptx_tickets *tickets = &run->tickets;
    pthread_mutex_lock(&run->lock);
    ptx_ticket_slot *slot = slot_of(tickets, tickets->now_serving);
    tickets->adopting = true;
    while (!is_over(run, tickets->now_serving) && tickets->now_serving < tickets->next_ticket &&
           !slot->waiting && !slot->ended)
        wait_for_change(worker);
    tickets->adopting = false;
    ptx_ticket_result result =
        tickets->now_serving < run->cluster_count ? PTX_TICKET_FAILED : PTX_TICKET_NONE;
    if (!is_over(run, tickets->now_serving)) {
        result = slot->ended ? PTX_TICKET_DONE : slot->waiting ? PTX_TICKET_RESUME : PTX_TICKET_START;
        *cluster = slot->waiting;
        *slot = (ptx_ticket_slot){0};
        *index = tickets->now_serving++;
        tickets->next_ticket += result == PTX_TICKET_START;
        wake_waiters(run);
    }
    pthread_mutex_unlock(&run->lock);
    return result;
}

bool ptx_tickets_claim(ptx_worker *worker, ptx_cluster *cluster) {
    ptx_run *run = worker->run;
    ptx_tickets *tickets = &run->tickets;
    pthread_mutex_lock(&run->lock);
    const bool now = !tickets->held && cluster->index == tickets->now_serving;
    if (now) {
        tickets->held = true;
        tickets->now_serving++;
    } else {
        slot_of(tickets, cluster->index)->waiting = cluster;
    }
    wake_waiters(run);
    pthread_mutex_unlock(&run->lock);
    return now;
}

ptx_cluster *ptx_tickets_release(ptx_worker *worker, const ptx_cluster *ended) {
    ptx_run *run = worker->run;
    ptx_tickets *tickets = &run->tickets;
    ptx_cluster *next = NULL;
    pthread_mutex_lock(&run->lock);
    if (ended->has_ticket)
        tickets->held = false;
    else
        slot_of(tickets, ended->index)->ended = true;
    while (!tickets->held && slot_of(tickets, tickets->now_serving)->ended)
        slot_of(tickets, tickets->now_serving++)->ended = false;
    if (!tickets->held && slot_of(tickets, tickets->now_serving)->waiting) {
        ptx_ticket_slot *slot = slot_of(tickets, tickets->now_serving++);
        next = slot->waiting;
        *slot = (ptx_ticket_slot){0};
        tickets->held = true;
    }
    wake_waiters(run);
    pthread_mutex_unlock(&run->lock);
    return next;
}
