/* Planner of exact sums: chooses between window kernels (few elements, accumulators in registers) and bins
   (accumulators by exponent in shared memory), and their threads, blocks and states. */
#include "exact/exact.h"

#include <stddef.h>
#include <string.h>

#include "base/limits.h"

enum {
    WARP = 32,
    MAX_GRID_X = 2048,   /* max. blocks along x, which loop over the results */
    FEW_ELEMENTS = 64,   /* elements per result up to which one thread sums them */
    MANY_RESULTS = 8192, /* results from which one thread per result fills the device */
    STATE_VECTORS = 8,   /* vectors per thread for states: folds of fewer threads are faster */
    /* Per thread of a block that shares a result. On an H200 dot products of 2^16 float64 take 11.9 us with
       8, 14.0 with 32, as folds cost less than combining blocks. */
    THREAD_ELEMENTS = 8,
    /* Max. bytes of the window kernels. For a single result they must also have all loads in flight at once:
       2^22 float32 take 13.6 us in several iterations, 10.2 us by bins, whose time does not depend on the
       values. */
    WINDOW_BYTES = 1 << 25,
    FEW_THREADS = 128,        /* threads per block of the window kernels, at first */
    FEW_BLOCKS = 64,          /* blocks per result with so few threads */
    WINDOW_BLOCKS_PER_SM = 2, /* blocks of the window kernels that an SM holds at once */
};

/* Properties of a dtype. */
typedef struct kind {
    const char *name;    /* dtype in the kernels' names */
    uint32_t item_bytes; /* bytes per component of an element */
    uint32_t components; /* components per element: 2 if complex */
} kind;

static const kind kinds[GR_DTYPE_COUNT] = {
    [GR_DTYPE_f32] = {"f32", 4, 1},   [GR_DTYPE_f64] = {"f64", 8, 1}, [GR_DTYPE_f16] = {"f16", 2, 1},
    [GR_DTYPE_bf16] = {"bf16", 2, 1}, [GR_DTYPE_c64] = {"f32", 4, 2}, [GR_DTYPE_c128] = {"f64", 8, 2},
};

/* Properties of accumulators: see exact/bins.cuh. */
typedef struct bins {
    gr_exact_size size;     /* of a state */
    uint32_t max_threads;   /* per block */
    uint32_t blocks_per_sm; /* blocks that an SM holds at once, by registers and shared memory */
    uint32_t bytes;         /* bytes of bins per thread */
} bins;

enum { NARROW, HALF, WIDE, PRODUCTS, WIDEST };

