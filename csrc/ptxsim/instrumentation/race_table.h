/* A table of race reports: one per pair of instructions, with the first example and the number of
   occurrences. */
#ifndef PTXSIM_RACE_TABLE_H
#define PTXSIM_RACE_TABLE_H

#include "instrumentation/race.h"

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
