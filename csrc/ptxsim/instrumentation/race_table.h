/* The reports of a race check: one for each pair of instructions, with the first example and a count. */
#ifndef PTXSIM_RACE_TABLE_H
#define PTXSIM_RACE_TABLE_H

#include "instrumentation/race.h"

typedef struct ptx_race_table {
    ptx_race races[PTX_MAX_RACES];
    size_t count, last; /* `last` is where the report before was found */
    uint64_t dropped;   /* for which there was no room */
} ptx_race_table;

/* Adds to the report of the same hazard at the same place, or makes one. Of several examples that of the
   lowest block stays, so that the order in which threads take blocks changes nothing. */
void ptx_race_table_add(ptx_race_table *table, const ptx_race *race);
void ptx_race_table_sort(ptx_race_table *table);

#endif
