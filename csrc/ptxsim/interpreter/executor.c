/* Executes the instructions of a warp: divergence with a stack of reconvergence points (IPDOM), barriers of
   blocks and clusters, exits. */
#include "interpreter/executor.h"

#include <stdio.h>

#include "interpreter/async.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/hooks.h"
#include "interpreter/lanes.h"
#include "interpreter/poll.h"
#include "interpreter/splits.h"
#include "interpreter/wgmma_state.h"

/* The handlers by opcode; NULL for control instructions. */
static ptx_handler *const handlers[PTX_OPCODE_COUNT] = {
#define OP(pattern, signature, name) [PTX_OP_##name] = ptx_op_##name,
#include "opcodes.def"
};

/* ---- divergence ---- */

/* Continues with the top stack entry that has live lanes; returns false if no entry has any. */
static bool pop(ptx_warp *warp) {
    while (warp->depth) {
        const ptx_stack_entry *top = &warp->stack[--warp->depth];
        warp->pc = top->pc;
        warp->reconvergence_pc = top->reconvergence_pc;
        warp->active = top->mask & warp->live;
        if (warp->active)
            return true;
    }
    return false;
}

static void push(ptx_warp *warp, uint32_t pc, uint32_t reconvergence_pc, uint32_t mask) {
    warp->stack[warp->depth++] =
        (ptx_stack_entry){.pc = pc, .reconvergence_pc = reconvergence_pc, .mask = mask};
}

/* A divergent branch: pushes an entry for all lanes at the reconvergence point, unless the current entry
   already reconverges there, and one for the side that runs second. If only one side reaches a collective
   instruction, the other side runs first, as its lanes may exit. */
static void diverge(ptx_warp *warp, const ptx_instr *in, uint32_t taken) {
    uint32_t target = in->op[0], reconvergence_pc = in->op[1], next = warp->pc + 1;
    if (reconvergence_pc != warp->reconvergence_pc && reconvergence_pc != PTX_NO_PC)
        push(warp, reconvergence_pc, warp->reconvergence_pc, warp->active);
    uint32_t stay = warp->active & ~taken;
    bool target_first = in->next_syncs && !in->target_syncs;
    uint32_t pushed = target_first ? next : target, pushed_mask = target_first ? stay : taken;
    if (pushed != reconvergence_pc)
        push(warp, pushed, reconvergence_pc, pushed_mask);
    warp->pc = target_first ? target : next;
    warp->active = target_first ? taken : stay;
    warp->reconvergence_pc = reconvergence_pc;
}

/* Lanes can reach one instruction by paths that the stack keeps apart, such as two copies of a branch that
   the compiler duplicated. If an instruction needs lanes of sibling entries, those run first, until they
   reach it, too. */

/* Drops entries without live lanes and entries whose lanes are all active: they need no reconvergence. */
static void drop_redundant_entries(ptx_warp *warp) {
    while (warp->depth) {
        const ptx_stack_entry *top = &warp->stack[warp->depth - 1];
        uint32_t lanes = top->mask & warp->live;
        if (lanes && lanes != warp->active)
            return;
        if (lanes)
            warp->reconvergence_pc = top->reconvergence_pc;
        warp->depth--;
    }
}

static bool is_sibling(const ptx_warp *warp, const ptx_stack_entry *entry) {
    return entry->reconvergence_pc == warp->reconvergence_pc && !(entry->mask & warp->active);
}

static void swap_with_entry(ptx_warp *warp, ptx_stack_entry *entry, bool blocked) {
    const ptx_stack_entry other = *entry;
    *entry = (ptx_stack_entry){
        .pc = warp->pc, .reconvergence_pc = warp->reconvergence_pc, .mask = warp->active, .blocked = blocked};
    warp->pc = other.pc;
    warp->active = other.mask & warp->live;
}

/* Merges sibling lanes that are at the same instruction, or switches to siblings that can run; returns false
   if there are none. */
