/* Remembers what polling instructions read last. */
#include "interpreter/poll.h"

ptx_status ptx_poll_check(ptx_warp *warp, const ptx_instr *in, uint32_t mask, uint64_t seen) {
    unsigned i = 0;
    while (i < PTX_POLLS && (warp->polls[i].in != in || warp->polls[i].mask != mask))
        i++;
    bool found = i < PTX_POLLS;
    ptx_poll *poll = &warp->polls[found ? i : warp->next_poll++ % PTX_POLLS];
    if (!found || poll->seen != seen) {
        *poll = (ptx_poll){.in = in, .mask = mask, .seen = seen};
        warp->progressed = true;
        return PTX_OK;
    }
    warp->stalled = !warp->progressed;
    return warp->stalled && warp->worker->stall_action != PTX_STALL_WAIT ? PTX_NO_PROGRESS : PTX_YIELD;
}
