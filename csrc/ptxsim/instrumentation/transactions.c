/* Computes bank conflicts and sectors from the addresses of a warp. */
#include "instrumentation/transactions.h"

#include <string.h>

enum { MAX_WORDS = 2 * PTX_LANES, NONE = 0xff };

/* The distinct words that the lanes of one part access, chained by bank. */
typedef struct bank_words {
    uint8_t first[PTX_BANKS], next[MAX_WORDS], count[PTX_BANKS];
    uint64_t word[MAX_WORDS];
    unsigned used;
} bank_words;

static void add_word(bank_words *banks, uint64_t word) {
    unsigned bank = word % PTX_BANKS;
    for (uint8_t i = banks->first[bank]; i != NONE; i = banks->next[i])
        if (banks->word[i] == word)
            return;
    banks->word[banks->used] = word;
    banks->next[banks->used] = banks->first[bank];
    banks->first[bank] = (uint8_t)banks->used++;
    banks->count[bank]++;
}

/* The number of wavefronts for the lanes in `mask`, which are served together. */
static unsigned serve(const ptx_access *access, uint32_t mask, uint8_t *ways) {
    bank_words banks;
    memset(banks.first, NONE, sizeof banks.first);
    memset(banks.count, 0, sizeof banks.count);
    banks.used = 0;
    unsigned words = access->bytes > 4 ? access->bytes / 4 : 1, max_words = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t word = access->address[__builtin_ctz(left)] / 4;
        for (unsigned k = 0; k < words; k++)
            add_word(&banks, word + k);
    }
    for (unsigned b = 0; b < PTX_BANKS; b++)
        max_words = banks.count[b] > max_words ? banks.count[b] : max_words;
    for (uint32_t left = ways && max_words > 1 ? mask : 0; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t word = access->address[lane] / 4;
        for (unsigned k = 0; k < words; k++) {
            const uint8_t count = banks.count[(word + k) % PTX_BANKS];
            if (count > 1 && count > ways[lane])
                ways[lane] = count;
        }
    }
    return max_words;
}

/* Whether all pairs of active lanes at this distance have the same address. */
static bool pairs_agree(const ptx_access *access, unsigned distance) {
    for (uint32_t left = access->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left), partner = lane ^ distance;
        if (access->mask >> partner & 1 && access->address[partner] != access->address[lane])
            return false;
    }
    return true;
}

/* Loads of 8 and 16 bytes need half as many parts if all lanes i and i ^ 1, or all lanes i and i ^ 2, have
   the same address: measured by the counters of an H200. Stores do not merge. */
static bool parts_merge(const ptx_access *access) {
    if (access->effect != PTX_EFFECT_LOAD || access->bytes <= 4 ||
        (access->packed && access->mask == PTX_ALL_LANES))
        return false;
    return pairs_agree(access, 1) || pairs_agree(access, 2);
}

unsigned ptx_shared_wavefronts(const ptx_access *access, unsigned *ideal, uint8_t ways[PTX_LANES]) {
    bool merged = parts_merge(access);
    unsigned parts = (access->bytes > 4 ? access->bytes / 4 : 1) >> merged, width = PTX_LANES / parts;
    unsigned wavefronts = 0;
    unsigned bytes = ptx_count_lanes(access->mask) * access->bytes;
    if (ways)
        memset(ways, 0, PTX_LANES);
    for (unsigned part = 0; part < parts; part++) {
        uint32_t mask = access->mask & PTX_ALL_LANES >> (PTX_LANES - width) << part * width;
        if (mask)
            wavefronts += access->packed && !merged ? 1 : serve(access, mask, ways);
    }
    *ideal = (bytes + PTX_BANKS * 4 - 1) / (PTX_BANKS * 4);
    *ideal = *ideal < wavefronts ? *ideal : wavefronts;
    return wavefronts;
}

unsigned ptx_global_sectors(const ptx_access *access, unsigned *ideal) {
    unsigned lanes = ptx_count_lanes(access->mask);
    unsigned min_sectors = (lanes * access->bytes + PTX_SECTOR_BYTES - 1) / PTX_SECTOR_BYTES;
    unsigned sectors = 0;
    if (access->packed && access->mask == PTX_ALL_LANES) {
        uint64_t first = access->address[0], end = first + PTX_LANES * access->bytes;
        sectors = (unsigned)((end - 1) / PTX_SECTOR_BYTES - first / PTX_SECTOR_BYTES + 1);
    } else {
        uint64_t seen[PTX_LANES];
        for (uint32_t left = access->mask; left; left &= left - 1) {
            uint64_t sector = access->address[__builtin_ctz(left)] / PTX_SECTOR_BYTES;
            unsigned i = sectors; /* neighbouring lanes mostly share a sector, so the search starts with the
                                     last one */
            while (i && seen[i - 1] != sector)
                i--;
            if (!i)
                seen[sectors++] = sector;
        }
    }
    *ideal = min_sectors < sectors ? min_sectors : sectors;
    return sectors;
}
