/* Planner of groups. Exact sums use windows in shared memory where they fit, else planes in device memory;
   further steps round the sums and determine the signs of zeros. Extremes have a plan of their own. */
#include "groups/groups.h"

#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "groups/extremes/plan.h"
#include "groups/kind.h"
#include "groups/lists/plan.h"
#include "groups/partition/plan.h"
#include "groups/rows/plan.h"
#include "groups/shared/plan.h"
#include "groups/short/plan.h"

enum {
    PLANE_BLOCKS_PER_SM = 8, /* blocks of the planes' kernels that an SM holds at once */
    SIGN_BLOCKS_PER_SM = 2,  /* blocks of group_signs, which mostly end at once */
    WINDOW_MIN_ROWS = 4096,  /* rows per block of the window kernels, at least */
    MAX_SLAB_BYTES = 6,      /* per row: with larger slabs, windows take more time than partitions */
    MAX_WORKSPACE = 16 << 20,
};

static uint64_t results_of(const gr_groups *self, const gr_group_kind *of) {
    return self->lines * self->groups * self->inner * of->components;
}

bool gr_groups_have(gr_op op) {
    return op == GR_OP_sum || op == GR_OP_mean || gr_extremes_have(op);
}

static bool goes_by_sorted_rows(const gr_groups *self) {
    return self->path == GR_GROUPS_SORTED_ROWS ||
           (gr_groups_path_is_free(self) && gr_sorted_rows_are_faster(self));
}

static bool goes_by(const gr_groups *self, gr_groups_path path, bool (*is_faster)(const gr_groups *)) {
    return self->path == path ||
           (self->path == GR_GROUPS_ANY && self->partition_shift == 0 && is_faster(self));
}

/* The kernels of few rows, which need one launch and no workspace. */
static gr_groups_path one_launch(const gr_groups *self) {
    if (self->states)
        return GR_GROUPS_ANY;
    if (goes_by(self, GR_GROUPS_SHORT, gr_short_groups_are_faster))
        return GR_GROUPS_SHORT;
    if (goes_by(self, GR_GROUPS_SHARED, gr_shared_groups_are_faster))
        return GR_GROUPS_SHARED;
    return goes_by(self, GR_GROUPS_LISTS, gr_group_lists_are_faster) ? GR_GROUPS_LISTS : GR_GROUPS_ANY;
}

static bool fits_one_launch(const gr_groups *self, gr_groups_path path) {
    return path == GR_GROUPS_SHORT    ? gr_short_groups_fit(self)
           : path == GR_GROUPS_SHARED ? gr_shared_groups_fit(self)
                                      : gr_group_lists_fit(self);
}

static void plan_one_launch(const gr_groups *self, gr_groups_path path, const gr_group_params *params,
                            const gr_device_caps *caps, gr_program *program) {
    if (path == GR_GROUPS_SHORT)
        gr_short_groups_plan(self, params, caps, program);
    else if (path == GR_GROUPS_SHARED)
        gr_shared_groups_plan(self, params, caps, program);
    else
        gr_group_lists_plan(self, params, caps, program);
}

uint32_t gr_groups_state_words(gr_dtype dtype) {
    if (gr_dtypes[dtype].kind == GR_KIND_BITS)
        return 0;
    return dtype == GR_DTYPE_f64 || dtype == GR_DTYPE_c128 ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS;
}

bool gr_groups_take(const gr_groups *self) {
    if (!gr_groups_have(self->op))
        return false;
    if (gr_extremes_have(self->op))
        return gr_extremes_take(self);
    if (self->states) /* states are larger than the workspace */
        return gr_op_is_mean(self->op) && gr_groups_state_words(self->dtype) > 0;
    if (gr_dtypes[self->dtype].kind == GR_KIND_BITS && gr_op_is_mean(self->op) &&
        self->length >> GR_GROUP_MAX_INTEGER_ROWS_SHIFT > 0)
        return false;
    if (one_launch(self) != GR_GROUPS_ANY)
        return fits_one_launch(self, one_launch(self));
    if (goes_by_sorted_rows(self))
        return gr_sorted_rows_fit(self);
    const gr_group_kind of = gr_group_kind_of(self->op, self->dtype);
    const double elements = (double)self->lines * (double)self->length * (double)self->inner,
                 results = (double)self->lines * (double)self->groups * (double)self->inner;
    return results * of.components * (of.planes * 8 + 4) <= 12 * elements + 160 * results + MAX_WORKSPACE ||
           gr_partition_takes(self, &of);
}

