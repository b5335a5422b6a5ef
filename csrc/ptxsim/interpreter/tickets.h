/* Kernels whose blocks tell each other something by way of global memory, on several host threads.

   What one block does to memory that others watch (atomics, strong loads and stores) has to come in the order
   of one thread: a cluster runs ahead up to the first such access, and goes on when it is its turn, which it
   then has to its end. Whoever has the turn takes over the next cluster that waits for its own, so that no
   thread has to wake another. A cluster with the turn that waits for later ones takes them in, too, as one
   thread would. */
#ifndef PTXSIM_TICKETS_H
#define PTXSIM_TICKETS_H

#include "interpreter/state.h"

enum { PTX_MAX_AHEAD = 4 }; /* clusters for each thread that may have begun before their turn */

/* What ptx_turns_take and ptx_turns_adopt found. */
typedef enum ptx_ticket_result {
    PTX_TICKET_NONE,   /* there are no more, or none that matter after an error */
    PTX_TICKET_FAILED, /* another thread found an error there, which ends the launch */
    PTX_TICKET_START,  /* one to begin with */
    PTX_TICKET_RESUME, /* *cluster, which another thread has begun and left */
    PTX_TICKET_DONE    /* one that another thread has run to its end */
} ptx_ticket_result;

bool ptx_tickets_open(ptx_run *run, unsigned threads);
/* Gives a worker the clusters that have waited in vain, after an error. */
void ptx_tickets_close(ptx_run *run, ptx_worker *worker);

/* The next cluster of the grid, for a worker that has none. */
ptx_ticket_result ptx_tickets_draw(ptx_worker *worker, uint64_t *index, bool *has_ticket);
/* The next one in order, for the worker that has the turn; waits for another thread that runs it ahead. */
ptx_ticket_result ptx_tickets_adopt(ptx_worker *worker, uint64_t *index, ptx_cluster **cluster);
/* For a cluster that can go on only in its turn: true if that has come, else it is left for others. */
bool ptx_tickets_claim(ptx_worker *worker, ptx_cluster *cluster);
/* A worker's last cluster has ended. Returns one that goes on in its turn, NULL if there is none. */
ptx_cluster *ptx_tickets_release(ptx_worker *worker, const ptx_cluster *ended);
#endif
