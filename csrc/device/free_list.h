/* What a device keeps for the next call, of whatever kind: memory, a ring of chunks. One list of idle things,
   from which a call takes what it needs and to which it gives it back. */
#ifndef GR_DEVICE_FREE_LIST_H
#define GR_DEVICE_FREE_LIST_H

#include <pthread.h>

#include "device/backend.h"

typedef struct gr_cached gr_cached;

typedef struct gr_cached_kind {
    const char *name;   /* for messages */
    size_t size;        /* of the structure, whose first member is a gr_cached */
    size_t most;        /* that stay idle; the one that waited longest makes room */
    bool not_fork_safe; /* a forked child can neither use nor close those of its parent */
    /* Fills in one that is all zeroes but for its gr_cached: its order, and `bytes`, whatever the kind means
       by that. */
    gr_status (*open)(gr_backend *backend, gr_cached *self, gr_error *error);
    /* Also after `open` failed. Does not free *self itself. */
    void (*close)(gr_backend *backend, gr_cached *self);
} gr_cached_kind;

struct gr_cached {
    gr_cached *next;
    const gr_cached_kind *kind;
    size_t bytes;
    gr_stream_state stream_state; /* of the stream whose calls alone may have it */
    int process;
};

typedef struct gr_free_list {
    gr_backend *backend;
    gr_cached *idle; /* those given last come first */
    pthread_mutex_t lock;
} gr_free_list;

void gr_free_list_init(gr_free_list *free_list);
/* Closes all that is idle. */
void gr_free_list_clear(gr_free_list *free_list);

/* An idle one of this kind, size and stream, or a new one. */
gr_status gr_free_list_acquire(gr_free_list *free_list, const gr_cached_kind *kind, size_t bytes,
                               const gr_stream_state *stream_state, gr_cached **out, gr_error *error);
/* `usable`: the next call may have it at once. NULL is allowed. */
void gr_free_list_release(gr_free_list *free_list, gr_cached *self, bool usable);

#endif