static uint64_t window_bytes(const gr_groups *self, const gr_group_kind *of, uint32_t windows) {
    return gr_group_window_bytes(self, of, gr_ceil_div(self->groups, 4) * 4, windows);
}

/* Sets the windows and the blocks of the window kernels. Returns false if there are no such kernels, or too
   many groups for shared memory. */
static bool set_windows(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                        gr_group_params *params) {
    const uint64_t capacity = caps->shared_per_block - GR_GROUP_STATIC_BYTES;
    if (!gr_group_is_contiguous(self, of) || self->groups > capacity / 8 ||
        window_bytes(self, of, 1) > capacity || self->length < 4 * self->groups)
        return false;
    const bool two = gr_dtypes[self->dtype].kind != GR_KIND_BITS &&
                     window_bytes(self, of, GR_GROUP_MAX_WINDOWS) <= capacity;
    params->windows = two ? GR_GROUP_MAX_WINDOWS : 1;
    params->slab_words = (uint32_t)window_bytes(self, of, params->windows) / 4;
    uint64_t blocks = gr_min(gr_reference_device.multiprocessors,
                             gr_ceil_div(self->length, gr_max(WINDOW_MIN_ROWS, self->groups)));
    blocks = gr_max(blocks, gr_ceil_div(self->length, (uint64_t)1 << GR_GROUP_WINDOW_MAX_ROWS_SHIFT));
    params->share = gr_ceil_div(self->length, 4 * blocks) * 4;
    params->blocks = (uint32_t)gr_ceil_div(self->length, params->share);
    return true;
}

static gr_group_params params_of(const gr_groups *self, const gr_group_kind *of) {
    const int64_t item = (int64_t)of->item_bytes;
    gr_group_params params = {
        .lines = self->lines,
        .length = self->length,
        .inner = self->inner * of->components,
        .groups = self->groups,
        .results = results_of(self, of),
        .line_stride = self->line_stride / item,
        .along_stride = self->along_stride / item,
        .inner_stride = self->inner_stride / item,
        .label_stride = self->label_stride,
        .label_bytes = (uint32_t)gr_dtypes[self->label_dtype].item_bytes,
        .components = of->components,
        .from = (uint32_t)self->dtype,
        .options = (gr_op_is_mean(self->op) ? GR_GROUP_MEAN : 0u) |
                   (self->length >> GR_GROUP_MAX_ROWS_SHIFT > 0 ? GR_GROUP_SPILL : 0u) |
                   (gr_group_repeats(self) ? GR_GROUP_REPEATS : 0u),
    };
    if (gr_dtype_is_signed_integer(self->label_dtype))
        params.label_sign = UINT64_C(1) << (8 * params.label_bytes - 1);
    while (params.columns_shift < GR_GROUP_MAX_COLUMNS_SHIFT && 1u << params.columns_shift < params.inner)
        ++params.columns_shift;
    memcpy(params.empty_result, &self->empty_result, sizeof params.empty_result);
    return params;
}

static gr_group_buffers alloc_buffers(const gr_groups *self, const gr_group_kind *of,
                                      const gr_group_params *params, uint32_t planes, gr_program *program) {
    const gr_dtype to = gr_op_result(self->op, self->dtype);
    const size_t results = (size_t)params->results;
    const size_t bytes = self->states ? gr_groups_state_words(self->dtype) * sizeof(int64_t)
                                      : gr_dtypes[to].item_bytes / of->components;
    const bool mean = gr_op_is_mean(self->op), windows = params->windows > 0;
    gr_group_buffers at = {.has_slabs = windows, .has_counts = mean && !windows};
    at.in = gr_program_input(program, 0);
    at.labels = gr_program_input(program, 1);
    at.out = gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)results_of(self, of) * bytes);
    at.header = gr_program_buffer(program, GR_BUFFER_ZEROED, GR_GROUP_HEADER_BYTES);
    at.planes = gr_program_buffer(program, GR_BUFFER_ZEROED, results * planes * 8);
    at.flags = gr_program_buffer(program, GR_BUFFER_ZEROED, results * 4);
    if (at.has_counts)
        at.counts = gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)self->groups * 8);
    if (at.has_slabs)
        at.slabs = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                     (size_t)params->blocks * window_bytes(self, of, params->windows));
    return at;
}

static gr_step *launch(gr_program *program, const gr_group_params *params, const gr_group_buffers *at,
                       const gr_device_caps *caps, uint64_t blocks) {
    return gr_group_launch(program, params, sizeof *params, at, caps, blocks);
}

