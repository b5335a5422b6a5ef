/* A pool of host threads that copy arrays, chunk by chunk, into the pinned stages of a staging ring. */
#ifndef GR_EXECUTOR_COPY_POOL_H
#define GR_EXECUTOR_COPY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { GR_COPY_SOURCES = 2, GR_COPY_MAX_STAGES = 16 };

typedef struct gr_copy_pool gr_copy_pool;

/* Chunk i of every source is copied to stage i % stages. In a stage the chunks of the sources are
 * consecutive. */
typedef struct gr_copy_job {
    const char *from[GR_COPY_SOURCES];
    size_t sources;
    uint64_t bytes;     /* bytes per source */
    size_t chunk_bytes; /* bytes per source; the last chunk may be shorter */
    char *ring;
    size_t stages, stage_bytes;
} gr_copy_job;

/* Starts up to `threads` threads; fewer if the system refuses. Without threads gr_copy_pool_wait copies. */
gr_status gr_copy_pool_open(size_t threads, gr_copy_pool **out, gr_error *error);
void gr_copy_pool_close(gr_copy_pool *pool); /* NULL is allowed */

/* Starts a job, one at a time. Chunks below index `allowed` may be copied. */
void gr_copy_pool_start(gr_copy_pool *pool, const gr_copy_job *job, uint64_t allowed);
void gr_copy_pool_allow(gr_copy_pool *pool, uint64_t allowed);
/* Waits up to `milliseconds` for a chunk; true if it is complete. Chunks are waited for in order, each until
 * it is complete. */
bool gr_copy_pool_wait(gr_copy_pool *pool, uint64_t chunk, long milliseconds);
/* Ends the job; returns when no thread reads the sources. */
void gr_copy_pool_stop(gr_copy_pool *pool);

#endif