#define SIZE(kind)                                                                                           \
    { GR_EXACT_##kind##_WORDS, GR_EXACT_##kind##_BELOW }
static const bins all_bins[] = {
    [NARROW] = {SIZE(NARROW), GR_EXACT_THREADS, 4, GR_EXACT_NARROW_BINS * 8},
    [HALF] = {SIZE(NARROW), GR_EXACT_HALF_THREADS, 2, GR_EXACT_HALF_BYTES},
    [WIDE] = {SIZE(WIDE), GR_EXACT_WIDE_THREADS, 1, GR_EXACT_WIDE_BINS * 16},
    [PRODUCTS] = {SIZE(WIDE), GR_EXACT_WIDE_THREADS, GR_EXACT_PRODUCT_BLOCKS_PER_SM,
                  GR_EXACT_PRODUCT_BINS * 16},
    [WIDEST] = {SIZE(WIDEST), GR_EXACT_WIDE_THREADS, 1, GR_EXACT_WIDE_BINS * 16},
};
#undef SIZE

static const bins *bins_of(gr_op op, const kind *of, gr_dtype dtype) {
    const bool is_double = of->item_bytes == 8;
    if (gr_op_is_pair(op))
        return &all_bins[is_double ? WIDEST : PRODUCTS];
    return &all_bins[is_double ? WIDE : dtype == GR_DTYPE_bf16 ? HALF : NARROW];
}

static bool is_narrow(const bins *by) {
    return by->size.words == GR_EXACT_NARROW_WORDS;
}

bool gr_exact_takes(gr_op op, gr_dtype dtype) {
    return gr_op_has(op, GR_HAS_EXACT) && kinds[dtype].components > 0;
}

gr_exact_size gr_exact_state_size(gr_op op, gr_dtype dtype, uint32_t *parts) {
    *parts = kinds[dtype].components;
    return bins_of(op, &kinds[dtype], dtype)->size;
}

/* Whether the elements of a result are contiguous, `item` bytes each, and all of them count. */
static bool is_contiguous(const gr_exact *self, int64_t item) {
    const gr_dims *along = &self->plan->launches[0].params.along;
    const bool pair = self->layout->pair;
    return (pair || !self->layout->has_second) && along->extent[1] == 1 &&
           (along->extent[0] <= 1 ||
            (along->stride[0] == item && (!pair || along->second_stride[0] == item)));
}

/* Whole warps with a thread per element. */
static uint32_t threads_of(uint64_t elements, uint32_t max_count) {
    return (uint32_t)gr_min(gr_ceil_div(gr_max(elements, 1), WARP), max_count / WARP) * WARP;
}

/* Blocks per result: enough to fill the device, as long as each has enough elements. */
static uint32_t blocks_of(const gr_exact *self, const gr_exact_params *params, uint32_t threads,
                          uint32_t blocks_per_sm) {
    if (self->blocks > 0)
        return self->blocks;
    const uint64_t filling =
        gr_ceil_div((uint64_t)gr_reference_device.multiprocessors * blocks_per_sm, params->results);
    const uint64_t worth = gr_ceil_div(params->count, (uint64_t)threads * THREAD_ELEMENTS);
    return (uint32_t)gr_max(gr_min(filling, worth), 1);
}

static gr_exact_params params_of(const gr_exact *self, const kind *of, const bins *by) {
    const gr_general_params *plan = &self->plan->launches[0].params;
    const uint32_t max_fold = is_narrow(by) ? GR_EXACT_NARROW_FOLD : GR_EXACT_WIDE_FOLD;
    const bool pair = self->layout->pair;
    gr_exact_params params = {
        .results = plan->results * of->components,
        .count =
            plan->count * (pair ? of->components : 1), /* two products per component of a complex product */
        .keep = plan->keep,
        .along = plan->along,
        .flags = (gr_op_is_mean(self->op) ? GR_EXACT_MEAN : 0u) |
                 (self->layout->has_second && !pair ? GR_EXACT_MASKED : 0u) |
                 (of->components == 1 && is_contiguous(self, of->item_bytes) ? GR_EXACT_PACKED : 0u) |
                 (self->states ? GR_EXACT_STATES : 0u),
        .fold = self->fold > 0 && self->fold < max_fold ? self->fold : max_fold,
        .components = of->components,
    };
    if (self->initial != NULL)
        memcpy(params.initial, self->initial, of->item_bytes * of->components);
    return params;
}

/* Whether each thread sums whole results: few elements per result, or neighbouring results are contiguous.
   Sums have such kernels, and states unless they are of the widest size. */
static bool takes_whole_results(const gr_exact *self, const gr_exact_params *params, const bins *by) {
    const bool across = gr_magnitude(params->keep.stride[0]) < gr_magnitude(params->along.stride[0]);
    return (self->states ? by != &all_bins[WIDEST] : !gr_op_is_pair(self->op)) && self->blocks == 0 &&
           ((params->results >= WARP && params->count <= FEW_ELEMENTS) ||
            (params->results >= MANY_RESULTS && across));
}

/* Launch shape. */
typedef struct shape {
    const char *file, *suffix; /* parts of the kernel's name */
    uint32_t threads, across, blocks, shared_bytes;
    uint32_t loads;    /* iterations of a block of the window kernels, each with all loads in flight */
    uint32_t share;    /* vectors per block: see params.h */
    size_t slot_bytes; /* bytes per result, after its state */
    bool each;         /* each thread sums whole results */
} shape;

/* Sets threads and blocks for `vectors` vectors per result, with `loads` of them per thread in flight. On an
   H200 a single block is fastest with as few threads as have all loads in flight at once, and blocks that
   share a result with as few threads as make 64 blocks: 2^16 float32 take 2.78 us by 32 blocks of 128, 3.09
   by eight of 512; 2^20 take 4.79 by 256 of 256, 4.04 by 128 of 512. */
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
    as->blocks = alone ? 1 : self->blocks > 0 ? self->blocks : (uint32_t)gr_min(gr_max(worth, 1), max_count);
    as->loads = (uint32_t)gr_ceil_div(worth, as->blocks);
    as->share = as->loads * (uint32_t)step;
}

