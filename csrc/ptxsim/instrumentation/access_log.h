/* Observer that logs each access of one block to global memory: thread, instruction, allocation and
   offset. */
#ifndef PTXSIM_ACCESS_LOG_H
#define PTXSIM_ACCESS_LOG_H

#include "interpreter/hooks.h"

/* The access of one lane. */
typedef struct ptx_logged_access {
    uint64_t memory; /* address of the allocation; 0 if the access will fail */
    uint64_t offset; /* bytes from the start of the allocation */
    uint32_t pc, thread;
    uint32_t round; /* barriers of the whole block before the access */
    uint16_t bytes, effect;
} ptx_logged_access;

/* Maximal number of logged accesses. */
enum { PTX_MAX_LOGGED = 1 << 22 };

typedef struct ptx_access_log {
    ptx_observer base; /* first member, so that a ptx_observer * can be cast to this type */
    uint64_t block;
    ptx_logged_access *entries; /* in order */
    size_t count, capacity;
    uint64_t lost; /* accesses that were not logged */
} ptx_access_log;

/* `block` is a linear block index. */
ptx_status ptx_access_log_create(uint64_t block, ptx_access_log **out, ptx_error *error);
void ptx_access_log_free(ptx_access_log *log);

#endif
