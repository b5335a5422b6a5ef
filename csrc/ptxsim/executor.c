#include "executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "diagnostic.h"
#include "hooks.h"

enum { QUANTUM = 4096, POLL_NANOSECONDS = 10 * 1000 * 1000 };

/* ---- errors ---- */

static ptx_status fault(ptx_warp *warp, const ptx_instr *in, int lane, ptx_status status,
                        const char *reason) {
    ptx_worker *worker = warp->worker;
    const ptx_kernel *kernel = worker->kernel;
    const ptx_source *source = &kernel->source[in - kernel->code];
    ptx_error *e = &worker->error;
    if (worker->observer_count)
        ptx_hooks_fault(warp, in, status);
    memset(e, 0, sizeof *e);
    e->status = status;
    e->line = source->line;
    e->column = source->column;
    snprintf(e->kernel, sizeof e->kernel, "%s", kernel->name);
    ptx_copy_line(e->text, sizeof e->text, kernel->module->text + source->text_offset);
    memcpy(e->block, worker->block, sizeof e->block);
    e->warp = (int)warp->index;
    e->lane = lane;
    char where[24] = "";
    if (lane >= 0)
        snprintf(where, sizeof where, ", lane %d", lane);
    snprintf(e->message, sizeof e->message,
             "kernel %s, PTX line %u: %s [block (%u, %u, %u), warp %d%s]\n    %s", e->kernel, e->line, reason,
             e->block[0], e->block[1], e->block[2], e->warp, where, e->text);
    return status;
}

ptx_status ptx_fault(ptx_warp *warp, const ptx_instr *in, int lane, ptx_status status, const char *format,
                     ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return fault(warp, in, lane, status, reason);
}

ptx_status ptx_fault_address(ptx_warp *warp, const ptx_instr *in, int lane, uint64_t address, unsigned size) {
    char place[200];
    ptx_memory_describe(warp->worker->run->memory, warp->worker->view, address, place, sizeof place);
    return ptx_fault(warp, in, lane, PTX_ERR_ADDRESS,
                     "%u bytes at the global address 0x%llx are not allocated: %s", size,
                     (unsigned long long)address, place);
}

void ptx_run_fail(ptx_run *run, uint64_t block, const ptx_error *error) {
    pthread_mutex_lock(&run->lock);
    uint64_t lowest = atomic_load(&run->failed_block);
    bool whole = block == UINT64_MAX;
    if (run->status == PTX_OK || (!whole && block < lowest)) {
        run->status = error->status;
        run->error = *error;
    }
    if (!whole && block < lowest)
        atomic_store(&run->failed_block, block);
    if (whole)
        atomic_store(&run->stop, true);
    pthread_mutex_unlock(&run->lock);
}

/* ---- budget and interrupts ---- */

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool ptx_run_interrupted(ptx_run *run, uint64_t *polled) {
    const ptx_launch_config *config = run->config;
    if (!config->interrupted)
        return false;
    uint64_t time = now();
    if (time - *polled < POLL_NANOSECONDS)
        return false;
    *polled = time;
    if (!config->interrupted(config->interrupted_arg))
        return false;
    ptx_error error;
    ptx_fail(&error, PTX_ERR_INTERRUPTED, "kernel %s was interrupted", run->kernel->name);
    ptx_run_fail(run, UINT64_MAX, &error);
    return true;
}

/* Reports the steps taken and says whether this worker may go on with its block. */
static bool checkpoint(ptx_worker *worker) {
    ptx_run *run = worker->run;
    uint64_t total = atomic_fetch_add(&run->steps, worker->steps) + worker->steps;
    worker->steps = 0;
    if (run->config->step_budget && total > run->config->step_budget) {
        ptx_error error;
        ptx_fail(&error, PTX_ERR_BUDGET, "kernel %s ran over its budget of %llu warp instructions",
                 run->kernel->name, (unsigned long long)run->config->step_budget);
        ptx_run_fail(run, UINT64_MAX, &error);
    }
    if (worker->caller)
        ptx_run_interrupted(run, &worker->polled);
    return !atomic_load_explicit(&run->stop, memory_order_relaxed) &&
           atomic_load_explicit(&run->failed_block, memory_order_relaxed) >= worker->block_index;
}