/* 16-byte loads of a thread of the window kernels in flight. */
static uint32_t loads_in_flight(gr_op op, uint32_t item_bytes, gr_dtype dtype) {
    if (gr_op_is_pair(op))
        return item_bytes == 2 ? GR_EXACT_WINDOW_HALF_DOT_LOADS : GR_EXACT_WINDOW_DOT_LOADS;
    return dtype == GR_DTYPE_bf16 ? GR_EXACT_WINDOW_HALF_LOADS : GR_EXACT_WINDOW_LOADS;
}

/* Window kernels: accumulators in registers, around the exponents that a block reads first. Returns false if
   there are too many elements, or if a test requires bins. */
static bool shape_window(const gr_exact *self, const gr_exact_params *params, const kind *of, const bins *by,
                         shape *as) {
    const bool pair = gr_op_is_pair(self->op);
    const uint64_t width = GR_VECTOR_BYTES / of->item_bytes, vectors = gr_ceil_div(params->count, width);
    if (!(params->flags & GR_EXACT_PACKED) || by == &all_bins[WIDEST] || self->fold > 0 ||
        takes_whole_results(self, params, by) ||
        params->count * of->item_bytes > WINDOW_BYTES / params->results)
        return false;
    set_window_grid(self, params, vectors, loads_in_flight(self->op, of->item_bytes, self->dtype), as);
    if (params->results == 1 && self->blocks == 0 && as->loads > 1)
        return false;
    as->across = (uint32_t)params->results;
    as->shared_bytes = by->size.words * 8;
    as->slot_bytes = (size_t)(as->blocks - 1) * GR_EXACT_SLOT_BYTES;
    as->file = "window";
    as->suffix = pair ? "_dot" : "";
    return as->share / as->threads * width <= GR_EXACT_WINDOW_MAX_ELEMENTS;
}

/* Bins by exponent, in shared memory. */
static void shape_bins(const gr_exact *self, const gr_exact_params *params, const kind *of, const bins *by,
                       const gr_device_caps *caps, shape *as) {
    const uint64_t vector = params->flags & GR_EXACT_PACKED ? GR_VECTOR_BYTES / of->item_bytes : 1;
    const uint32_t capacity =
        (caps->shared_per_block - by->size.words * 8) / by->bytes; /* threads whose bins fit shared memory */
    const bool each = as->each = takes_whole_results(self, params, by);
    as->threads = threads_of(
        each ? params->results : gr_ceil_div(params->count, self->states ? STATE_VECTORS * vector : vector),
        (uint32_t)gr_min(capacity, by->max_threads));
    as->blocks = each ? 1 : blocks_of(self, params, as->threads, by->blocks_per_sm);
    as->across =
        (uint32_t)gr_min(each ? gr_ceil_div(params->results, as->threads) : params->results, MAX_GRID_X);
    as->shared_bytes = by->size.words * 8 + by->bytes * (is_narrow(by) ? by->max_threads : as->threads);
    as->slot_bytes = 0;
    as->file = each ? (self->states ? "states" : "each") : gr_op_is_pair(self->op) ? "dot" : "sum";
    as->suffix = each && gr_op_is_pair(self->op) ? "_dot" : "";
}

void gr_exact_plan(const void *request, gr_device *device, gr_program *program) {
    const gr_exact *self = request;
    const gr_device_caps *caps = &device->backend->info.caps;
    const kind *of = &kinds[self->dtype];
    const bins *by = bins_of(self->op, of, self->dtype);
    gr_exact_params params = params_of(self, of, by);
    shape as = {.suffix = ""};
    if (!shape_window(self, &params, of, by, &as))
        shape_bins(self, &params, of, by, caps, &as);
    params.share = as.share;

    const size_t element_bytes = of->item_bytes * of->components;
    program->result_bytes = self->states ? sizeof(int64_t) : element_bytes;
    if (self->plan->results == 1 && !self->states && is_contiguous(self, (int64_t)element_bytes))
        program->input_bytes = (size_t)self->plan->launches[0].params.count * element_bytes;
    const uint32_t in = gr_program_input(program, 0);
    const bool other = self->layout->has_second && !self->squares;
    const uint32_t second = other ? gr_program_input(program, 1) : in;
    const size_t bytes = self->states ? by->size.words * 8 : of->item_bytes;
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
                                              (size_t)params.results * (by->size.words * 8 + as.slot_bytes)));
}

gr_status gr_exact_run(gr_device *device, const gr_exact *exact, const gr_binding *binding,
                       const gr_interrupt *interrupt, gr_error *error) {
    return exact->plan->results == 0
               ? GR_OK
               : gr_execute_request(device, gr_exact_plan, exact, binding, interrupt, error);
}
