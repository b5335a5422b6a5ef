/* mbarriers in shared memory, and the bulk copies of a cluster that complete on them (cp.async.bulk with
   mbarrier completion). */
#ifndef PTXSIM_ASYNC_H
#define PTXSIM_ASYNC_H

#include "interpreter/hooks.h"
#include "interpreter/lanes.h"

/* The block of the cluster whose shared memory contains a host pointer, NULL if none. */
const ptx_block *ptx_block_at(const ptx_warp *warp, const uint8_t *host);
ptx_shared_address ptx_shared_address_at(const ptx_warp *warp, const uint8_t *host);

/* ---- mbarriers ---- */

enum { PTX_MAX_ARRIVALS = (1 << 20) - 1 };

typedef struct ptx_mbarrier {
    u32 expected, pending; /* arrivals per phase, and arrivals that the current phase still waits for */
    s32 bytes; /* tx-count: bytes expected minus bytes completed; negative if they completed first */
    u32 phase; /* parity of the current phase */
} ptx_mbarrier;

typedef struct ptx_mbarrier_change {
    u32 arrivals, drops;
    s64 bytes; /* expect_tx bytes; negative: complete_tx */
} ptx_mbarrier_change;

/* The encoding of an mbarrier in 64 bits of shared memory. It is the simulator's own, as PTX does not specify
   it. */
u64 ptx_mbarrier_bits(const ptx_mbarrier *b);
ptx_status ptx_mbarrier_read(ptx_warp *warp, const ptx_instr *in, unsigned lane, const uint8_t *host,
                             ptx_mbarrier *b);
/* Ends the phase if no arrivals and no bytes are pending. *before: the encoding before the change. */
ptx_status ptx_mbarrier_update(ptx_warp *warp, const ptx_instr *in, unsigned lane, uint8_t *host,
                               ptx_mbarrier_change c, u64 *before);

/* ---- bulk copies ---- */

/* Queues a copy until the current sweep over the warps ends; returns false if memory ran out. */
bool ptx_bulk_copies_add(ptx_cluster *cluster, const ptx_bulk_copy *copy);
/* Performs the queued copies and completes them on their mbarriers. */
ptx_status ptx_bulk_copies_complete(ptx_cluster *cluster);
/* Reports an error if a queued copy has its destination in this block, which is about to end. */
ptx_status ptx_bulk_copies_check(const ptx_block *block);

#endif