static bool merge_siblings(ptx_warp *warp) {
    drop_redundant_entries(warp);
    ptx_stack_entry *candidate = NULL;
    for (uint32_t k = warp->depth; k-- > 0 && is_sibling(warp, &warp->stack[k]);) {
        ptx_stack_entry *entry = &warp->stack[k];
        if (entry->pc == warp->pc) {
            warp->active |= entry->mask & warp->live;
            memmove(entry, entry + 1, (--warp->depth - k) * sizeof *entry);
            return true;
        }
        if (!candidate && !entry->blocked && (entry->mask & warp->live))
            candidate = entry;
    }
    if (candidate)
        swap_with_entry(warp, candidate, true);
    return candidate != NULL;
}

/* A warp that spins on memory may wait for its own lanes. */
static void yield_to_siblings(ptx_warp *warp) {
    ptx_splits_rotate(warp);
    for (uint32_t k = warp->depth; k-- > 0 && is_sibling(warp, &warp->stack[k]);)
        if (!warp->stack[k].blocked && (warp->stack[k].mask & warp->live)) {
            swap_with_entry(warp, &warp->stack[k], false);
            return;
        }
}

/* ---- barriers ---- */

static bool is_reduction(const ptx_instr *in) {
    return in->opcode == PTX_OP_bar_red_popc || in->opcode == PTX_OP_bar_red_and ||
           in->opcode == PTX_OP_bar_red_or;
}

/* Writes the result of barrier.red (popc, and, or) to the released threads of a warp. */
static void write_reduction(ptx_warp *warp, const ptx_barrier_reduction *reduction) {
    const ptx_instr *in = &warp->worker->kernel->code[warp->pc - 1];
    const uint32_t mask = warp->active;
    if (in->opcode == PTX_OP_bar_red_popc) {
        ptx_u32 *d = ptx_lanes(warp, in, 0);
        for (uint32_t left = mask; left; left &= left - 1)
            d[__builtin_ctz(left)] = reduction->true_threads;
    } else if (is_reduction(in)) {
        const bool is_or = in->opcode == PTX_OP_bar_red_or;
        const bool outcome =
            is_or ? reduction->true_threads > 0 : reduction->true_threads == reduction->threads;
        ptx_set_predicate(warp, in, 0, mask, outcome ? PTX_ALL_LANES : 0);
    }
}

static void release(ptx_block *block, uint32_t barrier) {
    uint32_t released = 0;
    for (unsigned i = 0; i < block->worker->warp_count; i++) {
        ptx_warp *warp = &block->warps[i];
        if (warp->state != PTX_WARP_WAITING || warp->barrier != barrier)
            continue;
        warp->state = PTX_WARP_READY;
        released |= 1u << i;
        write_reduction(warp, &block->reductions[barrier]);
    }
    block->waiting[barrier] = 0;
    block->reductions[barrier] = (ptx_barrier_reduction){0};
    if (block->observer_count && released)
        ptx_hooks_barrier(block, released);
    block->round += (unsigned)__builtin_popcount(released) == block->live_warps;
    block->barrier_arrivals[barrier] = 0;
}

static void release_if_complete(ptx_block *block, uint32_t barrier, uint32_t expected) {
    unsigned needed = expected ? expected : block->live_warps;
    if (block->waiting[barrier] >= needed)
        release(block, barrier);
}

/* barrier.arrive: counts the warp for a barrier of `threads` threads without waiting. */
static ptx_status arrive_without_waiting(ptx_warp *warp, const ptx_instr *in, uint32_t barrier,
                                         uint32_t threads) {
    ptx_block *block = warp->block;
    if (threads == 0)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER,
                         "an arrival at a barrier without waiting needs a thread count");
    if (block->barrier_arrivals[barrier] >> warp->index & 1)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER,
                         "the warp arrived at barrier %u before, and the barrier is not complete", barrier);
    block->barrier_arrivals[barrier] |= 1u << warp->index;
    if (block->observer_count)
        ptx_hooks_barrier_arrive(warp, barrier);
    release_if_complete(block, barrier, threads / PTX_LANES);
    return PTX_OK;
}

