/* A free list of per-device objects (zeroed workspace, mapped memory, staging rings, events), which calls
 * acquire and release. An object is reused by kind, size, stream and capture. After fork() the child can
 * neither use nor close an object of its parent. */
#ifndef GR_DEVICE_FREE_LIST_H
#define GR_DEVICE_FREE_LIST_H

#include <pthread.h>

#include "device/backend.h"

typedef struct gr_cached gr_cached;
typedef struct gr_free_list gr_free_list;

typedef struct gr_cached_kind {
    const char *name; /* name of the object, for error messages */
    size_t size;      /* bytes of the structure, whose first member is a gr_cached */
    size_t max_idle;  /* max number of idle objects; the least recently used one is closed */
    /* Opens an object, which is zeroed except for its gr_cached. The meaning of `bytes` depends on the kind.
     */
    gr_status (*open)(gr_free_list *free_list, gr_cached *self, gr_error *error);
    /* Closes an object, also after `open` failed. Does not free `self`. */
    void (*close)(gr_free_list *free_list, gr_cached *self);
} gr_cached_kind;

struct gr_cached {
    gr_cached *next;
    const gr_cached_kind *kind;
    size_t bytes;
    gr_stream_state stream_state; /* state of the stream for which it may be reused */
    int process;                  /* number of the process that opened it */
};

struct gr_free_list {
    gr_backend *backend;
    gr_cached *idle; /* most recently released first */
    pthread_mutex_t lock;
};

void gr_free_list_init(gr_free_list *free_list);
/* Closes the idle objects of one kind; NULL: of all kinds. */
void gr_free_list_close_idle(gr_free_list *free_list, const gr_cached_kind *kind);
/* Closes all idle objects. */
void gr_free_list_clear(gr_free_list *free_list);

/* Returns an idle object of this kind, size and stream, or opens a new one. Without a stream (NULL) any
 * stream may use the object. */
gr_status gr_free_list_acquire(gr_free_list *free_list, const gr_cached_kind *kind, size_t bytes,
                               const gr_stream_state *stream_state, gr_cached **out, gr_error *error);
/* Releases an object; if it is not `usable` it is closed. NULL is allowed. */
void gr_free_list_release(gr_free_list *free_list, gr_cached *self, bool usable);

#endif
