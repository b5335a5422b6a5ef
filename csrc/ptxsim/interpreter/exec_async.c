/* Handlers of cp.async: copies from global to shared memory in commit groups.

   The destination is poisoned when the copy is issued and filled when its lane waits for the group, so that a
   kernel with a missing wait reads poison. */
#include "interpreter/address.h"
#include "interpreter/async.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/hooks.h"
#include "reserve.h"

/* Validates and queues the copy of one lane. */
static ptx_status issue_copy(ptx_warp *w, const ptx_instr *in, unsigned lane, ptx_access *read) {
    const u32 bytes = ptx_number_of(w, in, 2, lane);
    const u32 source_bytes = in->operand_count > 3 ? ptx_number_of(w, in, 3, lane) : bytes;
    const u64 from = ptx_further_address(w, in, 0, lane);
    ptx_pending_copy copy = {
        .in = in, .lane = lane, .bytes = bytes, .source_bytes = source_bytes, .group = w->copy_groups[lane]};
    uint8_t *source = NULL;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ALIGNMENT, "a copy of %u bytes; it may have 4, 8 or 16",
                         bytes);
    if (source_bytes > bytes)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS, "a copy of %u bytes from a source of %u", bytes,
                         source_bytes);
    copy.address = ptx_address_of(w, in, lane);
    ptx_status status = ptx_locate(w, in, lane, in->space, copy.address, bytes, bytes, &copy.to);
    if (status == PTX_OK && source_bytes)
        status = ptx_locate(w, in, lane, PTX_SPACE_GLOBAL, from, source_bytes, bytes, &source);
    if (status != PTX_OK)
        return status;
    if (!ptx_reserve(&w->pending_copies, &w->pending_copy_capacity, w->pending_copy_count,
                     sizeof *w->pending_copies))
        return ptx_fault(w, in, (int)lane, PTX_ERR_MEMORY, "out of memory for an asynchronous copy");
    memset(copy.to, PTX_POISON, bytes);
    copy.from = source;
    if (source_bytes)
        memcpy(copy.at_issue, source, source_bytes);
    w->pending_copies[w->pending_copy_count++] = copy;
    if (w->block->observer_count)
        ptx_hooks_async(
            w, in,
            &(ptx_async){
                .lane = lane, .grouped = true, .bytes = bytes, .to = ptx_shared_address_at(w, copy.to)});
    read->bytes = bytes;
    read->mask |= source_bytes ? 1u << lane : 0;
    read->address[lane] = from;
    return PTX_OK;
}

PTX_HANDLER(cp_async) {
    ptx_access read = {.effect = PTX_EFFECT_LOAD, .space = PTX_SPACE_GLOBAL};
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1)
        status = issue_copy(w, in, (unsigned)__builtin_ctz(left), &read);
    if (status == PTX_OK && read.mask && w->block->observer_count)
        ptx_hooks_access(w, in, &read);
    return status;
}

/* Reports the completed copies of one instruction as stores of the issuing threads, and clears the list. */
static void notify_stores(const ptx_warp *w, const ptx_instr *in, ptx_access *written) {
    if (written->mask && w->block->observer_count)
        ptx_hooks_access(w, in, written);
    written->mask = 0;
}

/* Performs a copy; source bytes that have changed since the issue become poison. */
static void complete_copy(const ptx_pending_copy *copy) {
    for (unsigned i = 0; i < copy->source_bytes; i++)
        copy->to[i] = copy->from[i] == copy->at_issue[i] ? copy->at_issue[i] : PTX_POISON;
    memset(copy->to + copy->source_bytes, 0, copy->bytes - copy->source_bytes);
}

/* Completes the copies of the lanes in the mask, except those in the last `keep` committed groups of each
   lane. */
static void complete_copies(ptx_warp *w, uint32_t mask, u32 keep) {
    ptx_access written = {.effect = PTX_EFFECT_STORE, .space = PTX_SPACE_SHARED, .async_completion = true};
    const ptx_instr *last = NULL;
    size_t remaining = 0;
    for (size_t k = 0; k < w->pending_copy_count; k++) {
        const ptx_pending_copy copy = w->pending_copies[k];
        if (!(mask >> copy.lane & 1) || copy.group + (u64)keep >= w->copy_groups[copy.lane]) {
            w->pending_copies[remaining++] = copy;
            continue;
        }
        complete_copy(&copy);
        if (copy.in != last || written.mask >> copy.lane & 1)
            notify_stores(w, last, &written);
        last = copy.in;
        written.bytes = copy.bytes;
        written.mask |= 1u << copy.lane;
        written.address[copy.lane] = copy.address;
    }
    notify_stores(w, last, &written);
    w->pending_copy_count = remaining;
}

static void commit_group(ptx_warp *w, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1)
        w->copy_groups[__builtin_ctz(left)]++;
}

PTX_HANDLER(cp_async_commit) {
    (void)in;
    commit_group(w, mask);
    return PTX_OK;
}

PTX_HANDLER(cp_async_wait) {
    complete_copies(w, mask, (u32)in->imm);
    return PTX_OK;
}

PTX_HANDLER(cp_async_wait_all) {
    (void)in;
    commit_group(w, mask);
    complete_copies(w, mask, 0);
    return PTX_OK;
}

/* cp.async.mbarrier.arrive: in the simulator all previous copies complete at this instruction. */
static ptx_status arrive(ptx_warp *w, const ptx_instr *in, unsigned lane) {
    /* without .noinc the pending count is first incremented, so that the arrival has no net effect */
    const ptx_mbarrier_change change = {.arrivals = in->opcode == PTX_OP_cp_async_arrive_noinc};
    uint8_t *host;
    u64 ignored;
    const ptx_status status =
        ptx_locate(w, in, lane, in->space, ptx_address_of(w, in, lane), sizeof(u64), sizeof(u64), &host);
    return status == PTX_OK ? ptx_mbarrier_update(w, in, lane, host, change, &ignored) : status;
}

PTX_HANDLER(cp_async_arrive) {
    (void)ptx_op_cp_async_wait_all(w, in, mask);
    return ptx_each_lane(w, in, mask, arrive);
}

PTX_HANDLER(cp_async_arrive_noinc) {
    return ptx_op_cp_async_arrive(w, in, mask);
}
