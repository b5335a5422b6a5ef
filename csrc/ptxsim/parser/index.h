/* Finds the entries of an array by a hash: chains of their numbers, the newest entry first. The array is the
   caller's, and so is the comparison. */
#ifndef PTXSIM_INDEX_H
#define PTXSIM_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_NO_ENTRY UINT32_MAX

typedef struct ptx_index_link {
    uint32_t hash, next;
} ptx_index_link;

/* All zeros is an empty one. */
typedef struct ptx_index {
    ptx_index_link *links; /* one for each entry of the array */
    size_t count, capacity;
    uint32_t *first; /* of each chain */
    size_t chains;   /* a power of two, or 0 */
} ptx_index;

uint32_t ptx_hash(const void *bytes, size_t length, uint32_t seed);
/* Tells of a new entry at the end of the array; false when memory ran out. */
bool ptx_index_add(ptx_index *index, uint32_t hash);
/* Forgets the newest entries, down to so many. */
void ptx_index_shrink(ptx_index *index, size_t count);
void ptx_index_free(ptx_index *index);

/* The newest entry of that hash that is older than `before`, which is PTX_NO_ENTRY for the first look. */
uint32_t ptx_index_find(const ptx_index *index, uint32_t hash, uint32_t before);

#endif
