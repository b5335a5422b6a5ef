/* Deterministic order of inter-block communication on several host threads: a ticket lock in the order of
   clusters.

   Accesses that other blocks can observe (atomics, strong loads and stores on global memory) must take effect
   in the order of a single thread. A cluster runs ahead up to its first such access. It continues once its
   ticket is served, and keeps the ticket until it ends. The worker that holds the ticket also adopts the next
   cluster that waits for one, which avoids waking another thread. If a cluster with the ticket waits for
   later clusters, its worker runs those, too, as a single thread would. */
#ifndef PTXSIM_TICKETS_H
#define PTXSIM_TICKETS_H

#include "interpreter/state.h"

enum {
    PTX_MAX_AHEAD = 4
}; /* maximal number of clusters per host thread that have started without their ticket */

/* Result of ptx_tickets_draw and ptx_tickets_adopt. */
typedef enum ptx_ticket_result {
    PTX_TICKET_NONE,   /* no clusters are left, or none that matter after an error */
    PTX_TICKET_FAILED, /* another thread found an error, which ends the launch */
    PTX_TICKET_START,  /* start the cluster *index */
    PTX_TICKET_RESUME, /* resume *cluster, which another thread started and left */
    PTX_TICKET_DONE    /* another thread has run the cluster to its end */
} ptx_ticket_result;

bool ptx_tickets_open(ptx_run *run, unsigned threads);
/* After an error: returns the clusters that still wait for their ticket to a worker, which frees them. */
void ptx_tickets_close(ptx_run *run, ptx_worker *worker);

/* The next cluster of the grid, for a worker without a running cluster. */
ptx_ticket_result ptx_tickets_draw(ptx_worker *worker, uint64_t *index, bool *has_ticket);
/* The next cluster in ticket order, for the worker that holds the ticket; waits for a thread that runs it
   ahead. */
ptx_ticket_result ptx_tickets_adopt(ptx_worker *worker, uint64_t *index, ptx_cluster **cluster);
/* For a cluster that needs its ticket: returns true if the ticket is free, otherwise leaves the cluster in
   its slot. */
bool ptx_tickets_claim(ptx_worker *worker, ptx_cluster *cluster);
/* The last cluster of a worker has ended. Returns the waiting cluster that gets the ticket next;
   NULL if none waits. */
ptx_cluster *ptx_tickets_release(ptx_worker *worker, const ptx_cluster *ended);
#endif
