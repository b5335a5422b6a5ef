/* Planner of exact sums of many groups by partitions, and of the first step of other reductions. */
#include "groups/partition/plan.h"

#include <stddef.h>

#include "base/limits.h"

enum {
    STATIC_BYTES = 13 << 10,   /* static shared memory of group_accumulate, at most */
    PARTITIONS = 128,          /* wanted: an SM of the reference device each */
    MIN_ROWS = 1 << 18,        /* fewer are added to planes in less time */
    SMALL_TILE_ROWS = 1 << 21, /* fewer rows than these have tiles of half as many rows */
    SPLIT_PER_MILLE = 1250,    /* rows of a partition that one block adds up, of the average */
    MIN_SHARE = 16384,         /* such rows, at least */
    MAX_WORKSPACE = 16 << 20,
    DOUBLE_MIN_SHIFT = 2, /* log2 of groups per partition of float64 */
};

/* log2 of the most groups per partition for whose windows there is shared memory. */
static uint32_t max_shift(const gr_groups *self, const gr_group_kind *of, uint64_t capacity,
                          uint32_t windows) {
    uint32_t shift = GR_PARTITION_MAX_SHIFT;
    while (shift > 0 && gr_group_window_bytes(self, of, (uint64_t)1 << shift, windows) > capacity)
        --shift;
    return shift;
}

static uint64_t partitions_of(const gr_groups *self, uint32_t shift) {
    return gr_ceil_div(self->groups, (uint64_t)1 << shift);
}

/* Chooses the groups per partition, and the windows. Returns false for too many groups. */
static bool set_partitions(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                           gr_partition_params *params) {
    const uint64_t capacity = caps->shared_per_block - STATIC_BYTES;
    uint32_t shift = self->partition_shift;
    while (self->partition_shift == 0 && shift < GR_PARTITION_MAX_SHIFT &&
           partitions_of(self, shift) > PARTITIONS)
        ++shift;
    const bool one = gr_dtypes[self->dtype].kind == GR_KIND_BITS || of->planes == 0;
    const uint32_t most = max_shift(self, of, capacity, 1),
                   most_of_two = one ? 0 : max_shift(self, of, capacity, GR_GROUP_MAX_WINDOWS);
    params->sums.windows = GR_GROUP_MAX_WINDOWS;
    if (shift > most_of_two && partitions_of(self, most_of_two) <= GR_PARTITION_MAX)
        shift = most_of_two;
    if (shift > most_of_two)
        params->sums.windows = 1;
    if (shift > most)
        shift = most;
    if (of->planes == GR_GROUP_DOUBLE_PLANES && shift < DOUBLE_MIN_SHIFT)
        shift = DOUBLE_MIN_SHIFT;
    params->shift = shift;
    params->partitions = (uint32_t)gr_min(partitions_of(self, shift), UINT32_MAX);
    return params->partitions <= GR_PARTITION_MAX;
}

static uint32_t rows_per_thread(const gr_groups *self, const gr_group_kind *of) {
    const bool few = of->item_bytes == 8 || self->length < SMALL_TILE_ROWS;
    return few ? GR_PARTITION_MAX_ROWS_PER_THREAD / 2 : GR_PARTITION_MAX_ROWS_PER_THREAD;
}

/* Whether the workspace (planes, flags, counts, and the rows in order) is within the limit of gr_groups_take.
 */
static bool is_in_proportion(const gr_groups *self, const gr_group_kind *of, uint32_t planes) {
    const double rows = (double)self->length, groups = (double)self->groups;
    const double per_group = planes * 8.0 + (gr_op_is_mean(self->op) ? 12 : 4);
    return rows * (of->item_bytes + 2.0) + groups * per_group <= 12 * rows + 160 * groups + MAX_WORKSPACE;
}

/* Sets the planes per result, at most 32, and returns them. Those of a partition of float64 are enough for
   all digits of one group. */
static uint32_t set_planes(const gr_group_kind *of, gr_partition_params *params) {
    params->planes = of->planes;
    if (of->planes == GR_GROUP_DOUBLE_PLANES) {
        const uint64_t enough = gr_ceil_div(GR_GROUP_DOUBLE_PLANES, (uint64_t)1 << params->shift);
        params->planes = (uint32_t)gr_max(GR_PARTITION_DOUBLE_PLANES, enough);
        params->sums.results = (uint64_t)params->partitions << params->shift;
    }
    return params->planes;
}

