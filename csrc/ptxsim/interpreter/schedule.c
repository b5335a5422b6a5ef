/* Which blocks run when: clusters one after the other, and those that wait for others by turns. */
#include "interpreter/schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "diagnostic.h"
#include "interpreter/async.h"
#include "interpreter/executor.h"
#include "interpreter/hooks.h"
#include "interpreter/lanes.h"
#include "interpreter/output.h"
#include "interpreter/products.h"
#include "interpreter/run.h"
#include "interpreter/turns.h"

enum {
    MAX_RESIDENT = 2112, /* blocks at once: 16 on each of the 132 multiprocessors of an H200 */
    PATIENCE = 4,        /* turns without change before another cluster is started */
    /* Every so many turns without change the registers of the warps that wait are compared with what they
       were the time before. A multiple of 2, 3 and 4, so that it does not matter how many places a loop looks
       at. */
    COMPARE_TURNS = 24,
    MAX_POLLS =
        1 << 26 /* looks without change that are a deadlock even if registers, such as a count, change */
};

/* ---- budget ---- */

/* Reports the steps taken and says whether this worker may go on with a cluster. */
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
    if (worker->caller) { /* whose callback is at home in its own environment */
        ptx_environment_leave(&worker->environment);
        ptx_run_interrupted(run, &worker->polled);
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

/* Those of which each block of the grid has its own. */
static bool changes_with_block(ptx_special which) {
    return (which >= PTX_CTAID_X && which <= PTX_CTAID_Z) ||
           (which >= PTX_CLUSTER_CTAID_X && which <= PTX_CLUSTERID_Z);
}

static uint32_t block_value(const ptx_block *block, const ptx_run *run, ptx_special which) {
    const uint32_t *size = run->cluster;
    switch (which) {
    case PTX_CTAID_X:
    case PTX_CTAID_Y:
    case PTX_CTAID_Z:
        return block->index[which - PTX_CTAID_X];
    case PTX_CLUSTER_CTAID_X:
    case PTX_CLUSTER_CTAID_Y:
    case PTX_CLUSTER_CTAID_Z:
        return block->index[which - PTX_CLUSTER_CTAID_X] % size[which - PTX_CLUSTER_CTAID_X];
    case PTX_CLUSTERID_X:
    case PTX_CLUSTERID_Y:
    case PTX_CLUSTERID_Z:
        return block->index[which - PTX_CLUSTERID_X] / size[which - PTX_CLUSTERID_X];
    default:
        return block->rank;
    }
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
    case PTX_CLUSTER_NCTAID_X:
    case PTX_CLUSTER_NCTAID_Y:
    case PTX_CLUSTER_NCTAID_Z:
        return run->cluster[which - PTX_CLUSTER_NCTAID_X];
    case PTX_CLUSTER_NCTARANK:
        return run->cluster_blocks;
    case PTX_NCLUSTERID_X:
    case PTX_NCLUSTERID_Y:
    case PTX_NCLUSTERID_Z:
        return run->clusters[which - PTX_NCLUSTERID_X];
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
        return 0; /* block_value gives it when the block starts */
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
    unsigned left = block_threads - first;
    const ptx_kernel *kernel = warp->worker->kernel;
    warp->pc = 0;
    warp->meeting = PTX_NO_PC;
    warp->active = warp->live = left < PTX_LANES ? (1u << left) - 1 : PTX_ALL_LANES;
    warp->state = PTX_WARP_READY;
    warp->arrived = warp->passing = 0;
    warp->alone = false;
    ptx_products_reset(warp);
    warp->registers_asked = 0;
    warp->registers_in = NULL;
    warp->clock = 0;
    warp->late_count = warp->outgoing_count = 0;
    memset(warp->groups, 0, sizeof warp->groups);
    memset(warp->bulk_groups, 0, sizeof warp->bulk_groups);
    warp->depth = 0;
    warp->split_count = 0;
    warp->left = 0;
    memset(warp->polls, 0, sizeof warp->polls);
    warp->digest = 0;
    memset(warp->registers, PTX_POISON, kernel->poisoned_bytes);
    memset(warp->predicates + PTX_PRED_FIRST, PTX_POISON,
           (kernel->predicate_count - PTX_PRED_FIRST) * sizeof *warp->predicates);
    for (size_t k = 0; k < kernel->constant_count; k++) {
        const ptx_constant *c = &kernel->constants[k];
        if (c->kind == PTX_CONSTANT_SPECIAL && changes_with_block((ptx_special)c->value))
            fill(warp, c, block_value(warp->block, warp->worker->run, (ptx_special)c->value));
    }
}

static void start_block(ptx_worker *worker, ptx_block *block) {
    block->live_warps = worker->warp_count;
    memset(block->waiting, 0, sizeof block->waiting);
    memset(block->votes, 0, sizeof block->votes);
    memset(block->passed, 0, sizeof block->passed);
    memset(block->shared.host, PTX_POISON, block->shared.bytes);
    if (block->local.bytes)
        memset(block->local.host, PTX_POISON, block->local.bytes);
    for (unsigned i = 0; i < worker->warp_count; i++)
        start_warp(&block->warps[i], worker->run->block_threads);
    if (block->observer_count)
        ptx_hooks_block(block, true);
}

static void start_cluster(ptx_worker *worker, ptx_cluster *cluster, uint64_t index, bool in_turn) {
    const ptx_run *run = worker->run;
    const uint32_t *size = run->cluster, *count = run->clusters;
    cluster->index = index;
    cluster->in_turn = in_turn;
    cluster->turns = 0;
    cluster->block = cluster->warp = 0;
    /* The last one first: blocks have no order, and a kernel that relies on one, such as a pass that writes
       in place what other blocks have yet to read, shall be wrong here too. Atomics keep the order of the
       block numbers, which people expect of the values they return. */
    if (!run->kernel->global_atomics)
        index = run->cluster_count - 1 - index;
    cluster->live_blocks = run->cluster_blocks;
    cluster->live_threads = run->cluster_blocks * run->block_threads;
    cluster->arrived_threads = 0;
    cluster->copy_count = 0;
    for (uint32_t rank = 0; rank < run->cluster_blocks; rank++) {
        ptx_block *block = cluster->blocks[rank];
        block->index[0] = (uint32_t)(index % count[0]) * size[0] + rank % size[0];
        block->index[1] = (uint32_t)(index / count[0] % count[1]) * size[1] + rank / size[0] % size[1];
        block->index[2] = (uint32_t)(index / count[0] / count[1]) * size[2] + rank / size[0] / size[1];
        start_block(worker, block);
    }
}

/* ---- turns ---- */

/* What one turn of the clusters under way came to. */
typedef struct turn_state {
    bool progress, stopped;
    bool early;     /* a cluster came to an access before it is its turn */
    uint64_t polls; /* warps that found nothing changed */
    bool compare;   /* whether their registers are looked at, and found to have changed */
    bool changed;
} turn_state;

/* A digest of all that a warp's next steps depend on, memory apart. */
static uint64_t digest(const ptx_warp *warp) {
    const ptx_kernel *kernel = warp->worker->kernel;
    const ptx_u64 *registers = (const void *)warp->registers;
    uint64_t sum = warp->pc + ((uint64_t)warp->active << 32) + warp->depth;
    for (size_t i = 0; i < kernel->register_bytes / sizeof *registers; i++)
        sum = (sum ^ registers[i]) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < kernel->predicate_count; i++)
        sum = (sum ^ warp->predicates[i]) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < warp->depth; i++)
        sum = (sum ^ warp->stack[i].pc ^ (uint64_t)warp->stack[i].mask << 32) * 0x9e3779b97f4a7c15u;
    return sum;
}

