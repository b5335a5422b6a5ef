/* The hardware cost of one warp's memory access: shared-memory wavefronts and global-memory sectors. */
#ifndef PTXSIM_TRANSACTIONS_H
#define PTXSIM_TRANSACTIONS_H

#include "interpreter/hooks.h"

enum { PTX_BANKS = 32, PTX_SECTOR_BYTES = 32 };

static inline unsigned ptx_count_lanes(uint32_t mask) {
    if (mask == PTX_ALL_LANES)
        return PTX_LANES;
    mask -= mask >> 1 & 0x55555555u;
    mask = (mask & 0x33333333u) + (mask >> 2 & 0x33333333u);
    mask = (mask + (mask >> 4)) & 0x0f0f0f0fu;
    return mask * 0x01010101u >> 24;
}

/* Number of shared-memory wavefronts. In one wavefront each of 32 banks delivers one 4-byte word; lanes that
   read the same word share it. Accesses of 8 bytes per lane are split into half warps, those of 16 bytes into
   quarter warps; loads in which neighbouring lanes read the same address are split into half as many parts.
   *ideal is the minimal number of wavefronts for as many bytes. `ways` (or NULL) receives per lane the number
   of distinct words in the most loaded of its banks, 0 if it is 1. */
unsigned ptx_shared_wavefronts(const ptx_access *access, unsigned *ideal, uint8_t ways[PTX_LANES]);

/* Number of 32-byte sectors of global memory. *ideal is the minimal number for as many bytes. */
unsigned ptx_global_sectors(const ptx_access *access, unsigned *ideal);

#endif
