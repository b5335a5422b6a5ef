#include "matmul/tiles.h"
#include "base/limits.h"

enum {
    STEP = 16, /* elements along k that a block takes at once */
    RATES = 4,
};

typedef struct shape {
    uint32_t rows, columns, room;
    uint32_t percent[RATES]; /* with 1, 2, 4, 8 blocks a multiprocessor */
} shape;

static const shape shapes[] = {
#define GR_TILE(rows, columns, room, one, two, four, eight) {rows, columns, room, {one, two, four, eight}},
#include "matmul/tiles.def"
#undef GR_TILE
};

/* How many blocks a multiprocessor gets. */
static uint64_t count_blocks(const gr_matmul *self, const shape *of, uint32_t parts) {
    const uint64_t tiles = gr_ceil_div(self->m, of->rows) * gr_ceil_div(self->n, of->columns);
    return gr_ceil_div(gr_matmul_count(self->stack) * tiles * parts, gr_reference_limits.multiprocessors);
}

/* The cycles that blocks take which a multiprocessor has at once, for a product each of every lane. */
static double cycles(const shape *of, uint64_t blocks) {
    int rate = 0;
    while (rate + 1 < RATES && blocks >= (uint64_t)2 << rate)
        ++rate;
    return (double)blocks * 100 / of->percent[rate];
}

/* How long it takes, in cycles; to bring the parts together costs SPLIT and nine tenths for each element. */
static double duration(const gr_matmul *self, const shape *of, uint32_t parts) {
    enum { SPLIT = 3000, LANES = 128 };
    const uint64_t blocks = count_blocks(self, of, parts);
    const uint64_t steps = gr_ceil_div(gr_ceil_div(self->k, STEP), parts);
    const double products = (double)of->rows * of->columns / LANES * (double)(steps * STEP);
    const double waves = (double)(blocks / of->room) * cycles(of, of->room) + cycles(of, blocks % of->room);
    const double together = SPLIT + 0.9 * (double)(blocks * of->rows * of->columns);
    return waves * products + (parts > 1 ? together : 0);
}

/* Whether it is worth looking at: each part has a step, and clusters leave room for one another. */
static bool is_sensible(const gr_matmul *self, const shape *of, uint32_t parts) {
    return parts == 1 || (parts * STEP <= self->k && 4 * count_blocks(self, of, parts) <= 3 * of->room);
}

gr_matmul_tiling gr_matmul_tile(const gr_matmul *self, const gr_matmul_variant *variant) {
    gr_matmul_tiling best = {0};
    double least = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        for (uint32_t parts = 1; parts <= variant->cluster && is_sensible(self, &shapes[i], parts);
             parts *= 2) {
            const double time = duration(self, &shapes[i], parts);
            if (best.rows == 0 || time < least) {
                best = (gr_matmul_tiling){shapes[i].rows, shapes[i].columns, variant->threads, parts};
                least = time;
            }
        }
    }
    return best;
}