static void account(ptx_warp *warp, turn_state *turn) {
    turn->polls += warp->stalled;
    turn->progress = turn->progress || !warp->stalled;
    if (!warp->stalled || !turn->compare)
        return;
    uint64_t now_seen = digest(warp);
    turn->changed = turn->changed || warp->digest != now_seen;
    warp->digest = now_seen;
}

/* A quantum for each warp of the cluster that can use it, from the one on that came early to an access. */
static ptx_status run_cluster(ptx_worker *worker, ptx_cluster *cluster, turn_state *turn) {
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
            account(warp, turn);
            if (worker->steps >= PTX_QUANTUM && !checkpoint(worker, cluster)) {
                turn->stopped = true;
                return PTX_OK;
            }
        }
    }
    cluster->block = cluster->warp = 0;
    if (cluster->copy_count) {
        turn->progress = true;
        return ptx_copies_finish(cluster);
    }
    return ready ? PTX_OK : ptx_deadlock(cluster);
}

/* The same, but for turns that a cluster has had ahead of those it runs among now. */
static ptx_status give_turn(ptx_worker *worker, ptx_cluster *cluster, turn_state *turn) {
    if (!cluster->in_turn || !cluster->turns) {
        ptx_status status = run_cluster(worker, cluster, turn);
        cluster->turns += !cluster->in_turn && status == PTX_OK;
        return status;
    }
    cluster->turns--;
    turn->progress = true;
    return PTX_OK;
}

