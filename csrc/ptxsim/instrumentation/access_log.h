/* Writes down who accesses which bytes of global memory, of one block. */
#ifndef PTXSIM_ACCESS_LOG_H
#define PTXSIM_ACCESS_LOG_H

#include "interpreter/hooks.h"

/* One lane's access. */
typedef struct ptx_logged_access {
    uint64_t memory; /* where the allocation begins; 0 of an access that will fail */
    uint64_t offset; /* from there */
    uint32_t pc, thread;
    uint32_t round; /* barriers of the whole block before it */
    uint16_t bytes, effect;
} ptx_logged_access;

/* The most that are kept. */
enum { PTX_MAX_LOGGED = 1 << 22 };

typedef struct ptx_access_log ptx_access_log;

/* `block` is a linear block number. */
ptx_status ptx_access_log_create(uint64_t block, ptx_access_log **out, ptx_error *error);
void ptx_access_log_free(ptx_access_log *log);
ptx_observer *ptx_access_log_observer(ptx_access_log *log);

/* In their order; they belong to the observer. *lost are those for which there was no room. */
const ptx_logged_access *ptx_access_log_entries(const ptx_access_log *log, size_t *count, uint64_t *lost);

#endif