static ptx_status arrive(ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    const unsigned lane = (unsigned)__builtin_ctz(mask);
    const bool reduces = is_reduction(in); /* operands: result, barrier, optional thread count, predicate */
    const bool all = reduces && in->operand_count == 3;
    const uint32_t barrier = ((const ptx_u32 *)ptx_lanes(warp, in, reduces))[lane];
    const uint32_t threads = all ? 0 : ((const ptx_u32 *)ptx_lanes(warp, in, reduces + 1u))[lane];
    if (barrier >= PTX_BARRIERS)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER, "there is no barrier %u, only 0 to %d", barrier,
                         PTX_BARRIERS - 1);
    if (threads % PTX_LANES)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER,
                         "the thread count %u of the barrier is no multiple of %d", threads, PTX_LANES);
    warp->block->waiting[barrier]++;
    if (in->opcode == PTX_OP_barrier_arrive)
        return arrive_without_waiting(warp, in, barrier, threads);
    warp->state = PTX_WARP_WAITING;
    warp->barrier = barrier;
    warp->expected = threads / PTX_LANES;
    if (reduces) {
        const uint32_t value =
            *ptx_predicate(warp, in, in->operand_count - 1) ^ (in->flip ? PTX_ALL_LANES : 0);
        warp->block->reductions[barrier].threads += (uint32_t)__builtin_popcount(mask);
        warp->block->reductions[barrier].true_threads += (uint32_t)__builtin_popcount(value & mask);
    }
    release_if_complete(warp->block, barrier, warp->expected);
    return PTX_OK;
}

/* Once all warps of a warpgroup have exited: they must have executed the same setmaxnreg and wgmma
   instructions. */
static ptx_status check_warpgroup(const ptx_warp *ended) {
    enum { WARPGROUP = 4 };
    ptx_warp *warps = ended->block->warps;
    const unsigned first = ended->index / WARPGROUP * WARPGROUP, count = ended->worker->warp_count;
    const unsigned end = first + WARPGROUP < count ? first + WARPGROUP : count;
    for (unsigned i = first; i < end; i++)
        if (warps[i].state != PTX_WARP_DONE)
            return PTX_OK;
    for (unsigned i = first; i < end; i++)
        if (warps[i].warpgroup_digest != warps[first].warpgroup_digest)
            return ptx_fault(&warps[i],
                             warps[i].warpgroup_last ? warps[i].warpgroup_last : warps[first].warpgroup_last,
                             -1, PTX_ERR_BARRIER,
                             "the warps of a warpgroup do not all execute this with the same register count");
    return PTX_OK;
}

/* An exited warp no longer counts, which may complete a barrier of all warps. */
static ptx_status end_warp(ptx_warp *warp) {
    ptx_block *block = warp->block;
    warp->state = PTX_WARP_DONE;
    if (warp->pending_store_count)
        return ptx_fault(
            warp, warp->pending_stores->in, (int)warp->pending_stores->lane, PTX_ERR_BARRIER,
            "the warp exits while this copy out of shared memory is in flight: no wait for its group");
    if (ptx_wgmma_end(warp) != PTX_OK || check_warpgroup(warp) != PTX_OK)
        return PTX_ERR_BARRIER;
    if (--block->live_warps == 0) {
        block->cluster->live_blocks--;
        if (block->observer_count)
            ptx_hooks_block(block, false);
        return ptx_bulk_copies_check(block);
    }
    for (unsigned i = 0; i < warp->worker->warp_count; i++) {
        const ptx_warp *other = &block->warps[i];
        if (other->state == PTX_WARP_WAITING)
            release_if_complete(block, other->barrier, other->expected);
    }
    return PTX_OK;
}

/* ---- cluster barrier ---- */

