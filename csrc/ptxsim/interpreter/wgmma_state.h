/* The products of wgmma that are under way: each warp's registers that they sum into, or take A from. */
#ifndef PTXSIM_WGMMA_STATE_H
#define PTXSIM_WGMMA_STATE_H

#include "interpreter/state.h"

/* A register of 32 bits. Groups are counted from 1; 0: none. */
typedef struct ptx_wgmma_register {
    uint32_t accumulating, reading_a; /* the group that sums into it, or reads A from it */
    bool completed_sum;               /* a product's sum that was waited for, */
    bool accessed;                    /* and has been read or written since */
    const ptx_instr *in;              /* the product */
} ptx_wgmma_register;

/* Shared memory that a group reads, until it is waited for. */
typedef struct ptx_wgmma_read {
    uint32_t group;
    const ptx_instr *in;
    uint64_t offset, bytes;
} ptx_wgmma_read;

struct ptx_wgmma_state {
    uint32_t committed_groups; /* that are closed */
    uint32_t pending;          /* registers that a group sums into */
    bool active;               /* there was a product */
    bool fenced;               /* there was a wgmma.fence */
    ptx_wgmma_register *registers;
    uint8_t *accumulators; /* what the registers will hold */
    ptx_wgmma_read *reads;
    size_t read_count, read_capacity;
};

void ptx_wgmma_reset(ptx_warp *warp);
void ptx_wgmma_free(ptx_warp *warp);

/* Before an instruction is executed: an error where it touches what a product has not let go of. */
ptx_status ptx_wgmma_check(ptx_warp *warp, const ptx_instr *in);

/* At the warp's end: an error where a product was not waited for. */
ptx_status ptx_wgmma_end(ptx_warp *warp);

#endif