/* A turn for every cluster under way; those that are done become idle. */
static void run_turn(ptx_worker *worker, turn_state *turn) {
    ptx_cluster **link = &worker->running;
    while (*link && !turn->stopped) {
        ptx_cluster *cluster = *link;
        ptx_status status = give_turn(worker, cluster, turn);
        if (status == PTX_EARLY) {
            turn->early = turn->progress = true;
            return;
        }
        if (status != PTX_OK) {
            ptx_run_fail(worker->run, cluster->index, &worker->error);
            turn->stopped = true;
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
        turn->progress = true;
    }
}

static ptx_status open_cluster(ptx_worker *worker, ptx_error *error);

/* Puts a cluster at the end, so that the ones that wait for it see what it did in the same turn. */
static void link_cluster(ptx_worker *worker, ptx_cluster *cluster) {
    ptx_cluster **link = &worker->running;
    while (*link)
        link = &(*link)->next;
    *link = cluster;
    cluster->next = NULL;
    worker->resident += worker->run->cluster_blocks;
}

static ptx_status begin_cluster(ptx_worker *worker, uint64_t index, bool in_turn) {
    if (!worker->idle) {
        ptx_status status = open_cluster(worker, &worker->error);
        if (status != PTX_OK)
            return status;
    }
    ptx_cluster *cluster = worker->idle;
    worker->idle = cluster->next;
    start_cluster(worker, cluster, index, in_turn);
    link_cluster(worker, cluster);
    return PTX_OK;
}

/* Goes on in its turn with a cluster that another worker may have begun. */
static void go_on_with(ptx_worker *worker, ptx_cluster *cluster) {
    for (unsigned b = 0; b < worker->run->cluster_blocks; b++) {
        ptx_block *block = cluster->blocks[b];
        block->worker = worker;
        for (unsigned i = 0; i < worker->warp_count; i++)
            block->warps[i].worker = worker;
    }
    cluster->in_turn = true;
    link_cluster(worker, cluster);
}

/* Takes the next cluster of the grid, if there is one. */
static ptx_status take_cluster(ptx_worker *worker, ptx_taken *taken) {
    ptx_run *run = worker->run;
    uint64_t index = 0;
    ptx_cluster *begun = NULL;
    bool in_turn = true;
    if (!run->ordered) {
        index = atomic_fetch_add(&run->next_cluster, 1);
        bool more = index < run->cluster_count && index <= atomic_load(&run->failed_cluster);
        *taken = more ? PTX_TAKEN_INDEX : PTX_TAKEN_NONE;
    } else if (worker->running) {
        *taken = ptx_turns_adopt(worker, &index, &begun);
    } else {
        *taken = ptx_turns_take(worker, &index, &in_turn);
    }
    if (*taken == PTX_TAKEN_BEGUN)
        go_on_with(worker, begun);
    return *taken == PTX_TAKEN_INDEX ? begin_cluster(worker, index, in_turn) : PTX_OK;
}

/* Where all clusters under way wait for others, further ones may be what they wait for: as many again are
   started, as far as a device would have room for them. */
static ptx_status take_clusters(ptx_worker *worker, ptx_taken *last) {
    const ptx_run *run = worker->run;
    unsigned wanted = worker->resident ? worker->resident : 1;
    ptx_status status = PTX_OK;
    for (unsigned taken = 0; taken < wanted && status == PTX_OK; taken += run->cluster_blocks) {
        if (worker->resident && worker->resident + run->cluster_blocks > MAX_RESIDENT)
            break;
        status = take_cluster(worker, last);
        if (*last == PTX_TAKEN_NONE || *last == PTX_TAKEN_FAILED)
            break;
    }
    return status;
}

/* A cluster that runs ahead and can't go on by itself waits for its turn, with others that do, if that has
   not come yet. */
static void reach_turn(ptx_worker *worker) {
    ptx_cluster *cluster = worker->running;
    worker->running = NULL;
    worker->resident = 0;
    if (!ptx_turns_reach(worker, cluster))
        return;
    cluster->turns = 0;
    go_on_with(worker, cluster);
}

static void pass_turn(ptx_worker *worker, const ptx_cluster *ended) {
    ptx_cluster *next = ptx_turns_end(worker, ended);
    if (!next)
        return;
    next->turns = 0;
    go_on_with(worker, next);
}

static ptx_patience next_patience(ptx_patience now, const turn_state *turn, uint64_t polls) {
    if (turn->progress)
        return PTX_WAITS;
    if (now != PTX_WAITS)
        return PTX_GIVES_UP;
    const bool in_vain = polls > 0 && ((turn->compare && !turn->changed) || polls > MAX_POLLS);
    return in_vain ? PTX_DIVIDES : PTX_WAITS;
}

void ptx_worker_run(ptx_worker *worker) {
    ptx_run *run = worker->run;
    uint64_t idle_turns = 0, polls = 0;
    bool others_may_help = run->kernel->global_atomics || run->kernel->watches_global;
    ptx_taken last = PTX_TAKEN_INDEX;
    turn_state turn = {0};
    ptx_environment_enter(&worker->environment);
    while (!turn.stopped && !atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        const bool stuck = idle_turns == PATIENCE && others_may_help;
        if (worker->running && !worker->running->in_turn && (turn.early || stuck))
            reach_turn(worker);
        if (!worker->running || stuck) {
            const unsigned before = worker->resident;
            ptx_status status = take_clusters(worker, &last);
            if (status != PTX_OK) {
                ptx_run_fail(run, UINT64_MAX, &worker->error);
                break;
            }
            if (worker->resident > before || last == PTX_TAKEN_ENDED)
                idle_turns = 0;
        }
        if (!worker->running || last == PTX_TAKEN_FAILED)
            break;
        turn = (turn_state){.compare = idle_turns && idle_turns % COMPARE_TURNS == 0};
        const ptx_cluster *first = worker->running;
        run_turn(worker, &turn);
        if (run->ordered && !worker->running && !turn.stopped)
            pass_turn(worker, first);
        idle_turns = turn.progress ? 0 : idle_turns + 1;
        polls = turn.progress ? 0 : polls + turn.polls;
        worker->patience = next_patience(worker->patience, &turn, polls);
    }
    (void)checkpoint(worker, NULL);
    ptx_environment_leave(&worker->environment);
}

/* ---- a worker's memory ---- */

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
        free(block->warps[i].late);
        free(block->warps[i].outgoing);
        free(block->warps[i].splits);
        ptx_products_free(&block->warps[i]);
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
        free(cluster->copies);
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
    /* an odd number of cache lines, so that the warps' registers don't all compete for the same sets */
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

/* Adds an idle cluster. */
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
    worker->polled = ptx_now();
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
