/* Writes down who accesses which bytes of global memory, of one block. */
#ifndef PTXSIM_VISITS_H
#define PTXSIM_VISITS_H

#include "interpreter/hooks.h"

/* One lane's access. */
typedef struct ptx_visit {
    uint64_t memory; /* where the allocation begins; 0 of an access that will fail */
    uint64_t offset; /* from there */
    uint32_t pc, thread;
    uint32_t round; /* barriers of the whole block before it */
    uint16_t bytes, effect;
} ptx_visit;

/* The most that are kept. */
enum { PTX_VISITS = 1 << 22 };

typedef struct ptx_visits ptx_visits;

/* `block` is a linear block number. */
ptx_status ptx_visits_create(uint64_t block, ptx_visits **out, ptx_error *error);
void ptx_visits_free(ptx_visits *visits);
ptx_observer *ptx_visits_observer(ptx_visits *visits);

/* In their order; they belong to the observer. *lost are those for which there was no room. */
const ptx_visit *ptx_visits_list(const ptx_visits *visits, size_t *count, uint64_t *lost);

#endif
