/* Planner of multi.h: a launch for each dtype of the list adds to the states of the results, and one more
   launch rounds them. */
#include "multi/multi.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"

const char *const gr_multi_op_names[GR_MULTI_OPS] = {
    [GR_MULTI_SUM] = "sum",
    [GR_MULTI_NORM1] = "norm1",
    [GR_MULTI_NORM2] = "norm2",
    [GR_MULTI_SQUARES] = "squares",
    [GR_MULTI_NORM2_STATE] = "norm2_state",
    [GR_MULTI_MAX] = "max",
    [GR_MULTI_ALL_FINITE] = "all_finite",
    [GR_MULTI_FINGERPRINT] = "fingerprint",
    [GR_MULTI_SCALE] = "scale",
};

enum { MAX_FINISH_BLOCKS = 1024 };

/* How the arrays of a dtype are read. */
typedef struct kernel {
    const char *name; /* without dtype */
    uint32_t threads, blocks_per_sm;
    uint32_t bin_bytes;   /* per thread */
    uint32_t state_words; /* of the block's state in shared memory; 0: none */
} kernel;

static bool is_max(gr_multi_op op) {
    return op == GR_MULTI_MAX || op == GR_MULTI_ALL_FINITE;
}

static bool is_square(gr_multi_op op) {
    return op == GR_MULTI_NORM2 || op == GR_MULTI_SQUARES || op == GR_MULTI_NORM2_STATE;
}

static kernel kernel_of(gr_multi_op op, gr_dtype dtype) {
    const bool wide = dtype == GR_DTYPE_f64;
    if (is_square(op))
        return wide ? (kernel){"square", GR_EXACT_WIDE_THREADS, 1, GR_EXACT_WIDE_BINS * 16,
                               GR_EXACT_WIDEST_WORDS}
               : dtype == GR_DTYPE_f32
                   ? (kernel){"square", GR_MULTI_SQUARE_THREADS, GR_MULTI_SQUARE_BLOCKS,
                              GR_EXACT_PRODUCT_BINS * 16, GR_EXACT_WIDE_WORDS}
                   : (kernel){"square", GR_MULTI_HALF_SQUARE_THREADS, GR_MULTI_HALF_SQUARE_BLOCKS,
                              GR_EXACT_PRODUCT_BINS * 16, GR_EXACT_WIDE_WORDS};
    if (op == GR_MULTI_SUM || op == GR_MULTI_NORM1)
        return wide ? (kernel){"sum", GR_EXACT_WIDE_THREADS, 1, GR_EXACT_WIDE_BINS * 16, GR_EXACT_WIDE_WORDS}
                    : (kernel){"sum", GR_EXACT_THREADS, GR_MULTI_SUM_BLOCKS, GR_EXACT_NARROW_BINS * 8,
                               GR_EXACT_NARROW_WORDS};
    const char *name = op == GR_MULTI_FINGERPRINT ? "finger" : op == GR_MULTI_SCALE ? "scale" : "max";
    return (kernel){name, GR_MULTI_THREADS, GR_MULTI_BLOCKS, 0, 0};
}

uint64_t gr_multi_parts(gr_dtype dtype) {
    return gr_dtypes[dtype].item_bytes > 8 ? 2 : 1;
}

/* Bytes of an element of a row. */
static size_t item_bytes(gr_dtype dtype) {
    return gr_dtypes[dtype].item_bytes / gr_multi_parts(dtype);
}

uint64_t gr_multi_words(gr_dtype dtype, uint64_t count) {
    return gr_ceil_div(count * item_bytes(dtype), GR_MULTI_WORD_BYTES);
}

void gr_multi_divide(gr_multi_group *group, gr_multi_array *rows) {
    const uint64_t tile_elements = GR_MULTI_TILE_BYTES / item_bytes(group->dtype);
    group->tiles = 0;
    for (uint64_t i = 0; i < group->arrays; ++i) {
        rows[i].first_tile = group->tiles;
        group->tiles += gr_ceil_div(rows[i].count, tile_elements);
    }
}

/* Words of 8 bytes of a result before it is rounded. */
static uint64_t result_words(gr_multi_op op) {
    return is_square(op)                                ? GR_EXACT_WIDEST_WORDS
           : op == GR_MULTI_SUM || op == GR_MULTI_NORM1 ? GR_EXACT_WIDE_WORDS
                                                        : 1;
}

/* Returns the end of the names of files of kernels. */
static const char *suffix_of(const gr_device *device) {
    return device->backend->info.caps.capability >= GR_HOPPER ? "" : "_75";
}

