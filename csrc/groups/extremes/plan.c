/* Planner of extremes, counts and bitwise operators of groups: atomic operations on keys in shared memory
   where the groups fit, else in device memory; then the step that turns keys into results. */
#include "groups/extremes/plan.h"

#include <stddef.h>

#include "base/limits.h"
#include "groups/extremes/params.h"
#include "groups/partition/plan.h"

enum {
    BLOCKS_PER_SM = 8,          /* of the kernels that add to keys in device memory */
    MIN_ROWS = 4096,            /* rows per block of the kernels with keys in shared memory, at least */
    ROWS_PER_GROUP = 4,         /* the same, of a group: with fewer, keys in device memory take less time */
    PARTITIONED_ROWS = 1 << 22, /* of partitions, at least */
};

bool gr_extremes_have(gr_op op) {
    switch ((int)op) {
    case GR_OP_min:
    case GR_OP_max:
    case GR_OP_nanmin:
    case GR_OP_nanmax:
    case GR_OP_argmin:
    case GR_OP_argmax:
    case GR_OP_any:
    case GR_OP_all:
    case GR_OP_count_nonzero:
    case GR_OP_bitwise_and:
    case GR_OP_bitwise_or:
    case GR_OP_bitwise_xor:
        return true;
    default:
        return false;
    }
}

bool gr_extremes_take(const gr_groups *self) {
    if (!gr_extremes_have(self->op) || self->states || gr_dtype_is_complex(self->dtype) ||
        !gr_op_takes(self->op, self->dtype))
        return false;
    if (self->op == GR_OP_count_nonzero)
        return self->length <= UINT32_MAX;
    return !gr_op_is_positional(self->op) ||
           (gr_dtypes[self->dtype].item_bytes <= 4 && self->length < UINT32_MAX);
}

/* Whether the order or the bits of keys are the opposite of those of the elements. */
static bool is_flipped(gr_op op) {
    return op == GR_OP_min || op == GR_OP_nanmin || op == GR_OP_argmin || op == GR_OP_all ||
           op == GR_OP_bitwise_and;
}

static uint32_t atomic_of(gr_op op) {
    switch ((int)op) {
    case GR_OP_bitwise_and: /* or of the complements */
    case GR_OP_bitwise_or:
        return GR_EXTREMES_OR;
    case GR_OP_bitwise_xor:
        return GR_EXTREMES_XOR;
    case GR_OP_count_nonzero:
        return GR_EXTREMES_ADD;
    default:
        return GR_EXTREMES_MAX;
    }
}

/* The bits of infinity. */
static uint64_t infinity_of(gr_dtype dtype) {
    switch ((int)dtype) {
    case GR_DTYPE_f16:
        return 0x7c00;
    case GR_DTYPE_bf16:
        return 0x7f80;
    case GR_DTYPE_f32:
        return 0x7f800000;
    default:
        return UINT64_C(0x7ff) << 52;
    }
}

static gr_extremes_params params_of(const gr_groups *self, const gr_group_params *rows) {
    const gr_dtype dtype = self->dtype;
    const uint32_t bytes = (uint32_t)gr_dtypes[dtype].item_bytes;
    const uint64_t all = UINT64_MAX >> (64 - 8 * bytes), top = UINT64_C(1) << (8 * bytes - 1);
    gr_extremes_params params = {
        .rows = *rows,
        .magnitude = all,
        .infinity = all,
        .largest_key = all,
        .element_bytes = bytes,
        .result_bytes = (uint32_t)gr_dtypes[gr_op_result(self->op, dtype)].item_bytes,
        .atomic = atomic_of(self->op),
        .truth = self->op == GR_OP_any || self->op == GR_OP_all || self->op == GR_OP_count_nonzero ||
                 dtype == GR_DTYPE_b8,
        .positional = gr_op_is_positional(self->op),
    };
    if (gr_dtypes[dtype].kind == GR_KIND_REAL) {
        params.sign = top;
        params.negative = all;
        params.magnitude = all ^ top;
        params.infinity = infinity_of(dtype);
        params.nan = params.infinity | (params.infinity & (~params.infinity + 1)) >> 1; /* quiet */
        params.nan_key = self->op == GR_OP_nanmin || self->op == GR_OP_nanmax ? 1 : all;
    } else if (gr_dtype_is_signed_integer(dtype) && params.atomic == GR_EXTREMES_MAX) {
        params.sign = params.negative = top;
    }
    if (params.truth) {
        params.sign = params.negative = params.nan = 0;
        params.largest_key = 1;
    }
    params.flip = is_flipped(self->op) ? params.largest_key : 0;
    return params;
}

static uint64_t key_bytes(const gr_extremes_params *params) {
    return params->positional || params->element_bytes == 8 ? 8 : 4;
}

/* Sets the blocks of the kernels with keys in shared memory. Returns false if there are no such kernels, too
   many groups, or too few rows. */
static bool set_blocks(const gr_groups *self, const gr_device_caps *caps, gr_extremes_params *params) {
    const uint64_t capacity = caps->shared_per_block - GR_GROUP_STATIC_BYTES;
    const size_t label = params->rows.label_bytes;
    if (self->path != GR_GROUPS_ANY || self->partition_shift > 0 || self->lines != 1 || self->inner != 1 ||
        (label != 4 && label != 8) ||
        (self->length > 1 &&
         (self->along_stride != (int64_t)params->element_bytes || self->label_stride != (int64_t)label)) ||
        self->groups > capacity / key_bytes(params) || self->length < ROWS_PER_GROUP * self->groups)
        return false;
    const uint64_t blocks = gr_min(gr_reference_device.multiprocessors,
                                   gr_ceil_div(self->length, gr_max(MIN_ROWS, self->groups)));
    params->rows.share = gr_ceil_div(self->length, 4 * blocks) * 4;
    params->rows.blocks = (uint32_t)gr_ceil_div(self->length, params->rows.share);
    return true;
}