/* ---- divergence ---- */

/* The entry below takes over, less the lanes that exited meanwhile; false when there is none left. */
static bool pop(ptx_warp *warp) {
    while (warp->depth) {
        const ptx_stack_entry *top = &warp->stack[--warp->depth];
        warp->pc = top->pc;
        warp->meeting = top->meeting;
        warp->active = top->mask & warp->live;
        if (warp->active)
            return true;
    }
    return false;
}

static void push(ptx_warp *warp, uint32_t pc, uint32_t meeting, uint32_t mask) {
    warp->stack[warp->depth++] = (ptx_stack_entry){.pc = pc, .meeting = meeting, .mask = mask};
}

/* Some lanes branch and some don't. All meet again at the branch's meeting point, where the entry below goes
   on with them; if that is where they were to meet anyway, an entry for it exists. A side that comes to a
   collective instruction waits for the other if that one comes to none: its lanes may be about to exit. */
static void diverge(ptx_warp *warp, const ptx_instr *in, uint32_t taken) {
    uint32_t target = in->op[0], meeting = in->op[1], next = warp->pc + 1;
    if (meeting != warp->meeting && meeting != PTX_NO_PC)
        push(warp, meeting, warp->meeting, warp->active);
    uint32_t stay = warp->active & ~taken;
    bool target_first = in->next_syncs && !in->target_syncs;
    uint32_t later = target_first ? next : target, later_mask = target_first ? stay : taken;
    if (later != meeting)
        push(warp, later, meeting, later_mask);
    warp->pc = target_first ? target : next;
    warp->active = target_first ? taken : stay;
    warp->meeting = meeting;
}

/* ---- barriers ---- */

static void release(ptx_worker *worker, uint32_t barrier) {
    uint32_t released = 0;
    for (unsigned i = 0; i < worker->warp_count; i++) {
        ptx_warp *warp = &worker->warps[i];
        if (warp->state != PTX_WARP_WAITING || warp->barrier != barrier)
            continue;
        warp->state = PTX_WARP_READY;
        released |= 1u << i;
    }
    worker->waiting[barrier] = 0;
    if (worker->observer_count)
        ptx_hooks_barrier(worker, released);
}

static void release_if_complete(ptx_worker *worker, uint32_t barrier, uint32_t expected) {
    unsigned needed = expected ? expected : worker->live_warps;
    if (worker->waiting[barrier] >= needed)
        release(worker, barrier);
}

static ptx_status arrive(ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    if (mask != warp->live)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER,
                         "a divergent barrier: lanes 0x%08x are here, lanes 0x%08x of the warp are elsewhere",
                         mask, warp->live & ~mask);
    unsigned lane = (unsigned)__builtin_ctz(mask);
    uint32_t barrier = ((const ptx_u32 *)ptx_lanes(warp, in, 0))[lane];
    uint32_t threads = ((const ptx_u32 *)ptx_lanes(warp, in, 1))[lane];
    if (barrier >= PTX_BARRIERS)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER, "there is no barrier %u, only 0 to %d", barrier,
                         PTX_BARRIERS - 1);
    if (threads % PTX_LANES)
        return ptx_fault(warp, in, -1, PTX_ERR_BARRIER,
                         "the thread count %u of the barrier is no multiple of %d", threads, PTX_LANES);
    warp->state = PTX_WARP_WAITING;
    warp->barrier = barrier;
    warp->expected = threads / PTX_LANES;
    warp->worker->waiting[barrier]++;
    release_if_complete(warp->worker, barrier, warp->expected);
    return PTX_OK;
}

/* A warp that is done no longer counts, which may complete a barrier that waits for all. */
static void finish(ptx_warp *warp) {
    ptx_worker *worker = warp->worker;
    warp->state = PTX_WARP_DONE;
    worker->live_warps--;
    for (unsigned i = 0; i < worker->warp_count; i++) {
        const ptx_warp *other = &worker->warps[i];
        if (other->state == PTX_WARP_WAITING)
            release_if_complete(worker, other->barrier, other->expected);
    }
}

