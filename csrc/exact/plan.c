/* Planner of exact sums: chooses between window kernels (few elements, accumulators in registers) and bins
   (accumulators by exponent in shared memory), and their threads, blocks and states. */
#include "exact/exact.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

enum {
    WARP = 32,
    MAX_GRID_X = 2048, /* blocks along x; each takes every so-manieth result, or as many as it has threads */
    FEW_ELEMENTS = 64, /* elements that a thread sums by itself */
    MANY_RESULTS = 8192, /* results that are threads enough */
    STATE_VECTORS = 8,   /* for each thread of a block that leaves a state: fewer threads fold sooner */
    /* For each thread of a block that shares a result. On an H200 dot products of 2^16 float64 take 11.9 us
       with 8, 14.0 with 32, as folds cost less than joining blocks. */
    THREAD_ELEMENTS = 8,
    /* Of the kernels for few elements, at most, and of one result as many as go at once: 2^22 float32
       take 13.6 us by several turns, 10.2 by bins, which are as fast whatever the elements. */
    WINDOW_BYTES = 1 << 25,
    FEW_THREADS = 128,        /* of a block of the kernels for few elements, at first */
    FEW_BLOCKS = 64,          /* that share a result with so few */
    WINDOW_BLOCKS_PER_SM = 2, /* of these blocks, of a multiprocessor */
};

/* What the kernels of a dtype take. */
typedef struct kind {
    const char *name;    /* of the dtype, in the kernel's */
    uint32_t item_bytes; /* of a part of an element */
    uint32_t components; /* parts of an element */
} kind;

static const kind kinds[GR_DTYPE_COUNT] = {
    [GR_DTYPE_f32] = {"f32", 4, 1},   [GR_DTYPE_f64] = {"f64", 8, 1}, [GR_DTYPE_f16] = {"f16", 2, 1},
    [GR_DTYPE_bf16] = {"bf16", 2, 1}, [GR_DTYPE_c64] = {"f32", 4, 2}, [GR_DTYPE_c128] = {"f64", 8, 2},
};

/* How they add: see exact_bins.cuh. */
typedef struct bins {
    uint32_t words, below;  /* of a state, as in params.h */
    uint32_t max_threads;   /* of a block */
    uint32_t blocks_per_sm; /* blocks of a multiprocessor, by their registers and shared memory */
    uint32_t fold;          /* additions */
    uint32_t bytes;         /* of a thread */
    bool fixed;             /* a block has the bytes of max_threads, however few it has */
} bins;

static const bins narrow = {GR_EXACT_NARROW_WORDS,
                            GR_EXACT_NARROW_BELOW,
                            GR_EXACT_THREADS,
                            4,
                            GR_EXACT_NARROW_FOLD,
                            GR_EXACT_NARROW_BINS * 8,
                            true};
static const bins half = {GR_EXACT_NARROW_WORDS,
                          GR_EXACT_NARROW_BELOW,
                          GR_EXACT_HALF_THREADS,
                          2,
                          GR_EXACT_NARROW_FOLD,
                          GR_EXACT_HALF_BYTES,
                          true};
static const bins wide = {GR_EXACT_WIDE_WORDS,
                          GR_EXACT_WIDE_BELOW,
                          GR_EXACT_WIDE_THREADS,
                          1,
                          GR_EXACT_WIDE_FOLD,
                          GR_EXACT_WIDE_BINS * 16,
                          false};
static const bins products = {GR_EXACT_WIDE_WORDS,
                              GR_EXACT_WIDE_BELOW,
                              GR_EXACT_WIDE_THREADS,
                              GR_EXACT_PRODUCT_BLOCKS_PER_SM,
                              GR_EXACT_WIDE_FOLD,
                              GR_EXACT_PRODUCT_BINS * 16,
                              false};
static const bins widest = {GR_EXACT_WIDEST_WORDS,
                            GR_EXACT_WIDEST_BELOW,
                            GR_EXACT_WIDE_THREADS,
                            1,
                            GR_EXACT_WIDE_FOLD,
                            GR_EXACT_WIDE_BINS * 16,
                            false};

