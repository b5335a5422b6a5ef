/* Barriers in shared memory that count arrivals and bytes, and the copies that report to them. */
#ifndef PTXSIM_ASYNC_H
#define PTXSIM_ASYNC_H

#include "interpreter/hooks.h"
#include "interpreter/lanes.h"

/* The block of the cluster in whose shared memory a byte of the host lies, NULL if none. */
const ptx_block *ptx_block_at(const ptx_warp *warp, const uint8_t *host);
ptx_shared_address ptx_shared_address_at(const ptx_warp *warp, const uint8_t *host);

/* ---- mbarriers ---- */

enum { PTX_MAX_ARRIVALS = (1 << 20) - 1 };

typedef struct ptx_mbarrier {
    u32 expected, pending; /* arrivals of a phase, and those still to come */
    s32 bytes;             /* announced and still to come; below 0 when they came first */
    u32 phase;             /* parity of the phase under way */
} ptx_mbarrier;

typedef struct ptx_change {
    u32 arrivals, drops;
    s64 bytes; /* announced; below 0: come */
} ptx_change;

/* The 64 bits of memory that an mbarrier is. */
u64 ptx_mbarrier_bits(const ptx_mbarrier *b);
ptx_status ptx_mbarrier_read(ptx_warp *warp, const ptx_instr *in, unsigned lane, const uint8_t *host,
                             ptx_mbarrier *b);
/* Ends the phase when nothing more is to come. *before: the barrier's bits as they were. */
ptx_status ptx_mbarrier_update(ptx_warp *warp, const ptx_instr *in, unsigned lane, uint8_t *host,
                               ptx_change c, u64 *before);

/* ---- copies ---- */

/* Keeps a copy until the warps have had their turns; false when memory ran out. */
bool ptx_bulk_copies_add(ptx_cluster *cluster, const ptx_bulk_copy *copy);
/* Does the copies that are under way and has them report. */
ptx_status ptx_bulk_copies_complete(ptx_cluster *cluster);
/* An error if one of them goes to this block, which is about to end. */
ptx_status ptx_bulk_copies_check(const ptx_block *block);

#endif