bool gr_partition_set(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                      gr_partition_params *params) {
    if (!gr_group_is_contiguous(self, of) || gr_group_repeats(self) || self->length == 0 ||
        self->length > UINT32_MAX / 2 || (self->partition_shift == 0 && self->length < MIN_ROWS) ||
        !set_partitions(self, of, caps, params) || !is_in_proportion(self, of, set_planes(of, params)))
        return false;
    params->tile_rows = GR_PARTITION_THREADS * rows_per_thread(self, of);
    params->tiles = gr_ceil_div(self->length, params->tile_rows);
    const uint64_t share = gr_ceil_div(self->length * SPLIT_PER_MILLE, (uint64_t)params->partitions * 1000);
    params->max_rows = (uint32_t)gr_min(gr_max(share, MIN_SHARE), 1u << GR_GROUP_WINDOW_MAX_ROWS_SHIFT);
    return true;
}

bool gr_partition_takes(const gr_groups *self, const gr_group_kind *of) {
    const gr_device_caps caps = {.shared_per_block = GR_REFERENCE_SHARED};
    gr_partition_params params = {.sums = {.groups = self->groups}};
    return gr_groups_path_is_free(self) && !self->states && gr_partition_set(self, of, &caps, &params);
}

static size_t padded_rows(const gr_partition_params *params) {
    return (size_t)params->tiles * params->tile_rows;
}

void gr_partition_relocate(gr_program *program, const gr_partition_buffers *at) {
#define RELOCATE(field) gr_program_relocate(program, offsetof(gr_partition_params, field), at->field)
    RELOCATE(values);
    RELOCATE(locals);
    RELOCATE(table);
    RELOCATE(state);
#undef RELOCATE
}

gr_partition_buffers gr_partition_rows(const gr_groups *self, const gr_group_kind *of,
                                       const gr_device_caps *caps, uint32_t in, uint32_t labels,
                                       const gr_partition_params *params, gr_program *program) {
    const size_t rows = padded_rows(params), local_bytes = sizeof(uint16_t);
    const gr_partition_buffers at = {
        .values = gr_program_buffer(program, GR_BUFFER_TEMPORARY, rows * of->item_bytes),
        .locals = gr_program_buffer(program, GR_BUFFER_TEMPORARY, rows * local_bytes),
        .table = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                   ((size_t)params->tiles + 1) * GR_PARTITION_TABLE * sizeof(uint16_t)),
        .state = gr_program_buffer(program, GR_BUFFER_ZEROED, GR_PARTITION_STATE_BYTES)};
    gr_step *step = gr_group_step(program, params, sizeof *params, caps, params->tiles + 1);
    gr_program_relocate(program, offsetof(gr_partition_params, sums.in), in);
    gr_program_relocate(program, offsetof(gr_partition_params, sums.labels), labels);
    gr_partition_relocate(program, &at);
    step->block[0] = GR_PARTITION_THREADS;
    step->shared_bytes = (uint32_t)(params->tile_rows * (of->item_bytes + local_bytes));
    GR_KERNEL_NAME(step->kernel.file, "group_partition");
    GR_KERNEL_NAME(step->kernel.entry, "group_partition_",
                   of->item_bytes == 2   ? "2"
                   : of->item_bytes == 4 ? "4"
                                         : "8",
                   params->sums.label_bytes == 4 ? "_i32" : "_i64",
                   rows_per_thread(self, of) == 8 ? "_8" : "_16");
    return at;
}

uint64_t gr_partition_blocks(const gr_partition_params *params) {
    return params->partitions + params->sums.length / params->max_rows;
}

void gr_partition_plan(const gr_groups *self, const gr_group_kind *of, const gr_device_caps *caps,
                       const gr_group_buffers *at, const gr_partition_params *params, gr_program *program) {
    const gr_partition_buffers rows = gr_partition_rows(self, of, caps, at->in, at->labels, params, program);
    gr_step *step = gr_group_launch(program, params, sizeof *params, at, caps, gr_partition_blocks(params));
    gr_partition_relocate(program, &rows);
    step->block[0] = GR_GROUP_WINDOW_THREADS;
    step->shared_bytes =
        (uint32_t)gr_group_window_bytes(self, of, (uint64_t)1 << params->shift, params->sums.windows);
    GR_KERNEL_NAME(step->kernel.file, "group_accumulate");
    GR_KERNEL_NAME(step->kernel.entry, "group_accumulate_", of->window_name);
}
