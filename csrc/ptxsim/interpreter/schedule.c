/* The scheduler of a worker: starts clusters one after the other and gives each ready warp a quantum of
   instructions per sweep. Clusters that wait for other clusters stay resident and take turns. */
#include "interpreter/schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "diagnostic.h"
#include "interpreter/async.h"
#include "interpreter/executor.h"
#include "interpreter/hooks.h"
#include "interpreter/lanes.h"
#include "interpreter/output.h"
#include "interpreter/poll.h"
#include "interpreter/run.h"
#include "interpreter/tickets.h"
#include "interpreter/wgmma_state.h"

enum {
    IDLE_SWEEPS_BEFORE_START = 4, /* sweeps without progress before another cluster is started */
    /* Every this many sweeps without progress the registers of waiting warps are compared with the previous
       time. A multiple of 2, 3 and 4, so that of 2, 3 or 4 groups of diverged lanes that poll by turns the
       same one is compared. */
    COMPARE_SWEEPS = 24,
    MAX_POLLS = 1 << 26 /* polls without change after which a deadlock is reported even if registers change,
                           such as a loop counter */
};

/* ---- step budget ---- */

/* Adds the executed steps to the run's; returns whether the worker may continue with the cluster. */
static bool checkpoint(ptx_worker *worker, const ptx_cluster *cluster) {
    ptx_run *run = worker->run;
    uint64_t total = atomic_fetch_add(&run->steps, worker->steps) + worker->steps;
    worker->steps = 0;
    if (run->config->step_budget && total > run->config->step_budget) {
        ptx_error error;
        ptx_fail(&error, PTX_ERR_BUDGET, "kernel %s ran over its budget of %llu warp instructions",
                 run->kernel->name, (unsigned long long)run->config->step_budget);
        ptx_run_fail(run, UINT64_MAX, &error);
    }
    if (worker->caller) { /* the callback runs in the caller's floating-point environment */
        ptx_environment_leave(&worker->environment);
        ptx_run_interrupted(run, &worker->last_poll);
        ptx_environment_enter(&worker->environment);
    }
    return !atomic_load_explicit(&run->stop, memory_order_relaxed) &&
           (!cluster || atomic_load_explicit(&run->failed_cluster, memory_order_relaxed) >= cluster->index);
}

/* ---- constants ---- */

static void fill(ptx_warp *warp, const ptx_constant *c, uint64_t value) {
    uint8_t *slot = warp->registers + warp->worker->kernel->register_bytes + c->offset;
    if (c->bytes == 8)
        for (unsigned i = 0; i < PTX_LANES; i++)
            ((ptx_u64 *)(void *)slot)[i] = value;
    else
        for (unsigned i = 0; i < PTX_LANES; i++)
            ((ptx_u32 *)(void *)slot)[i] = (uint32_t)value;
}

/* The value of a special register that differs between blocks; returns false for the others. */
static bool block_value(const ptx_block *block, ptx_special which, uint32_t *value) {
    const ptx_run *run = block->worker->run;
    switch (which) {
#define SPECIAL(id, name, of_thread)
#define BLOCK_SPECIAL(id, name, of_block)                                                                    \
    case PTX_##id:                                                                                           \
        *value = of_block;                                                                                   \
        return true;
#include "specials.def"
    default:
        return false;
    }
}