static ptx_status deadlock(ptx_worker *worker) {
    char waits[300];
    size_t used = 0;
    const ptx_warp *first = worker->warps;
    bool any = false;
    waits[0] = '\0';
    for (unsigned i = 0; i < worker->warp_count; i++) {
        const ptx_warp *warp = &worker->warps[i];
        if (warp->state != PTX_WARP_WAITING)
            continue;
        if (used + 60 < sizeof waits)
            used += (size_t)snprintf(waits + used, sizeof waits - used,
                                     "%swarp %u at PTX line %u (barrier %u)", any ? ", " : "", i,
                                     worker->kernel->source[warp->pc - 1].line, warp->barrier);
        else if (waits[used - 1] != '.')
            used += (size_t)snprintf(waits + used, sizeof waits - used, ", ...");
        if (!any)
            first = warp;
        any = true;
    }
    return ptx_fault(&worker->warps[first->index], &worker->kernel->code[first->pc - 1], -1, PTX_ERR_BARRIER,
                     "deadlock: every warp left waits at a barrier that cannot complete: %s", waits);
}

/* ---- one warp ---- */

/* Lanes leave the kernel; goes on with those that are left. */
static void leave(ptx_warp *warp, uint32_t mask) {
    warp->live &= ~mask;
    warp->active &= ~mask;
    if (warp->active)
        warp->pc++;
    else if (!pop(warp))
        finish(warp);
}

/* A branch, a barrier, an exit or a trap: everything that is not one handler call. */
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
            leave(warp, mask);
        else
            warp->pc++;
        return PTX_OK;
    case PTX_BARRIER:
        warp->pc++;
        return mask ? arrive(warp, in, mask) : PTX_OK;
    default:
        warp->pc++;
        return mask ? ptx_fault(warp, in, __builtin_ctz(mask), PTX_ERR_TRAP, "the kernel executed a trap")
                    : PTX_OK;
    }
}

/* Runs until the warp waits, is done, or has taken a quantum of steps. Compiled with and without observers.
 */
static inline __attribute__((always_inline)) ptx_status run_warp_as(ptx_warp *warp, bool observed) {
    const ptx_instr *code = warp->worker->kernel->code;
    const uint32_t *predicates = warp->predicates;
    ptx_status status = PTX_OK;
    uint32_t left = QUANTUM;
    while (left && status == PTX_OK && warp->state == PTX_WARP_READY) {
        /* the straight stretch up to the next control instruction or meeting point */
        uint32_t pc = warp->pc, meeting = warp->meeting, active = warp->active;
        const ptx_instr *in = &code[pc];
        uint32_t mask = 0;
        bool at_control = false;
        while (left && pc != meeting) {
            left--;
            mask = active & (predicates[in->guard] ^ in->guard_flip);
            if (observed)
                ptx_hooks_issue(warp, in, mask);
            at_control = in->kind != PTX_RUN;
            if (at_control || (mask && (status = in->run(warp, in, mask)) != PTX_OK))
                break;
            in++;
            pc++;
        }
        warp->pc = pc;
        if (at_control)
            status = control(warp, in, mask);
        else if (pc == meeting)
            pop(warp);
    }
    warp->worker->steps += QUANTUM - left;
    return status;
}

static ptx_status run_warp(ptx_warp *warp) {
    return run_warp_as(warp, false);
}

static ptx_status run_observed_warp(ptx_warp *warp) {
    return run_warp_as(warp, true);
}

/* ---- one block ---- */

static void fill(ptx_warp *warp, const ptx_constant *c, uint64_t value) {
    uint8_t *slot = warp->registers + warp->worker->kernel->register_bytes + c->offset;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        if (c->bytes == 8)
            ((ptx_u64 *)(void *)slot)[i] = value;
        else
            ((ptx_u32 *)(void *)slot)[i] = (uint32_t)value;
    }
}

static bool changes_with_block(const ptx_constant *c) {
    return c->kind == PTX_CONSTANT_SPECIAL && c->value >= PTX_CTAID_X && c->value <= PTX_CTAID_Z;
}

