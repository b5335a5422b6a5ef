/* The hash index; hashes are 32-bit FNV-1a. */
#include "parser/index.h"

#include <stdlib.h>
#include <string.h>

#include "reserve.h"

uint32_t ptx_hash(const void *bytes, size_t length, uint32_t seed) {
    const unsigned char *byte = bytes;
    uint32_t hash = 2166136261u ^ seed;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static uint32_t *chain_of(const ptx_index *index, uint32_t hash) {
    return &index->first[hash & (index->chains - 1)];
}

static void link_entry(ptx_index *index, uint32_t entry) {
    ptx_index_link *link = &index->links[entry];
    uint32_t *first = chain_of(index, link->hash);
    link->next = *first;
    *first = entry;
}

static bool grow(ptx_index *index) {
    const size_t chains = index->chains ? 2 * index->chains : 64;
    uint32_t *first = realloc(index->first, chains * sizeof *first);
    if (!first)
        return false;
    index->first = first;
    index->chains = chains;
    for (size_t i = 0; i < chains; i++)
        first[i] = PTX_NO_ENTRY;
    for (size_t i = 0; i < index->count; i++)
        link_entry(index, (uint32_t)i);
    return true;
}

bool ptx_index_add(ptx_index *index, uint32_t hash) {
    if (index->count >= index->chains && !grow(index))
        return false;
    if (!ptx_reserve(&index->links, &index->capacity, index->count, sizeof *index->links))
        return false;
    index->links[index->count].hash = hash;
    link_entry(index, (uint32_t)index->count++);
    return true;
}

void ptx_index_shrink(ptx_index *index, size_t count) {
    while (index->count > count) {
        const ptx_index_link *newest = &index->links[--index->count];
        *chain_of(index, newest->hash) = newest->next;
    }
}

void ptx_index_free(ptx_index *index) {
    free(index->links);
    free(index->first);
    *index = (ptx_index){.links = NULL};
}

uint32_t ptx_index_find(const ptx_index *index, uint32_t hash, uint32_t before) {
    if (!index->count)
        return PTX_NO_ENTRY;
    uint32_t entry = before == PTX_NO_ENTRY ? *chain_of(index, hash) : index->links[before].next;
    while (entry != PTX_NO_ENTRY && index->links[entry].hash != hash)
        entry = index->links[entry].next;
    return entry;
}
