#include "matmul/tiles.h"

#include <string.h>

#include "base/limits.h"

enum {
    RATES = 4,
    MOST_SLICES = 256,
    LEAST_PART = 4, /* steps, below which a slice is not worth its sum */
};

typedef struct shape {
    const char *rung;
    gr_dtype dtype;
    uint32_t rows, columns, threads, room;
    uint32_t start;          /* cycles of a wave that are not for products */
    uint32_t percent[RATES]; /* with 1, 2, 4, 8 blocks a multiprocessor */
} shape;

static const shape shapes[] = {
#define GR_TILE(rung, dtype, rows, columns, threads, room, start, one, two, four, eight)                     \
    {#rung, GR_DTYPE_##dtype, rows, columns, threads, room, start, {one, two, four, eight}},
#include "matmul/tiles.def"
#undef GR_TILE
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* How k is divided. */
typedef struct division {
    uint32_t parts, slices;
} division;

static uint64_t count_tiles(const gr_matmul *self, const shape *of) {
    return gr_matmul_count(self->stack) * gr_ceil_div(self->m, of->rows) * gr_ceil_div(self->n, of->columns);
}

/* The cycles that blocks take which a multiprocessor has at once, with so many products for each lane. */
static double wave(const shape *of, uint64_t blocks, double products) {
    int rate = 0;
    while (rate + 1 < RATES && blocks >= (uint64_t)2 << rate)
        ++rate;
    return blocks == 0 ? 0 : (double)blocks * 100 / of->percent[rate] * products + of->start;
}

/* How long it takes, in cycles, if a multiprocessor gets so many blocks. To bring parts together costs SPLIT
   for each time that they double and something for each element, and another kernel that adds up slices SUM
   (64 x 64 x 65536 takes 25.6 us in 128 slices, of cuBLAS 30.4). Slices have their elements from memory, so
   that a multiprocessor with a single block waits for them. */
static double duration(const shape *of, uint64_t blocks, uint64_t steps, division by) {
    enum { SPLIT = 740, SUM = 5000, LANES = 128 };
    const double weight = of->dtype == GR_DTYPE_c64 ? 4 : 1;
    const uint64_t each = gr_ceil_div(steps, (uint64_t)by.parts * by.slices);
    const double products = weight * of->rows * of->columns / LANES * (double)(each * GR_MATMUL_STEP) *
                            (by.slices > 1 && blocks == 1 ? 1.7 : 1);
    const double waves =
        (double)(blocks / of->room) * wave(of, of->room, products) + wave(of, blocks % of->room, products);
    const double elements = weight * (double)(blocks * of->rows * of->columns);
    double together = by.parts > 1 ? 0.25 * elements : by.slices > 1 ? SUM + 1.5 * elements : 0;
    for (uint32_t parts = by.parts; parts > 1; parts /= 2)
        together += SPLIT * weight;
    return waves + together;
}

/* Whether it is worth looking at: each part has a step, and clusters leave room for one another. Slices are
   for few tiles, have steps enough, and blocks of their own. */
static bool is_sensible(const shape *of, uint64_t blocks, uint64_t steps, division by) {
    if (by.slices > 1)
        return by.parts == 1 && blocks <= of->room && by.slices * LEAST_PART <= steps;
    return by.parts == 1 || (by.parts <= steps && 4 * blocks <= 3 * of->room);
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

gr_matmul_tiling gr_matmul_tile(const gr_matmul *self, const gr_matmul_variant *variant) {
    const uint64_t steps = gr_ceil_div(self->k, GR_MATMUL_STEP);
    const shape *best = NULL;
    division how = {1, 1};
    double least = 0;
    for (size_t i = 0; i < SHAPES; ++i) {
        const shape *of = &shapes[i];
        if (of->dtype != self->dtype || (variant != NULL && strcmp(variant->rung.name, of->rung) != 0))
            continue;
        const uint32_t most = find(of->rung)->cluster, slices = most > 1 ? MOST_SLICES : 1;
        const uint64_t tiles = count_tiles(self, of);
        for (division by = {1, 1}; by.parts <= most; by.parts *= 2) {
            for (by.slices = 1; by.slices <= slices; by.slices *= 2) {
                const uint64_t blocks =
                    gr_ceil_div(tiles * by.parts * by.slices, gr_reference_limits.multiprocessors);
                if (!is_sensible(of, blocks, steps, by))
                    break;
                const double time = duration(of, blocks, steps, by);
                if (best == NULL || time < least) {
                    best = of;
                    how = by;
                    least = time;
                }
            }
        }
    }
    return (gr_matmul_tiling){find(best->rung), best->rows, best->columns,
                              best->threads,    how.parts,  how.slices};
}
