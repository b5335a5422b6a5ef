/* In-flight wgmma operations of a warp: registers that accumulate results or supply A, and shared memory that
   is read. */
#ifndef PTXSIM_WGMMA_STATE_H
#define PTXSIM_WGMMA_STATE_H

#include "interpreter/state.h"

/* A 32-bit register. Commit groups are numbered from 1; 0 means none. */
typedef struct ptx_wgmma_register {
    uint32_t accumulating, reading_a; /* group that accumulates into it, or reads A from it */
    bool completed_sum;               /* holds an accumulator whose group was waited for */
    bool accessed;                    /* a completed accumulator was accessed since the last wgmma.fence */
    const ptx_instr *in;              /* the wgmma.mma_async */
} ptx_wgmma_register;

/* A range of shared memory that a group reads until it is waited for. */
typedef struct ptx_wgmma_read {
    uint32_t group;
    const ptx_instr *in;
    uint64_t offset, bytes;
} ptx_wgmma_read;

struct ptx_wgmma_state {
    uint32_t committed_groups; /* number of committed groups */
    uint32_t pending;          /* number of registers with a pending accumulation */
    bool active;               /* a wgmma.mma_async was executed */
    bool fenced;               /* a wgmma.fence was executed */
    ptx_wgmma_register *registers;
    uint8_t *accumulators; /* future contents of the accumulator registers */
    ptx_wgmma_read *reads;
    size_t read_count, read_capacity;
};

void ptx_wgmma_reset(ptx_warp *warp);
void ptx_wgmma_free(ptx_warp *warp);

/* Called before each instruction: reports an access to a register that a pending wgmma still uses. */
ptx_status ptx_wgmma_check(ptx_warp *warp, const ptx_instr *in);

/* Called when a warp exits: reports a wgmma that was not waited for. */
ptx_status ptx_wgmma_end(ptx_warp *warp);

#endif