static gr_group_kind kind_of(const gr_extremes_params *params) {
    return (gr_group_kind){.components = 1,
                           .item_bytes = params->element_bytes,
                           .words = (uint32_t)key_bytes(params) / sizeof(uint32_t)};
}

/* Sets the partitions. Returns false if there are no such kernels, or if keys in device memory take less
 * time. */
static bool set_partitions(const gr_groups *self, const gr_device_caps *caps,
                           const gr_extremes_params *params, gr_partition_params *partition) {
    const gr_group_kind of = kind_of(params);
    const bool many = self->length >= gr_max(PARTITIONED_ROWS, ROWS_PER_GROUP * self->groups);
    *partition = (gr_partition_params){.sums = params->rows};
    partition->sums.from = GR_DTYPE_b8; /* no windows */
    return self->path == GR_GROUPS_ANY && !params->positional && params->element_bytes > 1 &&
           (many || self->partition_shift > 0) && gr_partition_set(self, &of, caps, partition);
}

/* Addresses of the buffers. */
typedef struct extremes_buffers {
    uint32_t in, labels, keys, out;
} extremes_buffers;

static gr_step *launch(gr_program *program, const gr_extremes_params *params, const extremes_buffers *at,
                       const gr_device_caps *caps, uint64_t blocks) {
    gr_step *step = gr_group_step(program, params, sizeof *params, caps, blocks);
    GR_KERNEL_NAME(step->kernel.file, "group_extremes");
    gr_program_relocate(program, offsetof(gr_extremes_params, rows.in), at->in);
    gr_program_relocate(program, offsetof(gr_extremes_params, rows.labels), at->labels);
    gr_program_relocate(program, offsetof(gr_extremes_params, rows.out), at->out);
    gr_program_relocate(program, offsetof(gr_extremes_params, keys), at->keys);
    return step;
}

static const char *element_name(const gr_extremes_params *params) {
    static const char *const names[] = {[1] = "1", [2] = "2", [4] = "4", [8] = "8"};
    return names[params->element_bytes];
}

/* Appends the steps of partitions. */
static void plan_partitions(const gr_groups *self, const gr_device_caps *caps,
                            const gr_extremes_params *params, const gr_partition_params *partition,
                            const extremes_buffers *at, gr_program *program) {
    const gr_group_kind of = kind_of(params);
    const gr_extremes_partition_params both = {.partition = *partition, .extremes = *params};
    const gr_partition_buffers rows =
        gr_partition_rows(self, &of, caps, at->in, at->labels, partition, program);
    gr_step *step = gr_group_step(program, &both, sizeof both, caps, gr_partition_blocks(partition));
    gr_partition_relocate(program, &rows);
    gr_program_relocate(program, offsetof(gr_extremes_partition_params, extremes.rows.out), at->out);
    gr_program_relocate(program, offsetof(gr_extremes_partition_params, extremes.keys), at->keys);
    step->block[0] = GR_GROUP_WINDOW_THREADS;
    step->shared_bytes = (uint32_t)(gr_ceil_div(key_bytes(params) << partition->shift, 16) * 16);
    GR_KERNEL_NAME(step->kernel.file, "group_extremes_partition");
    GR_KERNEL_NAME(step->kernel.entry, "group_extremes_partition_", element_name(params));
}

void gr_extremes_plan(const gr_groups *self, const gr_group_params *rows, const gr_device_caps *caps,
                      gr_program *program) {
    gr_extremes_params params = params_of(self, rows);
    const size_t results = (size_t)rows->results;
    const extremes_buffers at = {
        .in = gr_program_input(program, 0),
        .labels = gr_program_input(program, 1),
        .out = gr_program_buffer(program, GR_BUFFER_OUTPUT, results * params.result_bytes),
        .keys = gr_program_buffer(program, GR_BUFFER_ZEROED, results * key_bytes(&params))};
    gr_partition_params partition;
    const bool blocks = set_blocks(self, caps, &params);
    if (!blocks && set_partitions(self, caps, &params, &partition)) {
        plan_partitions(self, caps, &params, &partition, &at, program);
        return;
    }
    const char *const positions = params.positional ? "_positions" : "";
    gr_step *step;
    if (blocks) {
        step = launch(program, &params, &at, caps, params.rows.blocks);
        step->block[0] = GR_GROUP_WINDOW_THREADS;
        step->shared_bytes = (uint32_t)(gr_ceil_div(self->groups * key_bytes(&params), 16) * 16);
        GR_KERNEL_NAME(step->kernel.entry, "group_extremes_shared_", element_name(&params), positions,
                       params.rows.label_bytes == 4 ? "_i32" : "_i64");
    } else {
        const uint64_t tile = (uint64_t)(GR_GROUP_THREADS >> rows->columns_shift) * GR_GROUP_ROWS_PER_THREAD;
        const uint64_t tiles = gr_max(self->lines * gr_ceil_div(self->length, tile), 1);
        step = launch(program, &params, &at, caps,
                      gr_min(tiles, (uint64_t)gr_reference_device.multiprocessors * BLOCKS_PER_SM));
        GR_KERNEL_NAME(step->kernel.entry, "group_extremes_", element_name(&params), positions);
    }
    step = launch(program, &params, &at, caps, gr_ceil_div(results, GR_GROUP_THREADS));
    GR_KERNEL_NAME(step->kernel.entry, "group_extremes_finish_", key_bytes(&params) == 8 ? "8" : "4");
}
