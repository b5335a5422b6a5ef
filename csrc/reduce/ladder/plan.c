/* Planner of the reduction ladder: the passes of a rung, each with grid, block, cluster, shared memory and
   the kernel's name, from a request and the reference device. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "reduce/ladder/ladder.h"
#include "reduce/ladder/params.h"

enum { FIXED_GRID = 1024 }; /* max. blocks of a FIXED grid */

/* A later pass of up to this many elements per thread runs as one block: a short pass costs less than
   another launch. */
enum { LAST_PASS_SPAN = 64 };

static int64_t explicit_size(int64_t size) {
    return size == GR_EXPLICIT_ZERO ? 0 : size;
}

static void check_block(const gr_variant *variant, int64_t block, gr_program *program) {
    const char *name = variant->rung.name;
    if (gr_variant_takes_block(variant, block))
        return;
    if (variant->blocks == GR_BLOCKS_NONE) {
        gr_program_fail(program, GR_ERR_VALUE, "block_size: %s chooses its own; leave it None", name);
        return;
    }
    char sizes[256] = "";
    size_t used = 0;
    for (int64_t size = GR_MIN_BLOCK; size <= GR_MAX_BLOCK && used < sizeof sizes; size += 32) {
        if (gr_variant_takes_block(variant, size))
            used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%" PRId64, used ? ", " : "", size);
    }
    gr_program_fail(program, GR_ERR_VALUE, "block_size: %" PRId64 " is not one of the block sizes of %s: %s",
                    explicit_size(block), name, sizes);
}

static void check_grid(const gr_variant *variant, int64_t grid, gr_program *program) {
    if (grid != 0 && !gr_variant_takes_grid(variant))
        gr_program_fail(program, GR_ERR_VALUE,
                        "grid_size: %s takes its grid from the number of elements; leave it None",
                        variant->rung.name);
    if (grid != 0 && (grid < 1 || grid > GR_MAX_GRID))
        gr_program_fail(program, GR_ERR_VALUE, "grid_size: expected 1 to %d blocks, got %" PRId64,
                        GR_MAX_GRID, explicit_size(grid));
}

static uint64_t grid_cap(const gr_variant *variant, uint32_t block) {
    const gr_limits *limits = &gr_reference_device;
    const uint64_t multiprocessors = (uint64_t)limits->multiprocessors * limits->waves;
    switch (variant->grid) {
    case GR_GRID_FIXED:
        return FIXED_GRID;
    case GR_GRID_OCCUPANCY:
        return multiprocessors * (limits->threads_per_multiprocessor / block);
    case GR_GRID_HALF:
        return multiprocessors * (limits->threads_per_multiprocessor / 2 / block);
    case GR_GRID_PER_BLOCK:
    case GR_GRID_NONE:
        break;
    }
    return UINT64_MAX;
}

static uint64_t pass_grid(const gr_request *request, size_t pass, uint64_t n, size_t item_bytes,
                          uint32_t block) {
    const gr_variant *variant = request->variant;
    if (pass == 0 && request->grid != 0)
        return (uint64_t)request->grid;
    if (pass > 0 && variant->grid != GR_GRID_PER_BLOCK && n <= (uint64_t)LAST_PASS_SPAN * block)
        return 1;
    const uint64_t span = variant->span == 16 ? 16 / item_bytes : variant->span;
    const uint64_t whole = gr_ceil_div(n, span * block);
    const uint64_t cap = grid_cap(variant, block);
    if (whole <= 1)
        return 1;
    /* Rounds up to whole clusters if the cap allows the additional blocks. */
    const uint64_t clusters = gr_ceil_div(whole, variant->cluster) * variant->cluster;
    return clusters <= cap ? clusters : whole < cap ? whole : cap;
}

/* The largest power of two that divides the grid, up to the variant's cluster size. */
static uint32_t pass_cluster(const gr_variant *variant, uint64_t grid) {
    uint32_t cluster = variant->cluster;
    while (grid % cluster != 0)
        cluster /= 2;
    return cluster;
}

static uint32_t dynamic_shared(const gr_variant *variant, uint32_t block, size_t partial_bytes) {
    switch (variant->shared) {
    case GR_SHARED_THREAD:
        return block * (uint32_t)partial_bytes;
    case GR_SHARED_RING:
        return block * GR_LADDER_STAGES * GR_LADDER_STAGE_VECTORS * 16;
    case GR_SHARED_STATIC:
        break;
    }
    return 0;
}