/* Iterates over the warps of the cluster that have not exited. */
#define FOR_EACH_WARP(cluster, warp)                                                                         \
    for (unsigned b_ = 0; b_ < PTX_MAX_CLUSTER && (cluster)->blocks[b_]; b_++)                               \
        for (ptx_warp *warp = (cluster)->blocks[b_]->warps;                                                  \
             warp < (cluster)->blocks[b_]->warps + PTX_MAX_WARPS; warp++)                                    \
            if (warp->state != PTX_WARP_DONE)

static void complete_cluster_barrier(ptx_cluster *cluster) {
    if (cluster->arrived_threads == 0 || cluster->arrived_threads < cluster->live_threads)
        return;
    cluster->arrived_threads = 0;
    for (unsigned b = 0; b < PTX_MAX_CLUSTER && cluster->blocks[b]; b++)
        if (cluster->blocks[b]->live_warps && cluster->blocks[b]->observer_count)
            ptx_hooks_cluster_barrier(cluster->blocks[b]);
    FOR_EACH_WARP(cluster, warp) {
        warp->cluster_released |= warp->cluster_arrived;
        warp->cluster_arrived = 0;
        if (warp->state == PTX_WARP_AT_CLUSTER)
            warp->state = PTX_WARP_READY;
    }
}

static ptx_status arrive_at_cluster(ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    uint32_t again = mask & (warp->cluster_arrived | warp->cluster_released);
    if (again)
        return ptx_fault(warp, in, __builtin_ctz(again), PTX_ERR_BARRIER,
                         "the thread arrived at the cluster's barrier before and has not waited since");
    warp->cluster_arrived |= mask;
    warp->block->cluster->arrived_threads += (uint32_t)__builtin_popcount(mask);
    warp->pc++;
    complete_cluster_barrier(warp->block->cluster);
    return PTX_OK;
}

/* While the barrier is incomplete the warp stays at the instruction, which executes again later. */
static ptx_status wait_for_cluster(ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    uint32_t absent = mask & ~(warp->cluster_arrived | warp->cluster_released);
    if (absent)
        return ptx_fault(warp, in, __builtin_ctz(absent), PTX_ERR_BARRIER,
                         "the thread waits at the cluster's barrier without having arrived");
    if (mask & ~warp->cluster_released) {
        warp->state = PTX_WARP_AT_CLUSTER;
        return PTX_OK;
    }
    warp->cluster_released &= ~mask;
    warp->pc++;
    return PTX_OK;
}

/* ---- deadlocks ---- */

static void describe_wait(const ptx_warp *warp, char *to, size_t size) {
    const ptx_kernel *kernel = warp->worker->kernel;
    bool at_cluster = warp->state == PTX_WARP_AT_CLUSTER;
    char block[24] = "", barrier[24] = "the cluster's barrier";
    if (warp->worker->run->cluster_blocks > 1)
        snprintf(block, sizeof block, "block %u, ", warp->block->rank);
    if (!at_cluster)
        snprintf(barrier, sizeof barrier, "barrier %u", warp->barrier);
    snprintf(to, size, "%swarp %u at PTX line %u (%s)", block, warp->index,
             kernel->source[warp->pc - !at_cluster].line, barrier);
}

ptx_status ptx_deadlock(ptx_cluster *cluster) {
    char waits[300] = "";
    size_t used = 0;
    ptx_warp *first = NULL;
    FOR_EACH_WARP(cluster, warp) {
        char wait[100];
        describe_wait(warp, wait, sizeof wait);
        if (used + sizeof wait < sizeof waits)
            used += (size_t)snprintf(waits + used, sizeof waits - used, "%s%s", first ? ", " : "", wait);
        else if (waits[used - 1] != '.')
            used += (size_t)snprintf(waits + used, sizeof waits - used, ", ...");
        if (!first)
            first = warp;
    }
    if (!first)
        return PTX_OK;
    const ptx_instr *in = &first->worker->kernel->code[first->pc - (first->state == PTX_WARP_WAITING)];
    return ptx_fault(first, in, -1, PTX_ERR_BARRIER,
                     "deadlock: every warp left waits at a barrier that cannot complete: %s", waits);
}

/* ---- instructions of a warp ---- */

