/* The diagnostics of the race detector: a table of reports, one per pair of instructions, with the first
   example and the number of occurrences. */
#ifndef PTXSIM_RACE_TABLE_H
#define PTXSIM_RACE_TABLE_H

#include "ir.h"

typedef enum ptx_hazard {
    PTX_HAZARD_WRITE_READ,    /* a read of another thread's write, without happens-before order */
    PTX_HAZARD_READ_WRITE,    /* a write that another thread's read may still precede */
    PTX_HAZARD_WRITE_WRITE,   /* two unordered writes */
    PTX_HAZARD_UNINITIALISED, /* a read before any write */
    PTX_HAZARD_BARRIER,       /* not all threads of a block reach the same barrier */
    PTX_HAZARD_UNFENCED,      /* an async copy reads a thread's write without fence.proxy.async */
    PTX_HAZARD_ABSENT_LANE    /* a shuffle reads from an inactive lane */
} ptx_hazard;

/* A pair of instructions with a hazard. The threads are those of the first occurrence in the block with the
   lowest index. */
typedef struct ptx_race {
    ptx_hazard hazard;
    uint32_t first_pc, second_pc;         /* in order of execution; PTX_NO_PC if not known */
    uint32_t first_thread, second_thread; /* warp * 32 + lane */
    uint64_t first_block, second_block;   /* linear block indices of the two threads */
    uint64_t block;                       /* linear index of the block that owns the shared memory */
    uint64_t address; /* byte offset in shared memory; PTX_HAZARD_ABSENT_LANE: the source lane */
    uint64_t count;   /* occurrences, per lane */
    bool global;   /* in global memory: `address` is an offset in its allocation, `block` the second block */
    bool collides; /* the same store wrote twice, and no barrier between the executions orders the writes */
} ptx_race;

/* Maximal number of distinct reports per launch; further ones are only counted. */
enum { PTX_MAX_RACES = 256 };

typedef struct ptx_race_table {
    ptx_race races[PTX_MAX_RACES];
    size_t count, last; /* `last` is the index of the report that was updated last */
    uint64_t dropped;   /* occurrences that were not recorded because the table was full */
} ptx_race_table;

/* Adds to the report of the same hazard and instructions, or creates it. The example of the lowest block is
   kept, so that the result does not depend on how host threads share the blocks. */
void ptx_race_table_add(ptx_race_table *table, const ptx_race *race);
void ptx_race_table_sort(ptx_race_table *table);

#endif
