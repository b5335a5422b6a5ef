/* What one warp's memory access costs the hardware: wavefronts of shared memory, sectors of global memory. */
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

/* Passes through shared memory. 32 banks give a 4-byte word each in one; lanes that want the same word share
   it. Accesses of 8 bytes a lane go by half warps, of 16 by quarter warps; loads in which neighbours want the
   same by twice as many. *ideal is the number of passes that could move as many bytes; `ways`, which may be
   NULL, how many words the fullest of a lane's banks has to give where that is more than one, else 0. */
unsigned ptx_shared_wavefronts(const ptx_access *access, unsigned *ideal, uint8_t ways[PTX_LANES]);

/* 32-byte sectors of global memory. *ideal is the least number that could hold as many bytes. */
unsigned ptx_global_sectors(const ptx_access *access, unsigned *ideal);

#endif
