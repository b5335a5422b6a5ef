/* ptx_launch: validates the configuration and distributes the grid over host threads. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "diagnostic.h"
#include "interpreter/hooks.h"
#include "interpreter/output.h"
#include "interpreter/run.h"
#include "interpreter/schedule.h"
#include "interpreter/tickets.h"

static ptx_status reject(const ptx_kernel *kernel, ptx_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static ptx_status reject(const ptx_kernel *kernel, ptx_error *error, const char *format, ...) {
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    ptx_fail(error, PTX_ERR_ARGUMENT, "kernel %s: %s", kernel->name, reason);
    if (error)
        snprintf(error->kernel, sizeof error->kernel, "%s", kernel->name);
    return PTX_ERR_ARGUMENT;
}

static ptx_status check_block(const ptx_kernel *kernel, const uint32_t block[3], ptx_error *error) {
    if (block[0] < 1 || block[0] > 1024 || block[1] < 1 || block[1] > 1024 || block[2] < 1 || block[2] > 64 ||
        block[0] * block[1] * block[2] > 1024)
        return reject(kernel, error,
                      "a block of %u x %u x %u threads; at most 1024 x 1024 x 64, and 1024 in all", block[0],
                      block[1], block[2]);
    uint32_t threads = block[0] * block[1] * block[2];
    if (kernel->max_threads && threads > kernel->max_threads)
        return reject(kernel, error, "a block of %u threads; the kernel was compiled for at most %u", threads,
                      kernel->max_threads);
    const uint32_t *required = kernel->required;
    if (required[0] && (block[0] != required[0] || block[1] != required[1] || block[2] != required[2]))
        return reject(kernel, error,
                      "a block of %u x %u x %u threads; the kernel was compiled for %u x %u x %u", block[0],
                      block[1], block[2], required[0], required[1], required[2]);
    return PTX_OK;
}

static ptx_status check_config(const ptx_kernel *kernel, const ptx_launch_config *config, ptx_error *error) {
    const uint32_t *grid = config->grid;
    if (grid[0] < 1 || grid[0] > INT32_MAX || grid[1] < 1 || grid[1] > 65535 || grid[2] < 1 ||
        grid[2] > 65535)
        return reject(kernel, error, "a grid of %u x %u x %u blocks; at most %d x 65535 x 65535", grid[0],
                      grid[1], grid[2], INT32_MAX);
    if (!kernel->count)
        return reject(kernel, error, "its body is not parsed");
    ptx_status status = check_block(kernel, config->block, error);
    if (status != PTX_OK)
        return status;
    if (config->param_bytes != kernel->param_bytes || (config->param_bytes && !config->params))
        return reject(kernel, error, "%zu bytes of parameters were given, the kernel takes %zu",
                      config->param_bytes, kernel->param_bytes);
    return PTX_OK;
}

/* The cluster size of the launch configuration, or the one that the kernel was compiled with, or single
   blocks. */
static ptx_status divide_grid(ptx_run *run, ptx_error *error) {
    const ptx_kernel *kernel = run->kernel;
    const uint32_t *asked = run->config->cluster, *required = kernel->cluster, *grid = run->config->grid;
    bool given = asked[0] > 1 || asked[1] > 1 || asked[2] > 1;
    run->explicit_cluster = given || required[0];
    run->cluster_blocks = 1;
    run->cluster_count = 1;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t size = given ? asked[i] : required[i];
        run->cluster[i] = size ? size : 1;
        if (required[0] && run->cluster[i] != required[i])
            return reject(kernel, error,
                          "clusters of %u x %u x %u blocks; the kernel was compiled for %u x %u x %u",
                          asked[0], asked[1], asked[2], required[0], required[1], required[2]);
        if (run->cluster[i] > PTX_MAX_CLUSTER || grid[i] % run->cluster[i])
            return reject(kernel, error,
                          "clusters of %u blocks do not divide the grid's %u, or have more than %d",
                          run->cluster[i], grid[i], PTX_MAX_CLUSTER);
        run->clusters[i] = grid[i] / run->cluster[i];
        run->cluster_blocks *= run->cluster[i];
        run->cluster_count *= run->clusters[i];
    }
    uint32_t max_blocks = kernel->max_cluster ? kernel->max_cluster : PTX_MAX_CLUSTER;
    if (run->cluster_blocks > max_blocks || run->cluster_blocks > PTX_MAX_CLUSTER)
        return reject(kernel, error, "a cluster of %u blocks; the most is %u", run->cluster_blocks,
                      max_blocks < PTX_MAX_CLUSTER ? max_blocks : PTX_MAX_CLUSTER);
    return PTX_OK;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The permutation of a seed multiplies by a factor that has no divisor in common with the number of clusters.
   Products of grids beyond 2^32 clusters would overflow; these keep the default order. A permuted order has
   one host thread, and an eighth of the resident blocks, as all are resident from the start. */