static uint32_t special_value(const ptx_run *run, ptx_special which, uint32_t warp, uint32_t lane) {
    const uint32_t thread = warp * PTX_LANES + lane;
    switch (which) {
#define SPECIAL(id, name, of_thread)                                                                         \
    case PTX_##id:                                                                                           \
        return of_thread;
#define BLOCK_SPECIAL(id, name, of_block)
#include "specials.def"
    default:
        return 0; /* block_value sets it when the block starts */
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

/* ---- blocks ---- */

static void start_warp(ptx_warp *warp, unsigned block_threads) {
    unsigned first = warp->index * PTX_LANES;
    unsigned rest = block_threads - first;
    const ptx_kernel *kernel = warp->worker->kernel;
    warp->pc = 0;
    warp->reconvergence_pc = PTX_NO_PC;
    warp->active = warp->live = rest < PTX_LANES ? (1u << rest) - 1 : PTX_ALL_LANES;
    warp->state = PTX_WARP_READY;
    warp->cluster_arrived = warp->cluster_released = 0;
    warp->no_more_lanes = false;
    ptx_wgmma_reset(warp);
    warp->warpgroup_digest = 0;
    warp->warpgroup_last = NULL;
    warp->clock = 0;
    warp->pending_copy_count = warp->pending_store_count = 0;
    memset(warp->copy_groups, 0, sizeof warp->copy_groups);
    memset(warp->store_groups, 0, sizeof warp->store_groups);
    warp->depth = 0;
    warp->split_count = 0;
    warp->quantum_left = 0;
    ptx_poll_reset(warp);
    warp->digest = 0;
    memset(warp->registers, PTX_POISON, kernel->poisoned_bytes);
    memset(warp->predicates + PTX_PRED_FIRST, PTX_POISON,
           (kernel->predicate_count - PTX_PRED_FIRST) * sizeof *warp->predicates);
    for (size_t k = 0; k < kernel->constant_count; k++) {
        const ptx_constant *c = &kernel->constants[k];
        uint32_t value;
        if (c->kind == PTX_CONSTANT_SPECIAL && block_value(warp->block, (ptx_special)c->value, &value))
            fill(warp, c, value);
    }
}

static void start_block(ptx_worker *worker, ptx_block *block) {
    block->live_warps = worker->warp_count;
    block->round = 0;
    memset(block->waiting, 0, sizeof block->waiting);
    memset(block->reductions, 0, sizeof block->reductions);
    memset(block->barrier_arrivals, 0, sizeof block->barrier_arrivals);
    memset(block->shared.host, PTX_POISON, block->shared.bytes);
    if (block->local.bytes)
        memset(block->local.host, PTX_POISON, block->local.bytes);
    for (unsigned i = 0; i < worker->warp_count; i++)
        start_warp(&block->warps[i], worker->run->block_threads);
    if (block->observer_count)
        ptx_hooks_block(block, true);
}

static void start_cluster(ptx_worker *worker, ptx_cluster *cluster, uint64_t index, bool has_ticket) {
    const ptx_run *run = worker->run;
    const uint32_t *size = run->cluster, *count = run->clusters;
    cluster->index = index;
    cluster->has_ticket = has_ticket;
    cluster->sweeps_ahead = 0;
    cluster->block = cluster->warp = 0;
    /* By default clusters start from the last one: CUDA does not define an order of blocks, and a kernel that
       depends on one, such as an in-place pass over data that other blocks still read, should fail here, too.
       Kernels with global atomics start from the first one, the order that users expect of the returned
       values, and so do kernels with strong loads, which may wait for blocks before their own: GPUs start
       those first, and the scans of CUB rely on it. */
    if (run->order_factor)
        index = (index + 1) * run->order_factor % run->cluster_count;
    else if (!run->kernel->global_atomics && !run->kernel->strong_global_loads)
        index = run->cluster_count - 1 - index;
    cluster->live_blocks = run->cluster_blocks;
    cluster->live_threads = run->cluster_blocks * run->block_threads;
    cluster->arrived_threads = 0;
    cluster->bulk_copy_count = 0;
    for (uint32_t rank = 0; rank < run->cluster_blocks; rank++) {
        ptx_block *block = cluster->blocks[rank];
        block->index[0] = (uint32_t)(index % count[0]) * size[0] + rank % size[0];
        block->index[1] = (uint32_t)(index / count[0] % count[1]) * size[1] + rank / size[0] % size[1];
        block->index[2] = (uint32_t)(index / count[0] / count[1]) * size[2] + rank / size[0] / size[1];
        const uint32_t *grid = run->config->grid;
        block->number = block->index[0] + grid[0] * (block->index[1] + (uint64_t)grid[1] * block->index[2]);
        start_block(worker, block);
    }
}

/* ---- sweeps ---- */

/* The outcome of one sweep over the running clusters. */
typedef struct sweep_state {
    bool progress, stopped;
    bool awaits_ticket; /* a cluster reached an access for which it needs its ticket */
    uint64_t polls;     /* warps that polled without change */
    bool compare;       /* compare: digest the registers of waiting warps; changed: a digest differed */
    bool changed;
} sweep_state;

static void account_warp(ptx_warp *warp, sweep_state *sweep) {
    sweep->polls += warp->stalled;
    sweep->progress = sweep->progress || !warp->stalled;
    if (!warp->stalled || !sweep->compare)
        return;
    uint64_t now_seen = ptx_poll_digest(warp);
    sweep->changed = sweep->changed || warp->digest != now_seen;
    warp->digest = now_seen;
}

/* Runs a quantum of each ready warp of the cluster, starting with the warp that waited for a ticket. */
static ptx_status run_cluster(ptx_worker *worker, ptx_cluster *cluster, sweep_state *sweep) {
    bool ready = false;
    for (; cluster->block < worker->run->cluster_blocks; cluster->block++, cluster->warp = 0) {
        ptx_block *block = cluster->blocks[cluster->block];
        for (; cluster->warp < worker->warp_count; cluster->warp++) {
            ptx_warp *warp = &block->warps[cluster->warp];
            if (warp->state != PTX_WARP_READY)
                continue;
            ready = true;
            ptx_status status = ptx_warp_run(warp);
            if (status != PTX_OK)
                return status;
            account_warp(warp, sweep);
            if (worker->steps >= PTX_QUANTUM && !checkpoint(worker, cluster)) {
                sweep->stopped = true;
                return PTX_OK;
            }
        }
    }
    cluster->block = cluster->warp = 0;
    if (cluster->bulk_copy_count) {
        sweep->progress = true;
        return ptx_bulk_copies_complete(cluster);
    }
    return ready ? PTX_OK : ptx_deadlock(cluster);
}

/* Runs one sweep as run_cluster does, but skips the sweeps that a cluster ran ahead before it got its ticket.
 */
static ptx_status sweep_cluster(ptx_worker *worker, ptx_cluster *cluster, sweep_state *sweep) {
    if (!cluster->has_ticket || !cluster->sweeps_ahead) {
        ptx_status status = run_cluster(worker, cluster, sweep);
        cluster->sweeps_ahead += !cluster->has_ticket && status == PTX_OK;
        return status;
    }
    cluster->sweeps_ahead--;
    sweep->progress = true;
    return PTX_OK;
}

/* Runs one sweep over all clusters; finished clusters become idle. */
static void run_sweep(ptx_worker *worker, sweep_state *sweep) {
    ptx_cluster **link = &worker->running;
    while (*link && !sweep->stopped) {
        ptx_cluster *cluster = *link;
        ptx_status status = sweep_cluster(worker, cluster, sweep);
        if (status == PTX_AWAIT_TICKET) {
            sweep->awaits_ticket = sweep->progress = true;
            return;
        }
        if (status != PTX_OK) {
            ptx_run_fail(worker->run, cluster->index, &worker->error);
            sweep->stopped = true;
        }
        if (cluster->live_blocks) {
            link = &cluster->next;
            continue;
        }
        for (unsigned b = 0; b < worker->run->cluster_blocks; b++)
            ptx_output_end(cluster->blocks[b]);
        *link = cluster->next;
        cluster->next = worker->idle;
        worker->idle = cluster;
        worker->resident -= worker->run->cluster_blocks;
        sweep->progress = true;
    }
}

static ptx_status open_cluster(ptx_worker *worker, ptx_error *error);

/* Appends a cluster, so that clusters which wait for it see its effects in the same sweep. */
static void link_cluster(ptx_worker *worker, ptx_cluster *cluster) {
    ptx_cluster **link = &worker->running;
    while (*link)
        link = &(*link)->next;
    *link = cluster;
    cluster->next = NULL;
    worker->resident += worker->run->cluster_blocks;
}

static ptx_status begin_cluster(ptx_worker *worker, uint64_t index, bool has_ticket) {
    if (!worker->idle) {
        ptx_status status = open_cluster(worker, &worker->error);
        if (status != PTX_OK)
            return status;
    }
    ptx_cluster *cluster = worker->idle;
    worker->idle = cluster->next;
    start_cluster(worker, cluster, index, has_ticket);
    link_cluster(worker, cluster);
    return PTX_OK;
}

/* Continues a cluster with its ticket; another worker may have started it. */
static void resume_cluster(ptx_worker *worker, ptx_cluster *cluster) {
    for (unsigned b = 0; b < worker->run->cluster_blocks; b++) {
        ptx_block *block = cluster->blocks[b];
        block->worker = worker;
        for (unsigned i = 0; i < worker->warp_count; i++)
            block->warps[i].worker = worker;
    }
    cluster->has_ticket = true;
    link_cluster(worker, cluster);
}

/* Starts or resumes the next cluster of the grid, if any. */
static ptx_status draw_cluster(ptx_worker *worker, ptx_ticket_result *result) {
    ptx_run *run = worker->run;
    uint64_t index = 0;
    ptx_cluster *resumed = NULL;
    bool has_ticket = true;
    if (!run->uses_tickets) {
        index = atomic_fetch_add(&run->next_cluster, 1);
        bool more = index < run->cluster_count && index <= atomic_load(&run->failed_cluster);
        *result = more ? PTX_TICKET_START : PTX_TICKET_NONE;
    } else if (worker->running) {
        *result = ptx_tickets_adopt(worker, &index, &resumed);
    } else {
        *result = ptx_tickets_draw(worker, &index, &has_ticket);
    }
    if (*result == PTX_TICKET_RESUME)
        resume_cluster(worker, resumed);
    return *result == PTX_TICKET_START ? begin_cluster(worker, index, has_ticket) : PTX_OK;
}

/* If all running clusters wait, they may wait for clusters that have not started: doubles the resident
   blocks, up to the capacity of a device. In a permuted order all blocks that fit are resident, as on a
   device. */
static ptx_status draw_clusters(ptx_worker *worker, ptx_ticket_result *last) {
    const ptx_run *run = worker->run;
    unsigned wanted = run->order_factor ? run->max_resident : worker->resident ? worker->resident : 1;
    ptx_status status = PTX_OK;
    for (unsigned drawn = 0; drawn < wanted && status == PTX_OK; drawn += run->cluster_blocks) {
        if (worker->resident && worker->resident + run->cluster_blocks > run->max_resident)
            break;
        status = draw_cluster(worker, last);
        if (*last == PTX_TICKET_NONE || *last == PTX_TICKET_FAILED)
            break;
    }
    return status;
}

/* A cluster that ran ahead cannot continue without its ticket: takes it if it is available, otherwise leaves
   the cluster to other workers. */
static void claim_ticket(ptx_worker *worker) {
    ptx_cluster *cluster = worker->running;
    worker->running = NULL;
    worker->resident = 0;
    if (!ptx_tickets_claim(worker, cluster))
        return;
    cluster->sweeps_ahead = 0;
    resume_cluster(worker, cluster);
}

static void release_ticket(ptx_worker *worker, const ptx_cluster *ended) {
    ptx_cluster *next = ptx_tickets_release(worker, ended);
    if (!next)
        return;
    next->sweeps_ahead = 0;
    resume_cluster(worker, next);
}

static ptx_stall_action next_stall_action(ptx_stall_action now, const sweep_state *sweep, uint64_t polls) {
    if (sweep->progress)
        return PTX_STALL_WAIT;
    if (now != PTX_STALL_WAIT)
        return PTX_STALL_DEADLOCK;
    const bool stalled = polls > 0 && ((sweep->compare && !sweep->changed) || polls > MAX_POLLS);
    return stalled ? PTX_STALL_SPLIT : PTX_STALL_WAIT;
}

void ptx_worker_run(ptx_worker *worker) {
    ptx_run *run = worker->run;
    uint64_t idle_sweeps = 0, polls = 0;
    bool blocks_communicate = run->kernel->global_atomics || run->kernel->strong_global_loads;
    ptx_ticket_result last = PTX_TICKET_START;
    sweep_state sweep = {0};
    ptx_environment_enter(&worker->environment);
    while (!sweep.stopped && !atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        const bool stuck = idle_sweeps == IDLE_SWEEPS_BEFORE_START && blocks_communicate;
        if (worker->running && !worker->running->has_ticket && (sweep.awaits_ticket || stuck))
            claim_ticket(worker);
        const bool fill =
            run->order_factor && worker->resident < run->max_resident && last != PTX_TICKET_NONE;
        if (!worker->running || stuck || fill) {
            const unsigned before = worker->resident;
            ptx_status status = draw_clusters(worker, &last);
            if (status != PTX_OK) {
                ptx_run_fail(run, UINT64_MAX, &worker->error);
                break;
            }
            if (worker->resident > before || last == PTX_TICKET_DONE)
                idle_sweeps = 0;
        }
        if (!worker->running || last == PTX_TICKET_FAILED)
            break;
        sweep = (sweep_state){.compare = idle_sweeps && idle_sweeps % COMPARE_SWEEPS == 0};
        const ptx_cluster *first = worker->running;
        run_sweep(worker, &sweep);
        if (run->uses_tickets && !worker->running && !sweep.stopped)
            release_ticket(worker, first);
        idle_sweeps = sweep.progress ? 0 : idle_sweeps + 1;
        polls = sweep.progress ? 0 : polls + sweep.polls;
        worker->stall_action = next_stall_action(worker->stall_action, &sweep, polls);
    }
    (void)checkpoint(worker, NULL);
    ptx_environment_leave(&worker->environment);
}

/* ---- memory of a worker ---- */

static void *allocate(size_t bytes) {
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

static void close_block(ptx_block *block) {
    if (!block)
        return;
    ptx_output_end(block);
    ptx_hooks_detach(block);
    free(block->shared.host);
    free(block->local.host);
    for (unsigned i = 0; i < PTX_MAX_WARPS; i++) {
        free(block->warps[i].polls);
        free(block->warps[i].pending_copies);
        free(block->warps[i].pending_stores);
        free(block->warps[i].splits);
        ptx_wgmma_free(&block->warps[i]);
    }
    free(block->registers);
    free(block->predicates);
    free(block);
}

static void close_clusters(ptx_cluster *cluster) {
    while (cluster) {
        ptx_cluster *next = cluster->next;
        for (unsigned b = 0; b < PTX_MAX_CLUSTER; b++)
            close_block(cluster->blocks[b]);
        free(cluster->bulk_copies);
        free(cluster);
        cluster = next;
    }
}

static void open_warp(ptx_worker *worker, ptx_block *block, unsigned index, size_t register_stride,
                      size_t predicate_stride) {
    ptx_warp *warp = &block->warps[index];
    warp->worker = worker;
    warp->block = block;
    warp->index = index;
    warp->registers = block->registers + index * register_stride;
    warp->predicates = block->predicates + index * predicate_stride;
    warp->predicates[PTX_PRED_FALSE] = 0;
    warp->predicates[PTX_PRED_TRUE] = PTX_ALL_LANES;
    warp->predicates[PTX_PRED_SINK] = 0;
    warp->predicates[PTX_PRED_CARRY] = 0;
    warp->predicates[PTX_PRED_EXPLICIT_CLUSTER] = worker->run->explicit_cluster ? PTX_ALL_LANES : 0;
    fill_constants(warp);
}

static ptx_block *open_block(ptx_worker *worker, ptx_cluster *cluster, uint32_t rank) {
    const ptx_kernel *kernel = worker->kernel;
    /* an odd number of cache lines, so that the registers of different warps map to different cache sets */
    size_t register_stride = ((size_t)kernel->register_bytes + kernel->constant_bytes) / 128 * 128 + 192;
    size_t predicate_stride = ((size_t)kernel->predicate_count + 15) / 16 * 16;
    size_t shared = worker->run->shared_bytes;
    ptx_block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    block->worker = worker;
    block->cluster = cluster;
    block->rank = rank;
    block->shared = (ptx_window){.bytes = shared, .host = allocate(shared)};
    block->registers = allocate(register_stride * worker->warp_count);
    block->predicates = allocate(predicate_stride * worker->warp_count * sizeof *block->predicates);
    const size_t local = worker->warp_count * PTX_LANES * ptx_local_stride(kernel);
    block->local = (ptx_window){.bytes = local, .host = local ? allocate(local) : NULL};
    if (!block->shared.host || (local && !block->local.host) || !block->registers || !block->predicates) {
        close_block(block);
        return NULL;
    }
    memset(block->registers, PTX_POISON, register_stride * worker->warp_count);
    for (unsigned i = 0; i < PTX_MAX_WARPS; i++)
        block->warps[i].state = PTX_WARP_DONE;
    for (unsigned i = 0; i < worker->warp_count; i++)
        open_warp(worker, block, i, register_stride, predicate_stride);
    return block;
}

/* Allocates an idle cluster. */
static ptx_status open_cluster(ptx_worker *worker, ptx_error *error) {
    ptx_cluster *cluster = calloc(1, sizeof *cluster);
    bool good = cluster != NULL;
    ptx_status status = PTX_OK;
    for (uint32_t rank = 0; rank < worker->run->cluster_blocks && good && status == PTX_OK; rank++) {
        cluster->blocks[rank] = open_block(worker, cluster, rank);
        good = cluster->blocks[rank] != NULL;
        if (good)
            status = ptx_hooks_attach(cluster->blocks[rank], error);
    }
    if (!good)
        status = ptx_fail(error, PTX_ERR_MEMORY, "out of memory for a launch");
    if (status == PTX_OK)
        worker->idle = cluster;
    else
        close_clusters(cluster);
    return status;
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
    worker->last_poll = ptx_now();
    worker->warp_count = (run->block_threads + PTX_LANES - 1) / PTX_LANES;
    worker->params = (ptx_window){.bytes = kernel->param_bytes, .host = allocate(kernel->param_bytes)};
    if (!worker->params.host)
        return ptx_fail(error, PTX_ERR_MEMORY, "out of memory for a launch");
    if (kernel->param_bytes)
        memcpy(worker->params.host, run->config->params, kernel->param_bytes);
    return open_cluster(worker, error);
}

void ptx_worker_close(ptx_worker *worker) {
    if (!worker)
        return;
    close_clusters(worker->running);
    close_clusters(worker->idle);
    free(worker->params.host);
    free(worker);
}