static uint32_t special_value(const ptx_run *run, ptx_special which, uint32_t warp, uint32_t lane) {
    const uint32_t *block = run->config->block, *grid = run->config->grid;
    uint32_t thread = warp * PTX_LANES + lane;
    switch (which) {
    case PTX_TID_X:
        return thread % block[0];
    case PTX_TID_Y:
        return thread / block[0] % block[1];
    case PTX_TID_Z:
        return thread / block[0] / block[1];
    case PTX_NTID_X:
    case PTX_NTID_Y:
    case PTX_NTID_Z:
        return block[which - PTX_NTID_X];
    case PTX_NCTAID_X:
    case PTX_NCTAID_Y:
    case PTX_NCTAID_Z:
        return grid[which - PTX_NCTAID_X];
    case PTX_LANEID:
        return lane;
    case PTX_WARPID:
        return warp;
    case PTX_NWARPID:
        return (run->block_threads + PTX_LANES - 1) / PTX_LANES;
    case PTX_LANEMASK_EQ:
        return 1u << lane;
    case PTX_LANEMASK_LT:
        return (1u << lane) - 1;
    case PTX_LANEMASK_LE:
        return UINT32_MAX >> (31 - lane);
    case PTX_LANEMASK_GT:
        return ~(UINT32_MAX >> (31 - lane));
    case PTX_LANEMASK_GE:
        return ~((1u << lane) - 1);
    case PTX_DYNAMIC_SMEM_SIZE:
        return (uint32_t)run->config->dynamic_shared_bytes;
    default:
        return 0; /* %ctaid is filled in for each block */
    }
}

static void fill_constants(ptx_warp *warp) {
    const ptx_run *run = warp->worker->run;
    for (size_t k = 0; k < run->kernel->constant_count; k++) {
        const ptx_constant *c = &run->kernel->constants[k];
        if (c->kind != PTX_CONSTANT_SPECIAL) {
            fill(warp, c, c->value + (c->kind == PTX_CONSTANT_DYNAMIC_SHARED ? run->dynamic_base : 0));
            continue;
        }
        ptx_u32 *slot = (void *)(warp->registers + run->kernel->register_bytes + c->offset);
        for (uint32_t lane = 0; lane < PTX_LANES; lane++)
            slot[lane] = special_value(run, (ptx_special)c->value, warp->index, lane);
    }
}

static void start_warp(ptx_warp *warp, unsigned block_threads) {
    unsigned first = warp->index * PTX_LANES;
    unsigned left = block_threads - first;
    const ptx_kernel *kernel = warp->worker->kernel;
    warp->pc = 0;
    warp->meeting = PTX_NO_PC;
    warp->active = warp->live = left < PTX_LANES ? (1u << left) - 1 : PTX_ALL_LANES;
    warp->state = PTX_WARP_READY;
    warp->depth = 0;
    memset(warp->registers, PTX_POISON, kernel->register_bytes);
    memset(warp->predicates + PTX_PRED_FIRST, PTX_POISON,
           (kernel->predicate_count - PTX_PRED_FIRST) * sizeof *warp->predicates);
    for (size_t k = 0; k < kernel->constant_count; k++) {
        const ptx_constant *c = &kernel->constants[k];
        if (changes_with_block(c))
            fill(warp, c, warp->worker->block[c->value - PTX_CTAID_X]);
    }
}

static void start_block(ptx_worker *worker) {
    const ptx_run *run = worker->run;
    const uint32_t *grid = run->config->grid;
    /* The last block first: blocks have no order, and a kernel that relies on one, such as a pass that writes
       in place what other blocks have yet to read, shall be wrong here too. Atomics keep the order of the
       block numbers, which people expect of the values they return. */
    uint64_t index = worker->block_index;
    if (!run->kernel->global_atomics)
        index = run->blocks - 1 - index;
    worker->block[0] = (uint32_t)(index % grid[0]);
    worker->block[1] = (uint32_t)(index / grid[0] % grid[1]);
    worker->block[2] = (uint32_t)(index / grid[0] / grid[1]);
    worker->live_warps = worker->warp_count;
    memset(worker->waiting, 0, sizeof worker->waiting);
    memset(worker->shared.host, PTX_POISON, worker->shared.bytes);
    for (unsigned i = 0; i < worker->warp_count; i++)
        start_warp(&worker->warps[i], run->block_threads);
    if (worker->observer_count)
        ptx_hooks_block(worker, true);
}

