/* The digest of a memory: in each of several lanes, words are multiplied into a number, as in xxHash. */
#include <string.h>

#include "interpreter/memory.h"

enum { LANES = 8, WORD = 8 };
#define PRIME_1 0x9e3779b185ebca87ull
#define PRIME_2 0xc2b2ae3d27d4eb4full

typedef struct digesting {
    uint64_t lanes[LANES];
} digesting;

static inline uint64_t mixed(uint64_t lane, uint64_t word) {
    const uint64_t product = (lane ^ word) * PRIME_1;
    return product << 29 | product >> 35;
}

static void add_bytes(digesting *d, const uint8_t *from, size_t bytes) {
    uint64_t lanes[LANES], words[LANES];
    memcpy(lanes, d->lanes, sizeof lanes);
    for (; bytes >= sizeof words; bytes -= sizeof words, from += sizeof words) {
        memcpy(words, from, sizeof words);
        for (unsigned i = 0; i < LANES; i++)
            lanes[i] = mixed(lanes[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, from, bytes);
    for (unsigned i = 0; i < LANES; i++)
        lanes[i] = mixed(lanes[i], words[i]);
    memcpy(d->lanes, lanes, sizeof lanes);
}

static void add_allocation(void *arg, const ptx_allocation *allocation) {
    digesting *d = arg;
    d->lanes[0] = mixed(d->lanes[0], allocation->address);
    d->lanes[1] = mixed(d->lanes[1], allocation->bytes);
    add_bytes(d, allocation->host, allocation->bytes);
}

ptx_digest ptx_memory_digest(ptx_memory *memory) {
    digesting d;
    ptx_digest result = {{1, 2}};
    for (unsigned i = 0; i < LANES; i++)
        d.lanes[i] = PRIME_2 * (i + 1);
    ptx_memory_each(memory, add_allocation, &d);
    for (unsigned i = 0; i < LANES; i++) {
        result.words[0] = mixed(result.words[0], d.lanes[i]);
        result.words[1] = (result.words[1] + d.lanes[i]) * PRIME_2;
        result.words[1] ^= result.words[1] >> 31;
    }
    return result;
}
