/* Handlers of mbarrier.*, of bulk copies that complete on an mbarrier, and of st.async. */
#include "interpreter/address.h"
#include "interpreter/async.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/poll.h"

/* ---- operands ---- */

static ptx_status locate_barrier(ptx_warp *w, const ptx_instr *in, unsigned lane, u64 address,
                                 uint8_t **host) {
    return ptx_locate(w, in, lane, in->space, address, sizeof(u64), sizeof(u64), host);
}

/* ---- mbarrier.* ---- */

/* The mbarrier at the instruction's address. */
static ptx_status locate_own(ptx_warp *w, const ptx_instr *in, unsigned lane, uint8_t **host) {
    return locate_barrier(w, in, lane, ptx_address_of(w, in, lane), host);
}

/* Host pointers of the lanes' mbarriers. */
static ptx_status locate_barriers(ptx_warp *w, const ptx_instr *in, uint32_t mask, uint8_t *host[PTX_LANES]) {
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        status = locate_own(w, in, i, &host[i]);
    }
    return status;
}

PTX_LANE_HANDLER(mbarrier_init) {
    uint8_t *host;
    const u32 count = ptx_number_of(w, in, 0, lane);
    const u64 bits = ptx_mbarrier_bits(&(ptx_mbarrier){.expected = count, .pending = count});
    const ptx_status status = locate_own(w, in, lane, &host);
    if (status != PTX_OK)
        return status;
    if (count < 1 || count > PTX_MAX_ARRIVALS)
        return ptx_fault(w, in, (int)lane, PTX_ERR_BARRIER, "an mbarrier for %u arrivals; it counts 1 to %d",
                         count, PTX_MAX_ARRIVALS);
    memcpy(host, &bits, sizeof bits);
    return PTX_OK;
}

PTX_LANE_HANDLER(mbarrier_inval) {
    uint8_t *host;
    ptx_mbarrier ignored;
    ptx_status status = locate_own(w, in, lane, &host);
    if (status == PTX_OK)
        status = ptx_mbarrier_read(w, in, lane, host, &ignored);
    if (status == PTX_OK)
        memset(host, PTX_POISON, sizeof(u64));
    return status;
}

/* Handlers that update an mbarrier; some return its previous state in operand 0. */
#define MBARRIER_UPDATE(name, gives_state, ...)                                                              \
    PTX_LANE_HANDLER(mbarrier_##name) {                                                                      \
        uint8_t *host;                                                                                       \
        u64 before = 0;                                                                                      \
        ptx_status status = locate_own(w, in, lane, &host);                                                  \
        if (status == PTX_OK)                                                                                \
            status = ptx_mbarrier_update(w, in, lane, host, (ptx_mbarrier_change){__VA_ARGS__}, &before);    \
        if (gives_state)                                                                                     \
            ((ptx_u64 *)ptx_lanes(w, in, 0))[lane] = before;                                                 \
        return status;                                                                                       \
    }

/* An omitted count is encoded as 0 and means 1. */
static u32 arrivals(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    u32 count = ptx_number_of(w, in, 1, lane);
    return count ? count : 1;
}

MBARRIER_UPDATE(expect_tx, false, .bytes = ptx_number_of(w, in, 0, lane))
MBARRIER_UPDATE(complete_tx, false, .bytes = -(s64)ptx_number_of(w, in, 0, lane))
MBARRIER_UPDATE(arrive, true, .arrivals = arrivals(w, in, lane))
MBARRIER_UPDATE(arrive_expect_tx, true, .arrivals = 1, .bytes = ptx_number_of(w, in, 1, lane))
MBARRIER_UPDATE(arrive_drop, true, .arrivals = arrivals(w, in, lane), .drops = arrivals(w, in, lane))
MBARRIER_UPDATE(arrive_drop_expect_tx, true, .arrivals = 1, .drops = 1,
                .bytes = ptx_number_of(w, in, 1, lane))

/* Notifies observers of the lanes whose phase is over, once per mbarrier. */
static void notify_waited(const ptx_warp *w, uint8_t *const host[PTX_LANES], uint32_t phase_over) {
    while (phase_over) {
        const uint8_t *at = host[__builtin_ctz(phase_over)];
        uint32_t together = 0;
        for (uint32_t left = phase_over; left; left &= left - 1)
            if (host[__builtin_ctz(left)] == at)
                together |= left & -left;
        ptx_hooks_mbarrier_wait(w, ptx_shared_address_at(w, at), together);
        phase_over &= ~together;
    }
}

/* test_wait and try_wait: a phase, given by a state or by its parity, is over once the other parity is
   current. */
static ptx_status wait_for_phase(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool parity) {
    uint8_t *host[PTX_LANES];
    uint32_t phase_over = 0;
    u64 addresses = 0, seen = 0;
    unsigned last = 0;
    ptx_mbarrier b, incomplete = {0};
    ptx_status status = locate_barriers(w, in, mask, host);
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        u64 state =
            parity ? (u64)ptx_number_of(w, in, 1, i) << 62 : ((const ptx_u64 *)ptx_lanes(w, in, 1))[i];
        status = ptx_mbarrier_read(w, in, i, host[i], &b);
        phase_over |= (uint32_t)(b.phase != (state >> 62 & 1)) << i;
        addresses = ptx_mix_digest(addresses, (uintptr_t)host[i]);
        seen = ptx_mix_digest(seen, ptx_mbarrier_bits(&b));
        if (!(phase_over >> i & 1)) {
            incomplete = b;
            last = i;
        }
    }
    if (status != PTX_OK)
        return status;
    ptx_set_predicate(w, in, 0, mask, phase_over);
    if (w->block->observer_count)
        notify_waited(w, host, phase_over);
    if (phase_over == mask)
        return PTX_OK;
    status = ptx_poll_check(w, in, mask, addresses, seen);
    if (status == PTX_OK || status == PTX_YIELD)
        return status;
    return ptx_fault(w, in, (int)last, PTX_ERR_BARRIER,
                     "deadlock: the mbarrier waits for %u of %u arrivals and for %d bytes, which no thread "
                     "or copy left will provide",
                     incomplete.pending, incomplete.expected, incomplete.bytes);
}

