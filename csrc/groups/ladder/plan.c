/* Planner of the rungs of the ladder of group sums. */
#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "groups/ladder/ladder.h"
#include "groups/ladder/params.h"

enum {
    THREAD_ELEMENTS = 16, /* elements per thread, at least, before there are more blocks */
    SHARE_MIN = 1024,     /* elements per warp of a sort, at least */
    SORT_BLOCKS_PER_SM = 2,
    THREADS_PER_SM = 2048,
    RESERVED_SHARED = 1024, /* bytes of shared memory per block that the hardware keeps */
    STATIC_SHARED = 4352,   /* bytes of static shared memory of the rungs */
};

typedef struct rung_call {
    const gr_group_variant *variant;
    uint64_t count, groups;
} rung_call;

/* A program that is planned: the parameters of the next step, and the buffers whose addresses are theirs. */
typedef struct rung_plan {
    const rung_call *call;
    gr_program *program;
    gr_group_rung_params params;
    uint32_t values, labels, out, to_values, to_labels, numbers, top, totals;
    bool has_order, has_numbers, has_totals;
    uint32_t capacity; /* bytes of shared memory per block */
} rung_plan;

static uint32_t allocate(rung_plan *self, uint64_t bytes) {
    return gr_program_buffer(self->program, GR_BUFFER_TEMPORARY, (size_t)gr_max(bytes, 4));
}

/* Appends the launch of the kernel <rung>_<kernel>. */
static gr_step *launch(rung_plan *self, const char *kernel, uint64_t blocks, uint32_t threads) {
    const gr_rung *rung = &self->call->variant->rung;
    gr_step *step = gr_program_step(self->program, GR_STEP_LAUNCH, &self->params, sizeof self->params);
    step->grid[0] = (uint32_t)blocks;
    step->block[0] = threads;
    step->kernel.owner = rung->name;
    GR_KERNEL_NAME(step->kernel.file, rung->file);
    GR_KERNEL_NAME(step->kernel.entry, rung->name, "_", kernel);
#define RELOCATE(field) gr_program_relocate(self->program, offsetof(gr_group_rung_params, field), self->field)
    RELOCATE(values);
    RELOCATE(labels);
    RELOCATE(out);
    if (self->has_order) {
        RELOCATE(to_values);
        RELOCATE(to_labels);
    }
    if (self->has_numbers)
        RELOCATE(numbers);
    if (self->has_totals) {
        RELOCATE(top);
        RELOCATE(totals);
    }
#undef RELOCATE
    return step;
}

/* The number of blocks for some elements; shared memory limits the blocks per SM. */
static uint64_t blocks_for(const rung_plan *self, uint64_t count, uint64_t shared_bytes) {
    const uint64_t fit = (self->capacity + RESERVED_SHARED) / (shared_bytes + RESERVED_SHARED);
    const uint64_t per_sm = gr_max(gr_min(fit, THREADS_PER_SM / GR_GROUP_RUNG_THREADS), 1);
    const uint64_t worth = gr_ceil_div(count, (uint64_t)GR_GROUP_RUNG_THREADS * THREAD_ELEMENTS);
    return gr_max(gr_min(worth, gr_reference_device.multiprocessors * per_sm), 1);
}

/* Appends the launch of a kernel over all elements whose blocks have shared memory. */
static void launch_all(rung_plan *self, const char *kernel, uint64_t shared_bytes) {
    const uint64_t blocks = blocks_for(self, self->params.count, shared_bytes);
    launch(self, kernel, blocks, GR_GROUP_RUNG_THREADS)->shared_bytes = (uint32_t)shared_bytes;
}

static void plan_sort(rung_plan *self) {
    const uint64_t count = self->params.count, groups = self->params.groups;
    const uint64_t most = (uint64_t)gr_reference_device.multiprocessors * SORT_BLOCKS_PER_SM;
    const uint64_t worth = gr_ceil_div(count, (uint64_t)SHARE_MIN * GR_GROUP_SORT_WARPS);
    const uint64_t blocks = gr_max(gr_min(worth, most), 1);
    self->params.warps = (uint32_t)blocks * GR_GROUP_SORT_WARPS;
    self->numbers = allocate(self, (uint64_t)self->params.warps * GR_GROUP_DIGITS * 4);
    self->has_numbers = self->has_order = true;
    /* The passes read and write two arrays in turn. */
    uint32_t values[2], labels[2];
    for (int i = 0; i < 2; ++i) {
        values[i] = allocate(self, count * 4);
        labels[i] = allocate(self, count * 4);
    }
    for (int pass = 0; groups >> self->params.shift > 0; ++pass, self->params.shift += GR_GROUP_DIGIT_BITS) {
        self->to_values = values[pass % 2];
        self->to_labels = labels[pass % 2];
        launch(self, "count", blocks, GR_GROUP_SORT_THREADS);
        launch(self, "starts", 1, GR_GROUP_SORT_THREADS);
        launch(self, "place", blocks, GR_GROUP_SORT_THREADS);
        self->values = self->to_values;
        self->labels = self->to_labels;
    }
    const uint64_t for_groups = gr_ceil_div(groups, GR_GROUP_SORT_WARPS);
    launch(self, "sum_f32", gr_min(for_groups, 4 * most), GR_GROUP_SORT_THREADS);
}

