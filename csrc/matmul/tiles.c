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

/* How long it takes, in cycles, if a multiprocessor gets so many blocks; to bring parts together costs SPLIT
   and something for each element, and another kernel that adds up slices SUM. Slices have their elements from
   memory, so that a multiprocessor with a single block waits for them. */
static double duration(const shape *of, uint64_t blocks, uint64_t steps, division by) {
    enum { SPLIT = 2100, SUM = 5000, LANES = 128 };
    const bool sliced = by.slices > 1;
    const uint64_t each = gr_ceil_div(steps, (uint64_t)by.parts * by.slices);
    const double products = (double)of->rows * of->columns / LANES * (sliced && blocks == 1 ? 1.7 : 1) *
                            (double)(each * GR_MATMUL_STEP * (of->dtype == GR_DTYPE_c64 ? 4 : 1));
    const double waves =
        (double)(blocks / of->room) * wave(of, of->room, products) + wave(of, blocks % of->room, products);
    const double elements = (double)(blocks * of->rows * of->columns);
    double together = by.parts > 1 ? 0.3 * elements : 0;
    for (uint32_t parts = by.parts; parts > 1; parts /= 2)
        together += SPLIT;
    return waves + together + (sliced ? SUM + 1.3 * elements / by.parts : 0);
}

/* Whether it is worth looking at: each part has a step, and clusters leave room for one another. Slices are
   for few tiles, have steps enough, and go to pairs of blocks, so that their sum has half as much to read:
   that was fastest for 64 x 64 x 65536, 64 x 64 x 8192, 128 x 128 x 16384 and 256 x 256 x 8192 on an H200. */
static bool is_sensible(const shape *of, uint64_t blocks, uint64_t steps, division by) {
    const uint64_t parts = (uint64_t)by.parts * by.slices;
    if (by.slices > 1)
        return by.parts == 2 && blocks <= of->room && parts * LEAST_PART <= steps;
    return by.parts == 1 || (parts <= steps && 4 * blocks <= 3 * of->room);
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
