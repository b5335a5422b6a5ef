/* A dynamic race detector for global memory: two blocks access a word in one launch, one of them writes, and
   nothing orders the accesses.

   Shadow memory holds the last write and two reads of each word. block_order.h says what orders two blocks: a
   fence and an atomic, as of grid.sync() or of the pattern of the last block. Atomics and strong accesses
   (volatile, relaxed, acquire, release) do not race with each other, nor does a store of the value that the
   word has already. Threads of one block are not compared, and copies by cp.async.bulk are not seen. */
#ifndef PTXSIM_GLOBAL_RACES_H
#define PTXSIM_GLOBAL_RACES_H

#include "instrumentation/race_table.h"
#include "interpreter/hooks.h"

typedef struct ptx_global_races {
    ptx_observer base;              /* first member, so that a ptx_observer * can be cast to this type */
    ptx_race_table *table;          /* of the owner, sorted after each launch */
    unsigned attached;              /* resident blocks */
    struct ptx_global_state *state; /* of the current launch, NULL between launches */
} ptx_global_races;

/* Adds its reports to a table that outlives it. */
ptx_status ptx_global_races_create(ptx_race_table *table, ptx_global_races **out, ptx_error *error);
void ptx_global_races_free(ptx_global_races *races);

#endif