static void choose_order(ptx_run *run) {
    const uint64_t seed = run->config->block_order, count = run->cluster_count;
    const uint32_t resident = run->config->resident_blocks;
    const uint32_t limit = seed ? PTX_MAX_RESIDENT / 8 : PTX_MAX_RESIDENT;
    run->max_resident = resident && resident < limit ? resident : limit;
    if (run->config->grid_workspace) /* the blocks of a cooperative grid wait for each other */
        run->max_resident = UINT32_MAX;
    if (!seed || count > UINT32_MAX)
        return;
    run->order_factor = (seed * 0x9e3779b97f4a7c15u >> 32) % count;
    while (greatest_common_divisor(run->order_factor, count) != 1)
        run->order_factor++;
}

static ptx_status layout_shared(ptx_run *run, ptx_error *error) {
    size_t align = run->kernel->dynamic_align, dynamic = run->config->dynamic_shared_bytes;
    run->dynamic_base = (run->kernel->shared_bytes + align - 1) / align * align;
    run->shared_bytes = dynamic ? run->dynamic_base + dynamic : run->kernel->shared_bytes;
    if (dynamic > PTX_MAX_SHARED || run->shared_bytes > PTX_MAX_SHARED)
        return reject(run->kernel, error, "%zu static and %zu dynamic bytes of shared memory; a block has %d",
                      run->kernel->shared_bytes, dynamic, PTX_MAX_SHARED);
    return PTX_OK;
}

