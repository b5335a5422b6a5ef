/* Threads that copy an array, chunk after chunk, into the places of a ring. */
#ifndef GR_EXECUTOR_COPY_POOL_H
#define GR_EXECUTOR_COPY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { GR_COPY_SOURCES = 2, GR_COPY_MAX_STAGES = 16 };

typedef struct gr_copy_pool gr_copy_pool;

/* Chunk i of every source goes to place i % places; in a place the sources lie one behind the other. */
typedef struct gr_copy_job {
    const char *from[GR_COPY_SOURCES];
    size_t sources;
    uint64_t bytes;     /* of each source */
    size_t chunk_bytes; /* of each source; the last chunk may be shorter */
    char *ring;
    size_t stages, stage_bytes;
} gr_copy_job;

/* Has as many of the threads as could be started. Without any, who waits for a chunk copies it. */
gr_status gr_copy_pool_open(size_t threads, gr_copy_pool **out, gr_error *error);
void gr_copy_pool_close(gr_copy_pool *pool); /* NULL is allowed */

/* One job at a time. Its chunks below `allowed` may be copied from now on. */
void gr_copy_pool_start(gr_copy_pool *pool, const gr_copy_job *job, uint64_t allowed);
void gr_copy_pool_allow(gr_copy_pool *pool, uint64_t allowed);
/* Waits some time for a chunk; true once it is there. Each is asked for in turn, until it is there. */
bool gr_copy_pool_wait(gr_copy_pool *pool, uint64_t chunk, long milliseconds);
/* Returns when no thread reads the sources any more. */
void gr_copy_pool_stop(gr_copy_pool *pool);

#endif