static void name_kernel(const gr_request *request, gr_dtype dtype, bool of_indexed, uint32_t block,
                        gr_kernel_id *out) {
    const gr_rung *rung = &request->variant->rung;
    char suffix[16] = "";
    if (rung->entry == GR_ENTRY_TEMPLATE)
        snprintf(suffix, sizeof suffix, "_b%u", (unsigned)block);
    out->owner = rung->name;
    GR_KERNEL_NAME(out->file, rung->file);
    GR_KERNEL_NAME(out->entry, rung->name, "_", gr_ops[request->op].name, "_", gr_dtypes[dtype].name,
                   of_indexed ? "_places" : "", suffix);
}

/* The library chooses its own grid. */
static void plan_library(const gr_request *request, uint32_t in, uint32_t out, gr_program *program) {
    const gr_cub_call call = {.n = request->n};
    gr_step *step = gr_program_step(program, GR_STEP_LIBRARY, &call, sizeof call);
    name_kernel(request, request->dtype, false, 0, &step->kernel);
    gr_program_relocate(program, offsetof(gr_cub_call, in), in);
    gr_program_relocate(program, offsetof(gr_cub_call, out), out);
}

/* Appends a pass over n elements of `dtype`, or pairs of a position and such an element. */
static gr_step *plan_pass(const gr_request *request, uint64_t n, uint32_t grid, uint32_t block,
                          size_t partial_bytes, uint32_t in, uint32_t out, gr_program *program) {
    const gr_variant *variant = request->variant;
    const bool single = variant->output == GR_OUTPUT_LAST;
    const gr_ladder_params params = {.n = n};
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params,
                                    single ? sizeof params : offsetof(gr_ladder_params, block_sums));
    step->grid[0] = grid;
    step->block[0] = block;
    step->cluster[0] = pass_cluster(variant, grid);
    step->shared_bytes = dynamic_shared(variant, block, partial_bytes);
    gr_program_relocate(program, offsetof(gr_ladder_params, in), in);
    gr_program_relocate(program, offsetof(gr_ladder_params, out), out);
    if (single) {
        const uint32_t sums = gr_program_buffer(program, GR_BUFFER_TEMPORARY, grid * partial_bytes);
        const uint32_t ticket = gr_program_buffer(program, GR_BUFFER_ZEROED, sizeof(uint32_t));
        gr_program_relocate(program, offsetof(gr_ladder_params, block_sums), sums);
        gr_program_relocate(program, offsetof(gr_ladder_params, ticket), ticket);
    }
    return step;
}

static void plan_passes(const gr_request *request, uint32_t block, uint32_t in, uint32_t out,
                        gr_program *program) {
    const gr_variant *variant = request->variant;
    const bool is_index = gr_ops[request->op].result == GR_RESULT_INDEX;
    gr_dtype dtype = request->dtype;
    uint64_t n = request->n;
    bool last = false;
    for (size_t pass = 0; !last; ++pass) {
        const size_t partial_bytes = gr_op_partial_bytes(request->op, dtype);
        const bool of_indexed = pass > 0 && is_index;
        const size_t item_bytes = of_indexed ? partial_bytes : gr_dtypes[dtype].item_bytes;
        const uint64_t grid = pass_grid(request, pass, n, item_bytes, block);
        if (grid > GR_MAX_GRID) {
            gr_program_fail(program, GR_ERR_VALUE,
                            "a: %" PRIu64 " elements need %" PRIu64
                            " blocks of %u threads in %s; a grid has at most %d",
                            n, grid, (unsigned)block, variant->rung.name, GR_MAX_GRID);
            return;
        }
        last = grid == 1 || variant->output != GR_OUTPUT_PARTIALS;
        const uint32_t to =
            last ? out : gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)grid * partial_bytes);
        gr_step *step = plan_pass(request, n, (uint32_t)grid, block, partial_bytes, in, to, program);
        name_kernel(request, dtype, of_indexed, block, &step->kernel);
        dtype = gr_op_partial(request->op, dtype);
        n = grid;
        in = to;
    }
}

void gr_ladder_plan(const gr_request *request, gr_program *program) {
    const gr_variant *variant = request->variant;
    const int64_t block = request->block != 0 ? request->block : gr_variant_default_block(variant);
    check_block(variant, block, program);
    check_grid(variant, request->grid, program);
    if (program->status != GR_OK)
        return;
    const size_t bytes = gr_op_partial_bytes(request->op, request->dtype);
    const uint32_t in = gr_program_input(program, 0);
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes);
    if (variant->rung.entry == GR_ENTRY_LIBRARY) {
        plan_library(request, in, out, program);
        return;
    }
    if (variant->output == GR_OUTPUT_ATOMIC) {
        const gr_scalar identity = gr_op_identity(request->op, gr_op_partial(request->op, request->dtype));
        gr_program_step(program, GR_STEP_MEMCPY_INLINE, &identity, bytes)->buffer = out;
    }
    plan_passes(request, (uint32_t)block, in, out, program);
}