/* Adds rows to windows or planes, and rounds these. */
static void plan_sums(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                      const gr_group_params *params, const gr_group_buffers *at, uint64_t filling,
                      gr_program *program) {
    const bool windows = params->windows > 0;
    gr_step *step = launch(program, params, at, caps, windows ? params->blocks : filling);
    if (windows) {
        step->block[0] = GR_GROUP_WINDOW_THREADS;
        step->shared_bytes = (uint32_t)window_bytes(self, of, params->windows);
        GR_KERNEL_NAME(step->kernel.file, "group_window");
        GR_KERNEL_NAME(step->kernel.entry, "group_window_", of->window_name,
                       params->label_bytes == 4 ? "_i32" : "_i64");
    } else {
        GR_KERNEL_NAME(step->kernel.file, "group_planes");
        GR_KERNEL_NAME(step->kernel.entry, "group_planes_", of->name);
    }
    step = launch(program, params, at, caps,
                  gr_ceil_div(params->results, windows ? GR_GROUP_FINISH_GROUPS : GR_GROUP_THREADS));
    GR_KERNEL_NAME(step->kernel.file, self->states ? "group_states" : "group_finish");
    if (windows)
        GR_KERNEL_NAME(step->kernel.entry, "group_finish_windows_", of->window_name);
    else if (self->states)
        GR_KERNEL_NAME(step->kernel.entry, "group_states_", of->name);
    else
        GR_KERNEL_NAME(step->kernel.entry, "group_finish_", of->name);
}

static void plan_signs(const gr_group_kind *of, const gr_device_caps *caps, const gr_group_params *params,
                       const gr_group_buffers *at, uint64_t blocks, gr_program *program) {
    gr_step *step = launch(program, params, at, caps, blocks);
    GR_KERNEL_NAME(step->kernel.file, "group_finish");
    GR_KERNEL_NAME(step->kernel.entry, "group_signs_", of->name);
}

static bool has_large_slabs(const gr_groups *self, const gr_group_params *params) {
    return (uint64_t)params->blocks * params->slab_words * 4 >= MAX_SLAB_BYTES * self->length;
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_groups *self = request;
    const gr_device_caps *caps = &device->backend->info.caps;
    const gr_group_kind of = gr_group_kind_of(self->op, self->dtype);
    gr_group_params params = params_of(self, &of);
    if (gr_extremes_have(self->op)) {
        gr_extremes_plan(self, &params, caps, program);
        return;
    }
    if (one_launch(self) != GR_GROUPS_ANY) {
        plan_one_launch(self, one_launch(self), &params, caps, program);
        return;
    }
    if (!self->states && goes_by_sorted_rows(self)) {
        gr_sorted_rows_plan(self, &params, caps, program);
        return;
    }
    gr_partition_params partition = {.sums = params};
    const bool any = gr_groups_path_is_free(self) && !self->states;
    bool windows = any && self->partition_shift == 0 && set_windows(self, &of, caps, &params);
    const bool partitioned = !self->states && (!windows || has_large_slabs(self, &params)) &&
                             gr_partition_set(self, &of, caps, &partition);
    if (partitioned) {
        params = partition.sums;
        params.windows = 0;
        windows = false;
    }
    gr_group_buffers at =
        alloc_buffers(self, &of, &params, partitioned ? partition.planes : of.planes, program);
    const uint64_t multiprocessors = gr_reference_device.multiprocessors;
    const uint64_t tile = (uint64_t)(GR_GROUP_THREADS >> params.columns_shift) * GR_GROUP_ROWS_PER_THREAD;
    const uint64_t tiles = gr_max(self->lines * gr_ceil_div(self->length, tile), 1);
    const uint64_t filling = gr_min(tiles, multiprocessors * PLANE_BLOCKS_PER_SM);
    if (partitioned)
        gr_partition_plan(self, &of, caps, &at, &partition, program);
    else
        plan_sums(self, &of, caps, &params, &at, filling, program);
    const bool is_integer = gr_dtypes[self->dtype].kind == GR_KIND_BITS;
    if (is_integer && (windows || partitioned || !gr_op_is_mean(self->op)))
        return; /* no -0, and no counts to zero */
    if (partitioned)
        at.has_counts = false; /* they are zero */
    plan_signs(&of, caps, &params, &at,
               windows || partitioned ? gr_min(tiles, multiprocessors * SIGN_BLOCKS_PER_SM) : filling,
               program);
}

gr_status gr_groups_run(gr_device *device, const gr_groups *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error) {
    if (self->lines == 0 || self->groups == 0 || self->inner == 0)
        return GR_OK;
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