PTX_HANDLER(mbarrier_wait) {
    return wait_for_phase(w, in, mask, false);
}

PTX_HANDLER(mbarrier_wait_parity) {
    return wait_for_phase(w, in, mask, true);
}

PTX_HANDLER(mbarrier_pending_count) {
    ptx_u32 *d = ptx_lanes(w, in, 0);
    const ptx_u64 *state = ptx_lanes(w, in, 1);
    PTX_STORE_LANES(u32, d, state[i] >> 20 & PTX_MAX_ARRIVALS)
    return PTX_OK;
}

/* ---- bulk copies ---- */

/* A bulk copy into shared memory completes after the current sweep over the warps, however short it is. Its
   destination is poisoned at issue, so that a kernel which does not wait on the mbarrier reads poison. */
static ptx_status issue_copy(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned from_space) {
    u32 bytes = ptx_number_of(w, in, 2, lane);
    ptx_bulk_copy copy = {.warp = w, .in = in, .lane = lane, .bytes = bytes};
    uint8_t *from = NULL;
    if (bytes % 16)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT,
                         "a bulk copy of %u bytes, which is no multiple of 16", bytes);
    ptx_status status = ptx_locate(w, in, lane, in->space, ptx_address_of(w, in, lane), bytes, 16, &copy.to);
    if (status == PTX_OK)
        status = ptx_locate(w, in, lane, from_space, ptx_further_address(w, in, 0, lane), bytes, 16, &from);
    if (status == PTX_OK)
        status = locate_barrier(w, in, lane, ptx_further_address(w, in, 3, lane), &copy.barrier);
    if (status != PTX_OK)
        return status;
    if (bytes && ptx_block_at(w, copy.to) != ptx_block_at(w, copy.barrier))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS,
                         "the mbarrier of a bulk copy is in another block than the copy's destination");
    copy.from = from;
    if (!ptx_bulk_copies_add(w->block->cluster, &copy))
        return ptx_fault(w, in, (int)lane, PTX_ERR_MEMORY, "out of memory for a bulk copy");
    if (w->block->observer_count)
        ptx_hooks_async(w, in,
                        &(ptx_async){.lane = lane,
                                     .bytes = bytes,
                                     .to = ptx_shared_address_at(w, copy.to),
                                     .from = ptx_shared_address_at(w, from),
                                     .barrier = ptx_shared_address_at(w, copy.barrier)});
    memset(copy.to, PTX_POISON, bytes);
    return PTX_OK;
}

PTX_LANE_HANDLER(bulk_load) {
    return issue_copy(w, in, lane, PTX_SPACE_GLOBAL);
}

PTX_LANE_HANDLER(bulk_send) {
    return issue_copy(w, in, lane, PTX_SPACE_SHARED);
}

/* Prefetches have no effect, but their addresses must be valid. */
PTX_LANE_HANDLER(prefetch) {
    uint8_t *ignored;
    return ptx_locate(w, in, lane, in->space, ptx_address_of(w, in, lane), 1, 1, &ignored);
}

PTX_LANE_HANDLER(bulk_prefetch) {
    const u32 bytes = ptx_number_of(w, in, 0, lane);
    uint8_t *ignored;
    if (bytes % 16)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT,
                         "a bulk prefetch of %u bytes, which is no multiple of 16", bytes);
    return ptx_locate(w, in, lane, in->space, ptx_address_of(w, in, lane), bytes, 16, &ignored);
}

/* st.async: a store that completes on an mbarrier; `bytes` per element. */
static ptx_status store_async(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned bytes) {
    const unsigned size = bytes * in->vector;
    uint8_t *to, *barrier;
    u64 ignored;
    ptx_status status = ptx_locate(w, in, lane, in->space, ptx_address_of(w, in, lane), size, size, &to);
    if (status == PTX_OK)
        status = locate_barrier(w, in, lane, ptx_further_address(w, in, in->vector, lane), &barrier);
    if (status != PTX_OK)
        return status;
    if (w->block->observer_count)
        ptx_hooks_async(w, in,
                        &(ptx_async){.lane = lane,
                                     .bytes = size,
                                     .to = ptx_shared_address_at(w, to),
                                     .barrier = ptx_shared_address_at(w, barrier)});
    for (unsigned e = 0; e < in->vector; e++)
        memcpy(to + e * bytes, (const uint8_t *)ptx_lanes(w, in, e) + lane * bytes, bytes);
    return ptx_mbarrier_update(w, in, lane, barrier, (ptx_mbarrier_change){.bytes = -(s64)size}, &ignored);
}

PTX_LANE_HANDLER(st_async_b32) {
    return store_async(w, in, lane, sizeof(u32));
}

PTX_LANE_HANDLER(st_async_b64) {
    return store_async(w, in, lane, sizeof(u64));
}