/* Lanes exit; continues with the remaining lanes of the warp. */
static ptx_status exit_lanes(ptx_warp *warp, uint32_t mask) {
    ptx_status status = PTX_OK;
    ptx_cluster *cluster = warp->block->cluster;
    warp->live &= ~mask;
    warp->active &= ~mask;
    cluster->live_threads -= (uint32_t)__builtin_popcount(mask);
    cluster->arrived_threads -= (uint32_t)__builtin_popcount(mask & warp->cluster_arrived);
    warp->cluster_arrived &= ~mask;
    ptx_splits_unblock(warp);
    if (warp->active)
        warp->pc++;
    else if (!pop(warp) && !ptx_splits_switch(warp))
        status = end_warp(warp);
    complete_cluster_barrier(cluster);
    return status;
}

/* Lanes reach a barrier; lanes of the warp that have diverged run first if the barrier needs them. */
static ptx_status reach_barrier(ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    bool together = in->kind == PTX_BARRIER || in->aligned;
    if (mask == 0) {
        warp->pc++;
        return PTX_OK;
    }
    if (together && mask == warp->active && mask != warp->live &&
        (merge_siblings(warp) || (warp->split_count && ptx_splits_gather(warp, false))))
        return PTX_OK;
    if (together && mask != warp->live)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER,
                         "a divergent barrier: lanes 0x%08x are here, lanes 0x%08x of the warp are elsewhere",
                         mask, warp->live & ~mask);
    if (in->kind == PTX_CLUSTER_ARRIVE)
        return arrive_at_cluster(warp, in, mask);
    if (in->kind == PTX_CLUSTER_WAIT)
        return wait_for_cluster(warp, in, mask);
    warp->pc++;
    return arrive(warp, in, mask);
}

/* Executes a branch, a barrier, an exit or a trap. */
static ptx_status control(ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    switch ((ptx_kind)in->kind) {
    case PTX_BRANCH:
        if (mask == warp->active)
            warp->pc = in->op[0];
        else if (mask == 0)
            warp->pc++;
        else
            diverge(warp, in, mask);
        return PTX_OK;
    case PTX_EXIT:
        if (mask)
            return exit_lanes(warp, mask);
        warp->pc++;
        return PTX_OK;
    case PTX_BARRIER:
    case PTX_CLUSTER_ARRIVE:
    case PTX_CLUSTER_WAIT:
        return reach_barrier(warp, in, mask);
    default:
        warp->pc++;
        return mask ? ptx_fault(warp, in, __builtin_ctz(mask), PTX_ERR_TRAP, "the kernel executed a trap")
                    : PTX_OK;
    }
}

/* For an instruction that lacks lanes: returns PTX_OK if other lanes run first, after which it executes
   again. */
static ptx_status gather_lanes(ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    if (mask == warp->active && (merge_siblings(warp) || ptx_splits_gather(warp, true)))
        return PTX_OK;
    warp->no_more_lanes = true;
    return handlers[in->opcode](warp, in, mask);
}

/* A warp spins on memory that no running warp changes: lanes that wait at a reconvergence point may be those
   that would change it, so they become a warp split. */
static ptx_status split_waiting_lanes(ptx_warp *warp, const ptx_instr *in) {
    ptx_worker *worker = warp->worker;
    if (worker->stall_action == PTX_STALL_DEADLOCK)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER,
                         "deadlock: the warp polls memory that no block left will write to");
    if (!ptx_poll_may_split(warp) || !ptx_splits_create(warp)) {
        yield_to_siblings(warp);
        return PTX_OK;
    }
    warp->stalled = false;
    warp->progressed = true;
    worker->stall_action = PTX_STALL_WAIT;
    return PTX_OK;
}

/* Runs up to `count` plain instructions; returns how many were executed. */
static inline uint32_t run_plain(ptx_warp *warp, const ptx_instr *in, uint32_t count, ptx_status *status) {
    const uint32_t active = warp->active;
    uint32_t done = 0;
    do
        *status = handlers[in->opcode](warp, in, active);
    while (*status == PTX_OK && ++done < count && (++in)->plain);
    return done;
}