static const bins *bins_of(gr_op op, const kind *of, gr_dtype dtype) {
    const bool is_double = of->item_bytes == 8;
    if (op == GR_OP_dot)
        return is_double ? &widest : &products;
    return is_double ? &wide : dtype == GR_DTYPE_bf16 ? &half : &narrow;
}

bool gr_exact_takes(gr_op op, gr_dtype dtype) {
    return (op == GR_OP_sum || op == GR_OP_mean || op == GR_OP_dot) && kinds[dtype].components > 0;
}

gr_exact_size gr_exact_state_size(gr_op op, gr_dtype dtype, uint32_t *parts) {
    const bins *by = bins_of(op, &kinds[dtype], dtype);
    *parts = kinds[dtype].components;
    return (gr_exact_size){by->words, by->below};
}

static uint32_t min_u32(uint64_t a, uint32_t b) {
    return a < b ? (uint32_t)a : b;
}

/* Of elements side by side, whose vectors may be loaded. */
static bool is_packed(const gr_exact *self, const gr_dims *along, const kind *of) {
    const int64_t item = (int64_t)of->item_bytes;
    const bool pair = self->layout->pair;
    return of->components == 1 && (pair || !self->layout->has_second) && along->extent[1] == 1 &&
           (along->extent[0] <= 1 ||
            (along->stride[0] == item && (!pair || along->second_stride[0] == item)));
}

/* As many threads as have an element, in whole warps. */
static uint32_t threads_of(uint64_t elements, uint32_t max_count) {
    return min_u32(gr_ceil_div(elements < 1 ? 1 : elements, WARP), max_count / WARP) * WARP;
}

/* Blocks that share a result: enough to fill the device, as long as each has work enough. */
static uint32_t blocks_of(const gr_exact *self, const gr_exact_params *params, uint32_t threads,
                          uint32_t blocks_per_sm) {
    if (self->blocks > 0)
        return self->blocks;
    const uint64_t wanted =
        gr_ceil_div((uint64_t)gr_reference_device.multiprocessors * blocks_per_sm, params->results);
    const uint64_t worth = gr_ceil_div(params->count, (uint64_t)threads * THREAD_ELEMENTS);
    const uint64_t blocks = wanted < worth ? wanted : worth;
    return blocks < 1 ? 1 : (uint32_t)blocks;
}

static gr_exact_params params_of(const gr_exact *self, const kind *of, const bins *by) {
    const gr_general_params *plan = &self->plan->launches[0].params;
    const bool pair = self->layout->pair;
    gr_exact_params params = {
        .results = plan->results * of->components,
        .count = plan->count * (pair ? of->components : 1), /* a part of a product is of two */
        .keep = plan->keep,
        .along = plan->along,
        .flags = (self->op == GR_OP_mean ? GR_EXACT_MEAN : 0u) |
                 (self->layout->has_second && !pair ? GR_EXACT_MASKED : 0u) |
                 (is_packed(self, &plan->along, of) ? GR_EXACT_PACKED : 0u) |
                 (self->states ? GR_EXACT_STATES : 0u),
        .fold = self->fold > 0 && self->fold < by->fold ? self->fold : by->fold,
        .components = of->components,
    };
    if (self->initial != NULL)
        memcpy(params.initial, self->initial, of->item_bytes * of->components);
    return params;
}

/* Whether threads make whole results by themselves: of few elements, or where neighbours lie side by side.
   There are kernels for sums, and for states unless products go to the block's. */
static bool takes_whole_results(const gr_exact *self, const gr_exact_params *params, const bins *by) {
    const bool across = gr_magnitude(params->keep.stride[0]) < gr_magnitude(params->along.stride[0]);
    return (self->states ? by != &widest : self->op != GR_OP_dot) && self->blocks == 0 &&
           ((params->results >= WARP && params->count <= FEW_ELEMENTS) ||
            (params->results >= MANY_RESULTS && across));
}

/* How a launch of the kernels takes the elements. */
typedef struct shape {
    const char *file, *suffix; /* parts of the kernel's name: its file, and which of those in it */
    uint32_t threads, across, blocks, shared_bytes;
    uint32_t loads;    /* of a block of the kernels for few elements, whose threads load at once in each */
    uint32_t share;    /* of it, in vectors; see params.h */
    size_t slot_bytes; /* of a result, behind its state */
    bool each;         /* threads make whole results by themselves */
} shape;

