/* What a device keeps for the next call, of whatever kind: memory, a ring of chunks. One list of idle things,
   from which a call takes what it needs and to which it gives it back. */
#ifndef GR_DEVICE_KEPT_H
#define GR_DEVICE_KEPT_H

#include <pthread.h>

#include "device/backend.h"

typedef struct gr_kept gr_kept;

typedef struct gr_kept_kind {
    const char *name; /* for messages */
    size_t size;      /* of the structure, whose first member is a gr_kept */
    size_t most;      /* that stay idle; the one that waited longest makes room */
    bool of_process;  /* a forked child can neither use nor close those of its parent */
    /* Fills in one that is all zeroes but for its gr_kept: its order, and `bytes`, whatever the kind means by
       that. */
    gr_status (*open)(gr_backend *backend, gr_kept *self, gr_error *error);
    /* Also after `open` failed. Does not free *self itself. */
    void (*close)(gr_backend *backend, gr_kept *self);
} gr_kept_kind;

struct gr_kept {
    gr_kept *next;
    const gr_kept_kind *kind;
    size_t bytes;
    gr_order order; /* of the stream whose calls alone may have it */
    int process;
};

typedef struct gr_shelf {
    gr_backend *backend;
    gr_kept *idle; /* those given last come first */
    pthread_mutex_t lock;
} gr_shelf;

void gr_shelf_init(gr_shelf *shelf);
/* Closes all that is idle. */
void gr_shelf_clear(gr_shelf *shelf);

/* An idle one of this kind, size and stream, or a new one. */
gr_status gr_shelf_take(gr_shelf *shelf, const gr_kept_kind *kind, size_t bytes, const gr_order *order,
                        gr_kept **out, gr_error *error);
/* `usable`: the next call may have it at once. NULL is allowed. */
void gr_shelf_give(gr_shelf *shelf, gr_kept *self, bool usable);

#endif
