/* Detection of spin-waits: warps that poll memory until another warp changes it. */
#ifndef PTXSIM_POLL_H
#define PTXSIM_POLL_H

#include "interpreter/state.h"

/* An instruction that may be polling passes a digest of the lanes' addresses, and one of the values that it
   read there. Returns PTX_OK, or PTX_YIELD or PTX_NO_PROGRESS if these values, and those at all other
   addresses that the warp polls, are the same as when it last polled these addresses. A warp may poll up to
   1024 sets of addresses in turn, the capacity of a table. */
ptx_status ptx_poll_check(ptx_warp *warp, const ptx_instr *in, uint32_t mask, uint64_t addresses,
                          uint64_t seen);
void ptx_poll_reset(ptx_warp *warp);
/* Returns a digest of a warp's state without memory, on which its next instructions depend. */
uint64_t ptx_poll_digest(const ptx_warp *warp);
/* Whether splitting a warp that polls can help: not if it was split in this state before and no warp has read
   anything new since. */
bool ptx_poll_may_split(ptx_warp *warp);

static inline uint64_t ptx_mix_digest(uint64_t sum, uint64_t value) {
    return (sum ^ value) * 0x9e3779b97f4a7c15u;
}

#endif