/* How many threads and blocks take `vectors` of a result, `turns` of them at once. On an H200 a block that is
   alone is quickest with as few threads as take all at once, and blocks that share a result with as few
   threads as make 64 of them: 2^16 float32 take 2.78 us by 32 blocks of 128, 3.09 by eight of 512; 2^20 take
   4.79 by 256 of 256, 4.04 by 128 of 512. */
static void set_window_grid(const gr_exact *self, const gr_exact_params *params, uint64_t vectors,
                            uint32_t loads, shape *as) {
    const uint64_t max_count = (uint64_t)gr_reference_device.multiprocessors * WINDOW_BLOCKS_PER_SM;
    const bool alone = self->blocks == 0 && (vectors <= (uint64_t)GR_EXACT_WINDOW_THREADS * loads ||
                                             params->results >= gr_reference_device.multiprocessors);
    uint32_t threads = FEW_THREADS;
    while (threads < GR_EXACT_WINDOW_THREADS &&
           vectors > (uint64_t)threads * loads * (alone ? 1 : FEW_BLOCKS))
        threads *= 2;
    as->threads = threads_of(vectors, threads);
    const uint64_t step = (uint64_t)as->threads * loads, worth = gr_ceil_div(vectors, step);
    as->blocks = alone              ? 1
                 : self->blocks > 0 ? self->blocks
                                    : min_u32(worth < 1 ? 1 : worth, (uint32_t)max_count);
    as->loads = (uint32_t)gr_ceil_div(worth, as->blocks);
    as->share = as->loads * (uint32_t)step;
}

/* Vectors of 16 bytes that a thread of the kernels for few elements has on their way. */
static uint32_t loads_in_flight(gr_op op, uint32_t item_bytes, gr_dtype dtype) {
    if (op == GR_OP_dot)
        return item_bytes == 2 ? GR_EXACT_WINDOW_HALF_DOT_LOADS : GR_EXACT_WINDOW_DOT_LOADS;
    return dtype == GR_DTYPE_bf16 ? GR_EXACT_WINDOW_HALF_LOADS : GR_EXACT_WINDOW_LOADS;
}

/* By threads that have registers, around the exponents that a block meets first. False where those would be
   too many elements, or where a test wants the bins. */
static bool shape_window(const gr_exact *self, const gr_exact_params *params, const kind *of, const bins *by,
                         shape *as) {
    const bool pair = self->op == GR_OP_dot;
    const uint64_t width = GR_VECTOR_BYTES / of->item_bytes, vectors = gr_ceil_div(params->count, width);
    if (!(params->flags & GR_EXACT_PACKED) || by == &widest || self->fold > 0 ||
        takes_whole_results(self, params, by) ||
        params->count * of->item_bytes > WINDOW_BYTES / params->results)
        return false;
    set_window_grid(self, params, vectors, loads_in_flight(self->op, of->item_bytes, self->dtype), as);
    if (params->results == 1 && self->blocks == 0 && as->loads > 1)
        return false;
    const bool has_bins = by->words == GR_EXACT_NARROW_WORDS; /* for what is far from the others */
    as->across = (uint32_t)params->results;
    as->shared_bytes = by->words * 8 + (has_bins ? GR_EXACT_NARROW_BINS * 8 * as->threads : 0);
    as->slot_bytes = (size_t)(as->blocks - 1) * GR_EXACT_SLOT_BYTES;
    as->file = "window";
    as->suffix = pair ? "_dot" : "";
    return as->share / as->threads * width <= GR_EXACT_WINDOW_MAX_ELEMENTS;
}

