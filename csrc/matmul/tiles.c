#include "base/limits.h"
#include "matmul/plan.h"

enum {
    STEP = 16, /* elements along k that a block takes at once */
    RATES = 4,
};

typedef struct shape {
    uint32_t rows, columns, threads;
    uint32_t percent[RATES]; /* of the fastest, with 1, 2, 3 and more blocks a multiprocessor */
} shape;

static const shape shapes[] = {
#define GR_TILE(rows, columns, threads, one, two, three, four)                                               \
    {rows, columns, threads, {one, two, three, four}},
#include "matmul/tiles.def"
#undef GR_TILE
};

/* How long it takes, in steps of one multiply-add a lane at full speed; parts beyond the first cost PART
 * each. */
static double duration(const gr_matmul *self, const shape *of, uint32_t parts) {
    enum { PART = 400, SPLIT = 1500 };
    const uint64_t blocks = gr_matmul_count(self->stack) * gr_ceil_div(self->m, of->rows) *
                            gr_ceil_div(self->n, of->columns) * parts;
    const uint64_t each = gr_ceil_div(blocks, gr_reference_limits.multiprocessors);
    const uint64_t steps = gr_ceil_div(gr_ceil_div(self->k, STEP), parts);
    const double rate = of->percent[each < RATES ? each - 1 : RATES - 1] / 100.0;
    const double products = (double)of->rows * of->columns * (double)steps * STEP;
    return (double)each * products / 128 / rate + (parts > 1 ? SPLIT + PART * parts : 0);
}

gr_matmul_tiling gr_matmul_tile(const gr_matmul *self, const gr_matmul_variant *variant) {
    gr_matmul_tiling best = {0};
    double least = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        for (uint32_t parts = 1; parts <= variant->cluster && (parts == 1 || parts * STEP <= self->k);
             parts *= 2) {
            const double time = duration(self, &shapes[i], parts);
            if (best.rows == 0 || time < least) {
                best = (gr_matmul_tiling){shapes[i].rows, shapes[i].columns, shapes[i].threads, parts};
                least = time;
            }
        }
    }
    return best;
}
