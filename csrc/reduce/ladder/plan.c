#include "reduce/ladder/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reduce/ladder/params.h"

const gr_limits gr_reference_limits = {
    .multiprocessors = 132, .threads_per_multiprocessor = 2048, .waves = 1};

/* A later pass whose threads would each take no more than this many elements runs as one block: one short
   pass costs less than the launch of another. */
enum { LAST_PASS_SPAN = 64 };

static gr_status check_block(const gr_variant *variant, int64_t block, gr_error *error) {
    if (gr_variant_takes_block(variant, block))
        return GR_OK;
    if (variant->blocks == GR_BLOCKS_NONE)
        return gr_fail(error, GR_ERR_VALUE, "block_size: %s chooses its own; leave it None", variant->name);
    char sizes[256] = "";
    size_t used = 0;
    for (int64_t size = GR_MIN_BLOCK; size <= GR_MAX_BLOCK && used < sizeof sizes; size += 32) {
        if (gr_variant_takes_block(variant, size))
            used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%" PRId64, used ? ", " : "", size);
    }
    return gr_fail(error, GR_ERR_VALUE, "block_size: %" PRId64 " is not one of the block sizes of %s: %s",
                   block, variant->name, sizes);
}

static gr_status check_grid(const gr_variant *variant, int64_t grid, gr_error *error) {
    if (grid == 0)
        return GR_OK;
    if (!gr_variant_takes_grid(variant))
        return gr_fail(error, GR_ERR_VALUE,
                       "grid_size: %s takes its grid from the number of elements; leave it None",
                       variant->name);
    if (grid < 1 || grid > GR_MAX_GRID)
        return gr_fail(error, GR_ERR_VALUE, "grid_size: expected 1 to %d blocks, got %" PRId64, GR_MAX_GRID,
                       grid);
    return GR_OK;
}

static uint64_t grid_cap(const gr_variant *variant, uint32_t block, const gr_limits *limits) {
    const uint64_t multiprocessors = (uint64_t)limits->multiprocessors * limits->waves;
    switch (variant->grid) {
    case GR_GRID_FIXED:
        return GR_FIXED_GRID;
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
                          uint32_t block, const gr_limits *limits) {
    const gr_variant *variant = request->variant;
    if (pass == 0 && request->grid != 0)
        return (uint64_t)request->grid;
    if (pass > 0 && variant->grid != GR_GRID_PER_BLOCK && n <= (uint64_t)LAST_PASS_SPAN * block)
        return 1;
    const uint64_t span = variant->span == 16 ? 16 / item_bytes : variant->span;
    const uint64_t whole = gr_ceil_div(n, span * block);
    const uint64_t cap = grid_cap(variant, block, limits);
    if (whole <= 1)
        return 1;
    /* Whole clusters, where there is room for the blocks that this adds. */
    const uint64_t clusters = gr_ceil_div(whole, variant->cluster) * variant->cluster;
    return clusters <= cap ? clusters : whole < cap ? whole : cap;
}

/* The largest power of two that divides the grid, up to what the variant makes of it. */
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

/* What the block that finishes last makes of the results of all. */
static void plan_single_pass(gr_plan *plan, size_t partial_bytes) {
    plan->single_pass = true;
    plan->partials_bytes[0] = partial_bytes;
    plan->partials_bytes[1] = plan->passes[0].grid * partial_bytes;
    plan->count = 1;
}

/* The library divides the work by itself. */
static void plan_library(const gr_request *request, gr_plan *plan) {
    plan->count = 1;
    plan->passes[0].n = request->n;
    gr_variant_kernel_name(request->variant, request->op, request->dtype, false, 0, plan->passes[0].kernel);
    plan->partials_bytes[0] = gr_op_partial_bytes(request->op, request->dtype);
}

gr_status gr_plan_make(const gr_request *request, const gr_limits *limits, gr_plan *plan, gr_error *error) {
    const gr_variant *variant = request->variant;
    const int64_t asked = request->block != 0 ? request->block : gr_variant_default_block(variant);
    gr_status status = check_block(variant, asked, error);
    if (status == GR_OK)
        status = check_grid(variant, request->grid, error);
    if (status != GR_OK)
        return status;

    memset(plan, 0, sizeof *plan);
    if (variant->entry == GR_ENTRY_LIBRARY) {
        plan_library(request, plan);
        return GR_OK;
    }
    const uint32_t block = (uint32_t)asked;
    plan->starts_from_identity = variant->output == GR_OUTPUT_ATOMIC;
    gr_dtype dtype = request->dtype;
    uint64_t n = request->n;
    do {
        const size_t partial_bytes = gr_op_partial_bytes(request->op, dtype);
        const bool of_places = plan->count > 0 && gr_ops[request->op].result == GR_RESULT_PLACE;
        const size_t item_bytes = of_places ? partial_bytes : gr_dtypes[dtype].item_bytes;
        const uint64_t grid = pass_grid(request, plan->count, n, item_bytes, block, limits);
        if (grid > GR_MAX_GRID || plan->count == GR_MAX_PASSES)
            return gr_fail(error, GR_ERR_VALUE,
                           "a: %" PRIu64 " elements need %" PRIu64
                           " blocks of %u threads in %s; a grid has at most %d",
                           n, grid, (unsigned)block, variant->name, GR_MAX_GRID);
        gr_pass *pass = &plan->passes[plan->count];
        gr_variant_kernel_name(variant, request->op, dtype, of_places, block, pass->kernel);
        pass->n = n;
        pass->grid = (uint32_t)grid;
        pass->block = block;
        pass->cluster = pass_cluster(variant, grid);
        pass->shared_bytes = dynamic_shared(variant, block, partial_bytes);
        if (variant->output == GR_OUTPUT_LAST) {
            plan_single_pass(plan, partial_bytes);
            return GR_OK;
        }

        n = variant->output == GR_OUTPUT_ATOMIC ? 1 : grid;
        size_t *room = &plan->partials_bytes[plan->count % 2];
        if (*room < n * partial_bytes)
            *room = n * partial_bytes;
        dtype = gr_op_partial(request->op, dtype);
        ++plan->count;
    } while (n > 1);
    return GR_OK;
}