static void *helper(void *argument) {
    ptx_worker *worker = argument;
    ptx_run *run = worker->run;
    ptx_worker_run(worker);
    pthread_mutex_lock(&run->lock);
    run->running--;
    pthread_cond_signal(&run->finished);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Helper threads block all signals; the calling thread handles them. */
static bool start_helper(pthread_t *thread, ptx_worker *worker) {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool started = pthread_create(thread, NULL, helper, worker) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* Waits for the helper threads and keeps polling the interrupt callback. */
static void wait_for_helpers(ptx_run *run, uint64_t *last_poll) {
    pthread_mutex_lock(&run->lock);
    while (run->running) {
        ptx_run_wait(run, &run->finished);
        pthread_mutex_unlock(&run->lock);
        ptx_run_interrupted(run, last_poll);
        pthread_mutex_lock(&run->lock);
    }
    pthread_mutex_unlock(&run->lock);
}

static unsigned thread_count(const ptx_run *run) {
    unsigned threads =
        run->config->threads < PTX_MAX_HOST_THREADS ? run->config->threads : PTX_MAX_HOST_THREADS;
    threads = threads < 1 || run->order_factor ? 1 : threads;
    for (size_t i = 0; i < run->config->observer_count; i++)
        threads = run->config->observers[i]->hooks->one_thread ? 1 : threads;
    return run->cluster_count < threads ? (unsigned)run->cluster_count : threads;
}

/* If fewer threads can be started, the remaining ones run the whole grid. */
static ptx_status run_grid(ptx_run *run, ptx_error *error) {
    ptx_worker *workers[PTX_MAX_HOST_THREADS] = {0};
    pthread_t threads[PTX_MAX_HOST_THREADS];
    unsigned started = 1, wanted = thread_count(run);
    run->uses_tickets = wanted > 1 && (run->kernel->global_atomics || run->kernel->strong_global_loads);
    if (run->uses_tickets && !ptx_tickets_open(run, wanted))
        run->uses_tickets = false, wanted = 1;
    ptx_status status = ptx_worker_open(run, true, &workers[0], error);
    if (status != PTX_OK) {
        ptx_tickets_close(run, NULL);
        ptx_worker_close(workers[0]);
        return status;
    }
    while (started < wanted) {
        if (ptx_worker_open(run, false, &workers[started], NULL) != PTX_OK)
            break;
        pthread_mutex_lock(&run->lock);
        run->running++;
        pthread_mutex_unlock(&run->lock);
        if (!start_helper(&threads[started], workers[started])) {
            pthread_mutex_lock(&run->lock);
            run->running--;
            pthread_mutex_unlock(&run->lock);
            break;
        }
        started++;
    }
    ptx_worker_run(workers[0]);
    wait_for_helpers(run, &workers[0]->last_poll);
    for (unsigned i = 1; i < started && !run->forked; i++)
        pthread_join(threads[i], NULL);
    ptx_tickets_close(run, workers[0]);
    for (unsigned i = 0; i < PTX_MAX_HOST_THREADS && !run->forked; i++)
        ptx_worker_close(workers[i]);
    if (run->status != PTX_OK && error)
        *error = run->error;
    return run->status;
}

/* Adds the memory of parameters, and of constants and variables that are not loaded (ptx_module_load), to the
   launch's view. */
static ptx_status add_areas(ptx_run *run, ptx_error *error) {
    const ptx_module *module = run->kernel->module;
    const ptx_area params = {.bytes = run->config->param_bytes,
                             .image = (uint8_t *)(uintptr_t)run->config->params,
                             .filled = run->config->param_bytes};
    const struct {
        uint64_t address;
        const ptx_area *area;
        bool wanted;
    } areas[] = {{PTX_PARAM_WINDOW, &params, run->kernel->generic_params},
                 {module->constants_address, &module->constants, module->constants.bytes > 0},
                 {module->variables_address, &module->variables, module->variables.bytes > 0}};
    ptx_status status = PTX_OK;
    for (size_t i = 0; i < sizeof areas / sizeof areas[0] && status == PTX_OK; i++)
        if (areas[i].wanted && !ptx_view_find(&run->view, areas[i].address))
            status = ptx_view_add(&run->view, areas[i].address, areas[i].area->bytes, areas[i].area->image,
                                  areas[i].area->filled, error);
    return status;
}

ptx_status ptx_launch(const ptx_kernel *kernel, ptx_memory *memory, const ptx_launch_config *config,
                      ptx_launch_stats *stats, ptx_error *error) {
    ptx_run run = {.kernel = kernel, .memory = memory, .config = config};
    ptx_status status = check_config(kernel, config, error);
    if (status == PTX_OK)
        status = divide_grid(&run, error);
    if (status == PTX_OK)
        status = layout_shared(&run, error);
    if (status != PTX_OK)
        return status;
    choose_order(&run);
    run.block_threads = config->block[0] * config->block[1] * config->block[2];
    atomic_init(&run.failed_cluster, UINT64_MAX);
    if (!ptx_run_open_locks(&run))
        return ptx_fail(error, PTX_ERR_MEMORY, "cannot create a lock");
    status = ptx_view_open(memory, &run.view, error);
    if (status == PTX_OK) {
        status = add_areas(&run, error);
        if (status == PTX_OK)
            status = run_grid(&run, error);
        if (!ptx_output_finish(&run) && status == PTX_OK)
            status = ptx_fail(error, PTX_ERR_MEMORY, "out of memory for the text that is printed");
        ptx_view_close(memory, &run.view);
    }
    pthread_cond_destroy(&run.tickets.changed);
    pthread_cond_destroy(&run.finished);
    pthread_mutex_destroy(&run.lock);
    if (stats)
        stats->warp_instructions = atomic_load(&run.steps);
    return status;
}