/* Prepares integer sums: an element has so few bits that all elements together fit 63, and a sign. */
static void add_totals(rung_plan *self) {
    self->params.bits = GR_GROUP_INTEGER_BITS;
    while (self->params.count >> (GR_GROUP_INTEGER_BITS - self->params.bits) > 1)
        --self->params.bits;
    self->top = allocate(self, 4);
    self->totals = allocate(self, self->params.groups * 8);
    self->has_totals = true;
    gr_program_clear(self->program, self->top);
    gr_program_clear(self->program, self->totals);
    launch_all(self, "top", 0);
}

static void plan_integers(rung_plan *self) {
    add_totals(self);
    launch_all(self, "sum_f32", self->params.groups << GR_GROUP_WINDOW_BYTES_SHIFT);
    launch(self, "round", blocks_for(self, self->params.groups, 0), GR_GROUP_RUNG_THREADS);
}

/* log2 of the groups of a part. */
static uint32_t part_shift(uint32_t capacity) {
    uint32_t shift = 0;
    while (capacity >> (shift + 1 + GR_GROUP_WINDOW_BYTES_SHIFT) > 0)
        ++shift;
    return shift;
}

static void plan_parts(rung_plan *self) {
    const uint64_t count = self->params.count, groups = self->params.groups;
    add_totals(self);
    self->params.shift = part_shift(self->capacity);
    const uint64_t parts = gr_ceil_div(groups, UINT64_C(1) << self->params.shift);
    self->params.parts = (uint32_t)parts;
    self->numbers = allocate(self, parts * 8);
    self->to_values = allocate(self, count * 4);
    self->to_labels = allocate(self, count * 4);
    self->has_numbers = self->has_order = true;
    gr_program_clear(self->program, self->numbers);
    launch_all(self, "count", parts * 4);
    launch(self, "starts", 1, GR_GROUP_RUNG_THREADS);
    launch_all(self, "place", parts * 4);
    self->values = self->to_values;
    self->labels = self->to_labels;
    const uint64_t of_part = gr_min(groups, UINT64_C(1) << self->params.shift);
    const uint64_t shared_bytes = of_part << GR_GROUP_WINDOW_BYTES_SHIFT;
    const uint64_t blocks = blocks_for(self, count, shared_bytes);
    self->params.blocks_per_part = (uint32_t)gr_ceil_div(blocks, parts);
    launch(self, "sum_f32", parts * self->params.blocks_per_part, GR_GROUP_RUNG_THREADS)->shared_bytes =
        (uint32_t)shared_bytes;
    launch(self, "round", blocks_for(self, groups, 0), GR_GROUP_RUNG_THREADS);
}

/* The largest number of groups of a variant. */
static uint64_t max_groups(gr_group_method method, uint32_t capacity) {
    switch (method) {
    case GR_GROUP_PRIVATE:
        return capacity / sizeof(float);
    case GR_GROUP_INTEGERS:
        return capacity >> GR_GROUP_WINDOW_BYTES_SHIFT;
    case GR_GROUP_PARTS:
        return (uint64_t)(capacity / 4) << part_shift(capacity);
    default:
        return INT32_MAX;
    }
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const rung_call *call = request;
    rung_plan self = {
        .call = call,
        .program = program,
        .params = {.count = call->count, .groups = call->groups},
        .capacity = device->backend->info.caps.shared_per_block - STATIC_SHARED,
    };
    const gr_group_method method = call->variant->method;
    const uint64_t most = max_groups(method, self.capacity);
    if (call->groups > most) {
        gr_program_fail(program, GR_ERR_VALUE, "num_groups: %s takes up to %llu groups on %s, not %llu",
                        call->variant->rung.name, (unsigned long long)most, device->backend->info.name,
                        (unsigned long long)call->groups);
        return;
    }
    self.values = gr_program_input(program, 0);
    self.labels = gr_program_input(program, 1);
    self.out = gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)call->groups * sizeof(float));
    if (method != GR_GROUP_SORT)
        gr_program_clear(program, self.out);
    if (method == GR_GROUP_ATOMICS)
        launch_all(&self, "sum_f32", 0);
    else if (method == GR_GROUP_PRIVATE)
        launch_all(&self, "sum_f32", call->groups * sizeof(float));
    else if (method == GR_GROUP_SORT)
        plan_sort(&self);
    else if (method == GR_GROUP_INTEGERS)
        plan_integers(&self);
    else
        plan_parts(&self);
}

gr_status gr_group_rung_run(gr_device *device, const gr_group_variant *variant, uint64_t count,
                            uint64_t groups, const gr_binding *binding, const gr_interrupt *interrupt,
                            gr_error *error) {
    if (groups == 0)
        return GR_OK;
    if (count > INT32_MAX)
        return gr_fail(error, GR_ERR_VALUE, "a: %s takes up to %d elements", variant->rung.name, INT32_MAX);
    const gr_status status = gr_rung_check(&variant->rung, &device->backend->info, error);
    return status == GR_OK ? gr_execute_request(device, plan, &(rung_call){variant, count, groups}, binding,
                                                interrupt, error)
                           : status;
}
