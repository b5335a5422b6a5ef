/* Planner of the rungs of the ladder of scans. */
#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "scan/ladder/ladder.h"
#include "scan/ladder/params.h"

enum {
    MAX_LEVELS = 4, /* of tiles: 1024 tiles of s1 have one tile of sums, and so on up to 2^31 elements */
    THREADS_PER_SM = 2048,
};

typedef struct rung_call {
    const gr_scan_variant *variant;
    uint64_t count;
} rung_call;

/* The buffers whose addresses are parameters of the next step. */
typedef struct rung_plan {
    const rung_call *call;
    gr_program *program;
    gr_scan_rung_params params;
    uint32_t from, to, totals;
    bool has_totals;
} rung_plan;

uint32_t gr_scan_rung_threads(const gr_scan_variant *variant) {
    return variant->method == GR_SCAN_TREE        ? GR_SCAN_TREE_THREADS
           : variant->method == GR_SCAN_LOOK_BACK ? GR_SCAN_LOOK_BACK_THREADS
                                                  : GR_SCAN_RUNG_THREADS;
}

static uint32_t allocate(rung_plan *self, uint64_t bytes) {
    return gr_program_buffer(self->program, GR_BUFFER_TEMPORARY, (size_t)gr_max(bytes, 4));
}

/* Appends the launch of the kernel <rung>_<kernel>. */
static gr_step *launch(rung_plan *self, const char *kernel, uint64_t blocks) {
    const gr_scan_variant *variant = self->call->variant;
    gr_step *step = gr_program_step(self->program, GR_STEP_LAUNCH, &self->params, sizeof self->params);
    step->grid[0] = (uint32_t)blocks;
    step->block[0] = gr_scan_rung_threads(variant);
    step->kernel.owner = variant->rung.name;
    GR_KERNEL_NAME(step->kernel.file, variant->rung.file);
    GR_KERNEL_NAME(step->kernel.entry, variant->rung.name, "_", kernel);
    gr_program_relocate(self->program, offsetof(gr_scan_rung_params, from), self->from);
    gr_program_relocate(self->program, offsetof(gr_scan_rung_params, to), self->to);
    if (self->has_totals)
        gr_program_relocate(self->program, offsetof(gr_scan_rung_params, totals), self->totals);
    return step;
}

/* Launches read one array and write another, in turn, so that the last one writes the result. */
static void plan_doubling(rung_plan *self) {
    const uint64_t count = self->call->count;
    unsigned passes = 1;
    while (UINT64_C(1) << passes < count)
        ++passes;
    const uint32_t arrays[] = {self->to, allocate(self, count * sizeof(float))};
    for (unsigned pass = 0; pass < passes; ++pass) {
        self->params.distance = UINT64_C(1) << pass;
        self->to = arrays[(passes - 1 - pass) % 2];
        launch(self, "pass_f32", gr_ceil_div(count, GR_SCAN_RUNG_THREADS));
        self->from = self->to;
    }
}

/* Scans tiles of elements, then tiles of the sums of tiles, until one tile is left; then goes back, adding to
   each tile what is before it. */
static void plan_tiles(rung_plan *self, uint64_t tile) {
    uint32_t arrays[MAX_LEVELS + 1] = {self->to};
    uint64_t counts[MAX_LEVELS + 1] = {self->call->count};
    size_t levels = 0;
    do {
        counts[levels + 1] = gr_ceil_div(counts[levels], tile);
        arrays[levels + 1] = allocate(self, counts[levels + 1] * sizeof(float));
        self->params.count = counts[levels];
        self->to = arrays[levels];
        self->totals = arrays[levels + 1];
        launch(self, "tiles_f32", counts[levels + 1]);
        self->from = self->totals;
    } while (counts[++levels] > 1);
    while (--levels > 0) {
        self->params.count = counts[levels - 1];
        self->from = self->to = arrays[levels - 1];
        self->totals = arrays[levels];
        launch(self, "add_f32", counts[levels] - 1);
    }
}

static void plan_reduce(rung_plan *self) {
    const uint64_t count = self->call->count, tiles = gr_ceil_div(count, GR_SCAN_REDUCE_TILE);
    const uint64_t resident =
        (uint64_t)gr_reference_device.multiprocessors * (THREADS_PER_SM / GR_SCAN_RUNG_THREADS);
    self->params.share = gr_ceil_div(tiles, gr_min(tiles, resident)) * GR_SCAN_REDUCE_TILE;
    const uint64_t blocks = gr_ceil_div(count, self->params.share);
    self->totals = allocate(self, blocks * sizeof(float));
    if (blocks > 1)
        launch(self, "sum_f32", blocks - 1);
    launch(self, "scan_f32", blocks);
}

static void plan_look_back(rung_plan *self) {
    const uint64_t tiles = gr_ceil_div(self->call->count, GR_SCAN_LOOK_BACK_TILE);
    self->totals = allocate(self, (tiles + 1) * sizeof(uint64_t));
    gr_program_clear(self->program, self->totals);
    launch(self, "scan_f32", tiles)->shared_bytes = GR_SCAN_LOOK_BACK_SHARED;
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    (void)device;
    const rung_call *call = request;
    rung_plan self = {.call = call, .program = program, .params = {.count = call->count}};
    self.from = gr_program_input(program, 0);
    self.to = gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)call->count * sizeof(float));
    self.has_totals = call->variant->method != GR_SCAN_DOUBLING;
    switch (call->variant->method) {
    case GR_SCAN_DOUBLING:
        plan_doubling(&self);
        break;
    case GR_SCAN_TREE:
        plan_tiles(&self, GR_SCAN_TREE_TILE);
        break;
    case GR_SCAN_SHUFFLES:
        plan_tiles(&self, GR_SCAN_SHUFFLES_TILE);
        break;
    case GR_SCAN_REDUCE:
        plan_reduce(&self);
        break;
    case GR_SCAN_LOOK_BACK:
        plan_look_back(&self);
        break;
    }
}

gr_status gr_scan_rung_run(gr_device *device, const gr_scan_variant *variant, uint64_t count,
                           const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error) {
    if (count == 0)
        return GR_OK;
    if (count > INT32_MAX)
        return gr_fail(error, GR_ERR_VALUE, "a: %s takes up to %d elements", variant->rung.name, INT32_MAX);
    const gr_status status = gr_rung_check(&variant->rung, &device->backend->info, error);
    return status == GR_OK
               ? gr_execute_request(device, plan, &(rung_call){variant, count}, binding, interrupt, error)
               : status;
}