/* wgmma instructions check their registers themselves. */
static inline bool is_wgmma(const ptx_instr *in) {
    return in->opcode >= PTX_OP_wgmma_fence && in->opcode <= PTX_OP_wgmma_half;
}

/* Compiled in three variants: with observers, with register checks for wgmma, and with neither. */
static inline __attribute__((always_inline)) ptx_status run_warp_as(ptx_warp *warp, bool observed,
                                                                    bool checks_wgmma) {
    const ptx_instr *code = warp->worker->kernel->code;
    const uint32_t *predicates = warp->predicates;
    ptx_status status = PTX_OK;
    const uint32_t quantum = warp->quantum_left ? warp->quantum_left : PTX_QUANTUM;
    uint32_t left = quantum;
    warp->stalled = false;
    warp->progressed = warp->progressed && warp->quantum_left;
    warp->quantum_left = 0;
    while (left && status == PTX_OK && warp->state == PTX_WARP_READY) {
        /* runs up to the next control instruction or the reconvergence point; uniform branches continue in
           the loop */
        uint32_t pc = warp->pc, reconvergence_pc = warp->reconvergence_pc, active = warp->active;
        const ptx_instr *in = &code[pc];
        uint32_t mask = 0;
        bool at_control = false;
        while (left && pc != reconvergence_pc) {
            if (!observed && !checks_wgmma && in->plain) {
                const uint32_t end =
                    reconvergence_pc > pc && reconvergence_pc - pc < left ? reconvergence_pc : pc + left;
                const uint32_t done = run_plain(warp, in, end - pc, &status);
                in += done, pc += done, left -= done;
                if (status != PTX_OK) {
                    left--, mask = active;
                    break;
                }
                if (pc == end)
                    continue;
            }
            mask = active & (predicates[in->guard] ^ in->guard_flip);
            if (in->needs_ticket && mask && !warp->block->cluster->has_ticket) {
                status = PTX_AWAIT_TICKET;
                break;
            }
            left--;
            if (observed)
                ptx_hooks_issue(warp, in, mask);
            if (checks_wgmma && mask && warp->wgmma && warp->wgmma->active && !is_wgmma(in) &&
                (status = ptx_wgmma_check(warp, in)) != PTX_OK)
                break;
            if (in->kind == PTX_BRANCH && (mask == active || mask == 0)) {
                pc = mask ? in->op[0] : pc + 1;
                in = &code[pc];
                continue;
            }
            at_control = in->kind != PTX_RUN;
            if (at_control || (mask && (status = handlers[in->opcode](warp, in, mask)) != PTX_OK))
                break;
            in++;
            pc++;
        }
        warp->pc = pc;
        if (at_control)
            status = control(warp, in, mask);
        else if (pc == reconvergence_pc)
            pop(warp);
        if (status == PTX_YIELD || status == PTX_NO_PROGRESS) {
            warp->pc++;
            if (status == PTX_YIELD)
                yield_to_siblings(warp);
            status = status == PTX_YIELD ? PTX_OK : split_waiting_lanes(warp, in);
            break;
        }
        if (status == PTX_DIVERGED_RETRY)
            status = gather_lanes(warp, in, mask);
    }
    if (status == PTX_AWAIT_TICKET)
        warp->quantum_left = left;
    warp->worker->steps += quantum - left;
    return status;
}

static ptx_status run_warp(ptx_warp *warp) {
    return run_warp_as(warp, false, false);
}

static ptx_status run_observed_warp(ptx_warp *warp) {
    return run_warp_as(warp, true, true);
}

static ptx_status run_wgmma_warp(ptx_warp *warp) {
    return run_warp_as(warp, false, true);
}

ptx_status ptx_warp_run(ptx_warp *warp) {
    if (!warp->block->observer_count && warp->worker->kernel->uses_wgmma)
        return run_wgmma_warp(warp);
    return warp->block->observer_count ? run_observed_warp(warp) : run_warp(warp);
}