/* PTX_OK when the block is done or the run was told to stop (then *stopped). */
static ptx_status run_block(ptx_worker *worker, bool *stopped) {
    start_block(worker);
    while (worker->live_warps) {
        bool progress = false;
        for (unsigned i = 0; i < worker->warp_count; i++) {
            if (worker->warps[i].state != PTX_WARP_READY)
                continue;
            progress = true;
            ptx_status status =
                worker->observer_count ? run_observed_warp(&worker->warps[i]) : run_warp(&worker->warps[i]);
            if (status != PTX_OK)
                return status;
            if (worker->steps >= QUANTUM && !checkpoint(worker)) {
                *stopped = true;
                return PTX_OK;
            }
        }
        if (!progress)
            return deadlock(worker);
    }
    if (worker->observer_count)
        ptx_hooks_block(worker, false);
    return PTX_OK;
}

void ptx_worker_run(ptx_worker *worker) {
    ptx_run *run = worker->run;
    bool stopped = false;
    while (!stopped && !atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        worker->block_index = atomic_fetch_add(&run->next_block, 1);
        if (worker->block_index >= run->blocks || worker->block_index > atomic_load(&run->failed_block))
            break;
        if (run_block(worker, &stopped) != PTX_OK)
            ptx_run_fail(run, worker->block_index, &worker->error);
    }
    (void)checkpoint(worker);
}

/* ---- a worker's memory ---- */

static void *allocate(size_t bytes) {
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

ptx_status ptx_worker_open(ptx_run *run, bool caller, ptx_worker **out, ptx_error *error) {
    const ptx_kernel *kernel = run->kernel;
    ptx_worker *worker = calloc(1, sizeof *worker);
    *out = worker;
    if (!worker)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for a launch");
    worker->run = run;
    worker->kernel = kernel;
    worker->view = &run->view;
    worker->caller = caller;
    worker->polled = now();
    worker->warp_count = (run->block_threads + PTX_LANES - 1) / PTX_LANES;
    worker->shared = (ptx_window){.bytes = run->shared_bytes, .host = allocate(run->shared_bytes)};
    worker->params = (ptx_window){.bytes = kernel->param_bytes, .host = allocate(kernel->param_bytes)};
    /* an odd number of cache lines, so that the warps' registers don't all compete for the same sets */
    worker->register_stride = ((size_t)kernel->register_bytes + kernel->constant_bytes) / 128 * 128 + 192;
    worker->predicate_stride = ((size_t)kernel->predicate_count + 15) / 16 * 16;
    worker->registers = allocate(worker->register_stride * worker->warp_count);
    worker->predicates = allocate(worker->predicate_stride * worker->warp_count * sizeof *worker->predicates);
    if (!worker->shared.host || !worker->params.host || !worker->registers || !worker->predicates)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for a launch");
    if (kernel->param_bytes)
        memcpy(worker->params.host, run->config->params, kernel->param_bytes);
    for (unsigned i = 0; i < worker->warp_count; i++) {
        ptx_warp *warp = &worker->warps[i];
        warp->worker = worker;
        warp->index = i;
        warp->registers = worker->registers + i * worker->register_stride;
        warp->predicates = worker->predicates + i * worker->predicate_stride;
        warp->predicates[PTX_PRED_FALSE] = 0;
        warp->predicates[PTX_PRED_TRUE] = PTX_ALL_LANES;
        warp->predicates[PTX_PRED_SINK] = 0;
        fill_constants(warp);
    }
    return ptx_hooks_attach(worker, error);
}

void ptx_worker_close(ptx_worker *worker) {
    if (!worker)
        return;
    ptx_hooks_detach(worker);
    free(worker->shared.host);
    free(worker->params.host);
    free(worker->registers);
    free(worker->predicates);
    free(worker);
}