/* By threads that have bins. */
static void shape_bins(const gr_exact *self, const gr_exact_params *params, const kind *of, const bins *by,
                       const gr_device_caps *caps, shape *as) {
    const uint64_t vector = params->flags & GR_EXACT_PACKED ? GR_VECTOR_BYTES / of->item_bytes : 1;
    const uint32_t capacity = (caps->shared_per_block - by->words * 8) / by->bytes; /* threads */
    const bool each = as->each = takes_whole_results(self, params, by);
    as->threads = threads_of(
        each ? params->results : gr_ceil_div(params->count, self->states ? STATE_VECTORS * vector : vector),
        min_u32(capacity, by->max_threads));
    as->blocks = each ? 1 : blocks_of(self, params, as->threads, by->blocks_per_sm);
    as->across = min_u32(each ? gr_ceil_div(params->results, as->threads) : params->results, MAX_GRID_X);
    as->shared_bytes = by->words * 8 + by->bytes * (by->fixed ? by->max_threads : as->threads);
    as->slot_bytes = 0;
    as->file = each ? (self->states ? "states" : "each") : self->op == GR_OP_dot ? "dot" : "sum";
    as->suffix = each && self->op == GR_OP_dot ? "_dot" : "";
}

void gr_exact_plan(const gr_exact *self, const gr_device_caps *caps, gr_program *program) {
    const kind *of = &kinds[self->dtype];
    const bins *by = bins_of(self->op, of, self->dtype);
    gr_exact_params params = params_of(self, of, by);
    shape as = {.suffix = ""};
    if (!shape_window(self, &params, of, by, &as))
        shape_bins(self, &params, of, by, caps, &as);
    params.share = as.share;

    gr_program_begin(program);
    const uint32_t in = gr_program_input(program, 0);
    const bool other = self->layout->has_second && !self->squares;
    const uint32_t second = other ? gr_program_input(program, 1) : in;
    const size_t bytes = self->states ? by->words * 8 : of->item_bytes;
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)params.results * bytes);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = as.across;
    step->grid[1] = as.blocks;
    step->block[0] = as.threads;
    step->shared_bytes = as.shared_bytes;
    const bool hopper = caps->capability >= GR_HOPPER;
    step->pdl = hopper;
    step->kernel.owner = gr_ops[self->op].name;
    GR_KERNEL_NAME(step->kernel.file, "exact_", as.file, hopper ? "" : "_75");
    GR_KERNEL_NAME(step->kernel.entry, "exact_", as.file, as.suffix, "_", of->name);
    gr_program_relocate(program, offsetof(gr_exact_params, in), in);
    if (self->layout->has_second)
        gr_program_relocate(program, offsetof(gr_exact_params, second), second);
    gr_program_relocate(program, offsetof(gr_exact_params, out), out);
    if (as.blocks > 1)
        gr_program_relocate(program, offsetof(gr_exact_params, states),
                            gr_program_buffer(program, GR_BUFFER_ZEROED,
                                              (size_t)params.results * (by->words * 8 + as.slot_bytes)));
}

/* ---- the run ---- */

/* Of elements side by side in memory of the host one result, by kernels that read them there. */
static bool can_zero_copy(const gr_exact *self, const gr_chunked_reduction *reduction) {
    const gr_dims *along = &self->plan->launches[0].params.along;
    const bool pair = self->layout->pair;
    const int64_t item = (int64_t)reduction->item_bytes;
    return self->plan->results == 1 && !self->states && (pair || !self->layout->has_second) &&
           reduction->count * reduction->item_bytes <= GR_EXACT_ZERO_COPY_BYTES && along->extent[1] == 1 &&
           (reduction->count <= 1 ||
            (along->stride[0] == item && (!pair || along->second_stride[0] == item)));
}

gr_status gr_exact_run(gr_device *device, const gr_exact *exact, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    const gr_general_plan *plan = exact->plan;
    const kind *of = &kinds[exact->dtype];
    if (plan->results == 0)
        return GR_OK;
    gr_program *program = gr_program_new(error);
    if (program == NULL)
        return GR_ERR_MEMORY;
    gr_exact_plan(exact, &device->backend->info.caps, program);
    const gr_chunked_reduction reduction = {.inputs = exact->layout->pair && !exact->squares ? 2 : 1,
                                            .item_bytes = of->item_bytes * of->components,
                                            .count = plan->launches[0].params.count};
    const size_t result_bytes = exact->states ? sizeof(int64_t) : reduction.item_bytes;
    const bool direct =
        binding->inputs[0].host != NULL && binding->host_out != NULL && can_zero_copy(exact, &reduction);
    const gr_status status =
        direct ? gr_execute_whole(device, &reduction, program, binding, interrupt, error)
               : gr_execute_small_results(device, program, binding, result_bytes, interrupt, error);
    free(program);
    return status;
}
