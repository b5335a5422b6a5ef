/* A hash index over an array: chains of entry numbers, newest first. The caller owns the array and compares
   the entries. */
#ifndef PTXSIM_INDEX_H
#define PTXSIM_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_NO_ENTRY UINT32_MAX

typedef struct ptx_index_link {
    uint32_t hash, next;
} ptx_index_link;

/* Zero-initialised: an empty index. */
typedef struct ptx_index {
    ptx_index_link *links; /* one per entry of the array */
    size_t count, capacity;
    uint32_t *first; /* first entry of each chain */
    size_t chains;   /* a power of two, or 0 */
} ptx_index;

uint32_t ptx_hash(const void *bytes, size_t length, uint32_t seed);
/* Adds the next entry of the array; returns false if memory ran out. */
bool ptx_index_add(ptx_index *index, uint32_t hash);
/* Removes the newest entries until `count` are left. */
void ptx_index_shrink(ptx_index *index, size_t count);
void ptx_index_free(ptx_index *index);

/* The newest entry with this hash that is older than `before`; PTX_NO_ENTRY starts the search. */
uint32_t ptx_index_find(const ptx_index *index, uint32_t hash, uint32_t before);

#endif