/* Appends the launch for the arrays of one dtype, which add to the buffer `to`. */
static void add_launch(const gr_multi *self, const gr_multi_group *group, const gr_device *device,
                       uint32_t table, uint32_t to, gr_program *program) {
    const kernel of = kernel_of(self->op, group->dtype);
    const gr_multi_params params = {
        .first = group->first,
        .arrays = group->arrays,
        .tiles = group->tiles,
        .offset = self->offset,
        .max_norm = self->max_norm,
        .eps = self->eps,
        .flags = (self->each ? (uint32_t)GR_MULTI_EACH : 0) |
                 (self->op == GR_MULTI_NORM1 ? (uint32_t)GR_MULTI_ABSOLUTE : 0),
        .norm_bytes = (uint32_t)gr_dtypes[self->dtype].item_bytes,
        .item_bytes = (uint32_t)item_bytes(group->dtype),
    };
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->kernel.owner = "multi";
    GR_KERNEL_NAME(step->kernel.file, of.state_words > 0 ? "multi_sums" : "multi_bits", suffix_of(device));
    if (self->op == GR_MULTI_FINGERPRINT)
        GR_KERNEL_NAME(step->kernel.entry, "multi_", of.name);
    else
        GR_KERNEL_NAME(step->kernel.entry, "multi_", of.name, "_", gr_dtypes[group->dtype].name);
    const uint64_t resident = gr_max(device->backend->info.multiprocessors, 1) * of.blocks_per_sm;
    step->grid[0] = (uint32_t)gr_min(group->tiles, self->blocks > 0 ? self->blocks : resident);
    step->block[0] = of.threads;
    step->shared_bytes = of.state_words * 8 + of.threads * of.bin_bytes;
    gr_program_relocate(program, offsetof(gr_multi_params, table), table);
    gr_program_relocate(program, offsetof(gr_multi_params, out), to);
}

/* Appends the launch that rounds results. */
static void add_finish(const gr_multi *self, const gr_device *device, uint64_t results, uint64_t states,
                       uint32_t from, uint32_t out, gr_program *program) {
    const bool is_state = !is_max(self->op);
    const uint32_t item = (uint32_t)gr_dtypes[self->dtype].item_bytes;
    const uint32_t precision = item == 8 ? 53 : item == 4 ? 24 : self->dtype == GR_DTYPE_f16 ? 11 : 8;
    const gr_multi_finish_params params = {
        .results = results,
        .count = states,
        .mode = self->op == GR_MULTI_SQUARES      ? GR_MULTI_STATE
                : self->op == GR_MULTI_ALL_FINITE ? GR_MULTI_FINITE
                : is_square(self->op)             ? GR_MULTI_ROOT
                                                  : GR_MULTI_ROUND,
        .precision = precision,
        .exponent_bits = 8 * item - precision,
        .item_bytes = item,
    };
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    const uint64_t each = is_state ? GR_MULTI_FINISH_THREADS / 32 : GR_MULTI_FINISH_THREADS;
    step->kernel.owner = "multi";
    GR_KERNEL_NAME(step->kernel.file, "multi_bits", suffix_of(device));
    GR_KERNEL_NAME(step->kernel.entry, "multi_finish_",
                   !is_state             ? "max"
                   : is_square(self->op) ? "squares"
                                         : "sums");
    step->grid[0] = (uint32_t)gr_min(gr_ceil_div(results, each), MAX_FINISH_BLOCKS);
    step->block[0] = GR_MULTI_FINISH_THREADS;
    gr_program_relocate(program, offsetof(gr_multi_finish_params, states), from);
    gr_program_relocate(program, offsetof(gr_multi_finish_params, out), out);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_multi *self = request;
    const uint32_t input = gr_program_input(program, 0);
    if (self->op == GR_MULTI_SCALE) {
        const uint32_t norm = gr_program_input(program, 1);
        for (size_t i = 0; i < self->group_count; ++i)
            add_launch(self, &self->groups[i], device, input, norm, program);
        return;
    }
    const uint64_t results = self->op == GR_MULTI_NORM2_STATE ? 1 : self->count;
    const size_t words = self->op == GR_MULTI_SQUARES ? GR_EXACT_WIDEST_WORDS : 1;
    const uint32_t out =
        gr_program_buffer(program, GR_BUFFER_OUTPUT, results * words * gr_dtypes[self->dtype].item_bytes);
    if (self->op == GR_MULTI_NORM2_STATE) {
        add_finish(self, device, 1, self->count, input, out, program);
        return;
    }
    const bool direct = self->op == GR_MULTI_FINGERPRINT;
    const uint32_t to = direct ? out
                               : gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                                   results * result_words(self->op) * sizeof(uint64_t));
    gr_program_clear(program, to);
    for (size_t i = 0; i < self->group_count; ++i)
        add_launch(self, &self->groups[i], device, input, to, program);
    if (!direct)
        add_finish(self, device, results, 1, to, out, program);
}

gr_status gr_multi_run(gr_device *device, const gr_multi *self, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
