/* The tile shapes of m9 and m10 (tiles.def) and their cost model, which also chooses how to split k: by
   blocks of a cluster, or by slices of the grid with a second kernel that adds up. */
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"

enum {
    MAX_SLICES = 256,
    MIN_STEPS = 4, /* minimum of k-tiles per slice */
};

typedef struct shape {
    const char *rung;
    gr_dtype dtype;
    uint32_t rows, columns, threads, blocks_per_sm;
    uint32_t overhead;                 /* cycles per wave without multiply-adds: prologue and epilogue */
    uint32_t percent[GR_MATMUL_RATES]; /* see gr_matmul_wave */
} shape;

static const shape shapes[] = {
#define GR_TILE(rung, dtype, rows, columns, threads, blocks_per_sm, overhead, one, two, four, eight)         \
    {#rung, GR_DTYPE_##dtype, rows, columns, threads, blocks_per_sm, overhead, {one, two, four, eight}},
#include "matmul/tiles.def"
#undef GR_TILE
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* How k is split: each block of a cluster takes a part, or each slice of the grid; or a block takes `rounds`
   parts, one after the other. */
typedef struct division {
    uint32_t cluster, slices, rounds;
} division;

static uint64_t count_tiles(const gr_matmul *self, const shape *of) {
    return gr_matmul_stack_count(self->stack) * gr_ceil_div(self->m, of->rows) *
           gr_ceil_div(self->n, of->columns);
}

double gr_matmul_wave(const uint32_t percent[GR_MATMUL_RATES], uint64_t blocks) {
    int rate = 0;
    while (rate + 1 < GR_MATMUL_RATES && blocks >= (uint64_t)2 << rate)
        ++rate;
    return (double)blocks * 100 / percent[rate];
}

/* Returns the cycles of `blocks` resident blocks per SM with `products` multiply-adds per lane. */
static double wave(const shape *of, uint64_t blocks, double products) {
    return blocks == 0 ? 0 : gr_matmul_wave(of->percent, blocks) * products + of->overhead;
}

/* Returns the estimated cycles with `blocks` blocks per SM. The reduction in a cluster costs CLUSTER_SUM per
   doubling and a term per element; the kernel that adds up slices costs SLICE_SUM and a term per element (64
   x 64 x 65536 takes 25.6 us in 128 slices, 30.4 in cuBLAS; H200). Slices read from device memory, so that an
   SM with a single block stalls. */
static double duration(const shape *of, uint64_t blocks, uint64_t steps, division by) {
    enum { CLUSTER_SUM = 740, SLICE_SUM = 5000, LANES = 128 };
    const double weight = of->dtype == GR_DTYPE_c64 ? 4 : 1;
    const uint64_t each = gr_ceil_div(steps, (uint64_t)by.cluster * by.slices);
    const double products = weight * of->rows * of->columns / LANES * (double)(each * GR_MATMUL_TILE_K) *
                            (by.slices > 1 && blocks == 1 ? 1.7 : 1);
    const double waves = (double)(blocks / of->blocks_per_sm) * wave(of, of->blocks_per_sm, products) +
                         wave(of, blocks % of->blocks_per_sm, products);
    const double elements = weight * (double)(blocks * of->rows * of->columns);
    double combine = by.cluster > 1  ? 0.25 * elements
                     : by.slices > 1 ? SLICE_SUM + 1.5 * elements
                                     : 0.2 * (by.rounds - 1) * elements;
    for (uint32_t cluster = by.cluster; cluster > 1; cluster /= 2)
        combine += CLUSTER_SUM * weight;
    return waves + combine;
}

/* Returns whether a split is a candidate. In a cluster each block needs a k-tile, and clusters must fit next
   to each other. Slices need few tiles, enough k-tiles each, and no cluster. */
static bool is_sensible(const shape *of, uint64_t blocks, uint64_t steps, division by) {
    if (by.slices > 1)
        return by.cluster == 1 && blocks <= of->blocks_per_sm && by.slices * MIN_STEPS <= steps;
    return by.cluster == 1 || (by.cluster <= steps && blocks <= of->blocks_per_sm);
}

bool gr_matmul_has_tiles(const gr_matmul_variant *variant) {
    for (size_t i = 0; variant != NULL && i < SHAPES; ++i) {
        if (strcmp(variant->rung.name, shapes[i].rung) == 0)
            return true;
    }
    return false;
}

static const gr_matmul_variant *find(const char *name) {
    const gr_matmul_variant *found = gr_matmul_variants;
    while (strcmp(found->rung.name, name) != 0)
        ++found;
    return found;
}

/* A search for the tile shape and the split of k with the smallest estimated time. */
typedef struct search {
    const gr_matmul *self;
    const gr_matmul_variant *variant; /* whose tile shapes are candidates; NULL: all */
    uint32_t parts;                   /* of k, which the split must have; 0: any number */
    const shape *best;
    division by;
    double time;
} search;

/* Returns whether a tile shape is a candidate. In the fixed order of k the tiles of few rows, and they alone,
   are for few rows, if they can read B by vectors: such products are bound by memory, whose time is not in
   the model (H200: 2 x 5981 x 509, whose B has odd rows, takes 26.2 us in tiles of few rows and 15.0 in
   others). */
static bool is_candidate(const search *of, const shape *tile) {
    enum { FEW = 4 * GR_MATMUL_FEW_ROWS };
    const gr_matmul *self = of->self;
    const bool of_few_rows = tile->rows == GR_MATMUL_FEW_ROWS;
    const bool has_few_rows =
        of->parts > 0 && self->m < FEW && (self->dtype != GR_DTYPE_f32 || gr_matmul_reads_b_by_vectors(self));
    return tile->dtype == self->dtype &&
           (of->variant == NULL || strcmp(of->variant->rung.name, tile->rung) == 0) &&
           of_few_rows == has_few_rows;
}

/* Returns whether a product is smaller than a tile, so that a kernel that checks every element computes it.
 */
static bool needs_checks(const gr_matmul *self, const shape *tile) {
    return tile->rows != GR_MATMUL_FEW_ROWS && (self->m < tile->rows || self->n < tile->columns);
}

static void consider(search *of, const shape *tile, division by) {
    /* A kernel that checks takes this many times as long (H200: 51 x 4096 x 6942 takes 181 us in tiles of 64
       rows and 135 us in tiles of 32). */
    const double CHECKS = 1.5;
    const uint64_t steps = gr_ceil_div(of->self->k, GR_MATMUL_TILE_K);
    const uint64_t blocks = gr_ceil_div(count_tiles(of->self, tile) * by.cluster * by.slices,
                                        gr_reference_device.multiprocessors);
    if (!is_sensible(tile, blocks, steps, by))
        return;
    const double time = duration(tile, blocks, steps, by) * (needs_checks(of->self, tile) ? CHECKS : 1);
    if (of->best != NULL && time >= of->time)
        return;
    of->best = tile;
    of->by = by;
    of->time = time;
}

gr_matmul_tiling gr_matmul_choose_tiling(const gr_matmul *self, const gr_matmul_variant *variant) {
    const bool is_invariant = self->batch_invariant && variant == NULL;
    search found = {
        .self = self, .variant = variant, .parts = is_invariant ? gr_matmul_invariant_parts(self) : 0};
    for (size_t i = 0; i < SHAPES; ++i) {
        if (!is_candidate(&found, &shapes[i]))
            continue;
        const uint32_t max_cluster = find(shapes[i].rung)->cluster, parts = found.parts;
        consider(&found, &shapes[i], (division){1, 1, (uint32_t)gr_max(parts, 1)});
        for (uint32_t cluster = 2; cluster <= max_cluster; cluster *= 2)
            if (parts == 0 || cluster == parts)
                consider(&found, &shapes[i], (division){cluster, 1, 1});
        for (uint32_t slices = 2; max_cluster > 1 && slices <= MAX_SLICES; slices *= 2)
            if (parts == 0 || slices == parts)
                consider(&found, &shapes[i], (division){1, slices, 1});
    }
    const shape *best = found.best;
    const double CYCLES_PER_US = 1755;
    return (gr_matmul_tiling){.variant = find(best->rung),
                              .rows = best->rows,
                              .columns = best->columns,
                              .threads = best->threads,
                              .cluster = found.by.cluster,
                              .slices = found.by.slices,
                              .rounds = found.by.rounds,
                              .us = found.time / CYCLES_PER_US};
}
