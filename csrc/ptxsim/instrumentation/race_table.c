/* Collects and sorts race reports. */
#include "instrumentation/race_table.h"

#include <stdlib.h>

static bool in_one_warp(const ptx_race *race) {
    return race->first_block == race->second_block &&
           race->first_thread / PTX_LANES == race->second_thread / PTX_LANES;
}

static bool same_site(const ptx_race *a, const ptx_race *b) {
    return a->hazard == b->hazard && a->global == b->global && a->first_pc == b->first_pc &&
           a->second_pc == b->second_pc && in_one_warp(a) == in_one_warp(b);
}

static void merge(ptx_race *to, const ptx_race *from) {
    uint64_t count = to->count + from->count;
    const bool collides = to->collides || from->collides;
    if (from->block < to->block)
        *to = *from;
    to->count = count;
    to->collides = collides;
}

void ptx_race_table_add(ptx_race_table *table, const ptx_race *race) {
    if (table->last < table->count && same_site(&table->races[table->last], race)) {
        merge(&table->races[table->last], race);
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        if (!same_site(&table->races[i], race))
            continue;
        table->last = i;
        merge(&table->races[i], race);
        return;
    }
    if (table->count == PTX_MAX_RACES) {
        table->dropped += race->count;
        return;
    }
    table->last = table->count;
    table->races[table->count++] = *race;
}

static int compare(const void *left, const void *right) {
    const ptx_race *a = left, *b = right;
    const uint32_t keys[][2] = {{a->global, b->global},
                                {a->hazard, b->hazard},
                                {a->second_pc, b->second_pc},
                                {a->first_pc, b->first_pc},
                                {in_one_warp(a), in_one_warp(b)}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

void ptx_race_table_sort(ptx_race_table *table) {
    qsort(table->races, table->count, sizeof table->races[0], compare);
    table->last = table->count;
}
