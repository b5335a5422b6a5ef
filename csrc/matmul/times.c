/* Estimated times of the kernels of halves, TF32 and float64 on tensor cores, in microseconds on an H200.
   Fitted to some 160 products of 1 x 7 x 512 to 145 x 65535 x 713; typical errors are 5 to 20 percent. */
#include "base/limits.h"
#include "matmul/internal.h"
#include "matmul/short/params.h"

enum { SMS = 132 /* of the reference device */ };

/* Megabytes of a matrix of all products of a stack. */
static double megabytes(const gr_matmul *self, uint64_t rows, uint64_t columns) {
    return 1e-6 *
           (double)(rows * columns * gr_dtypes[self->dtype].item_bytes * gr_matmul_stack_count(self->stack));
}

static double megabytes_of_all(const gr_matmul *self) {
    return megabytes(self, self->m, self->k) + megabytes(self, self->k, self->n) +
           megabytes(self, self->m, self->n);
}

/* Returns how often the device is full of `blocks`, of which `resident` fit on an SM. */
static double count_waves(uint64_t blocks, uint32_t resident) {
    enum { FEW = 4 };
    const uint64_t places = (uint64_t)SMS * resident;
    return blocks < FEW * places ? (double)gr_ceil_div(blocks, places) : (double)blocks / (double)places;
}

static uint64_t count_tiles(const gr_matmul *self, uint32_t rows, uint32_t columns) {
    return gr_ceil_div(self->m, rows) * gr_ceil_div(self->n, columns) * gr_matmul_stack_count(self->stack);
}

double gr_matmul_direct_time(const gr_matmul *self, const gr_matmul_direct_shape *shape, uint32_t parts,
                             bool shares) {
    const uint64_t item_bytes = gr_dtypes[self->dtype].item_bytes,
                   depth = GR_MATMUL_DIRECT_BYTES / item_bytes;
    const double *of = shape->times[item_bytes == 2 ? 0 : item_bytes == 4 ? 1 : 2];
    const uint64_t blocks = count_tiles(self, shape->rows, shape->columns) * (shares ? parts : 1);
    const uint64_t steps = gr_matmul_part_steps(self, parts, GR_MATMUL_DIRECT_BYTES) * (shares ? 1 : parts);
    const uint64_t a_line = GR_MATMUL_DIRECT_BYTES / 16 + 1, n_line = shape->columns * item_bytes / 16 + 1;
    const uint64_t windows =
        shape->rows * a_line + (self->b.column != 1 ? shape->columns * a_line : depth * n_line);
    const double waves = count_waves(blocks, shape->resident);
    const double bytes = (double)(self->k * item_bytes);
    const double full = (double)steps * (bytes < GR_MATMUL_DIRECT_BYTES ? bytes / GR_MATMUL_DIRECT_BYTES : 1);
    return waves * (of[0] + full * (blocks <= SMS ? of[1] : of[2])) +
           (shares && parts > 1 ? of[3] + of[4] * parts : 0) +
           of[5] * 1e-5 * (double)(blocks * windows) * full + of[6] * megabytes_of_all(self) +
           (self->n * item_bytes % 16 != 0 ? of[7] * megabytes(self, self->m, self->n) : 0);
}

/* A kernel with tiles of `rows` by `columns`: the time of a launch, a copy of an operand, copies of both, a
   megabyte that is copied, a wave, a step of 128 bytes along k, a megabyte of C with rows that are no
   multiple of 16 bytes, and a megabyte of all matrices. */
typedef struct tiles {
    uint32_t rows, columns, resident;
    double launch, copy, copies, copied, wave, step, odd, all;
} tiles;

static double tiles_time(const gr_matmul *self, const tiles *of, uint64_t sharing) {
    const uint64_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    const gr_matmul_copies copies = gr_matmul_find_copies(self);
    const double copied = (copies.a ? megabytes(self, self->m, self->k) : 0) +
                          (copies.b ? megabytes(self, self->k, self->n) : 0);
    const double waves = count_waves(count_tiles(self, of->rows, of->columns) * sharing, of->resident);
    const double steps = (double)gr_ceil_div(self->k * item_bytes, 128 * sharing);
    return of->launch + (copies.a || copies.b ? of->copy : 0) + (copies.a && copies.b ? of->copies : 0) +
           of->copied * copied + waves * (of->wave + of->step * steps) +
           (self->n * item_bytes % 16 != 0 ? of->odd * megabytes(self, self->m, self->n) : 0) +
           of->all * megabytes_of_all(self);
}

double gr_matmul_small_time(const gr_matmul *self, uint32_t parts, bool shares) {
    static const tiles halves = {32, 64, 2, 0, 0, 0, 0, 1.86, 1.0, 1.77, 0.28};
    static const tiles doubles = {32, 32, 2, 0, 0, 0, 0, 1.56, 0.45, 0.64, 0.29};
    const bool shared = shares && parts > 1;
    return tiles_time(self, self->dtype == GR_DTYPE_f64 ? &doubles : &halves, shared ? parts : 1) +
           (shared ? 1 + 0.1 * parts : 0);
}

/* Of more than NARROW columns a warp reads few bytes of each row of B, which counts with more than two
   k-steps and with MANY tiles. */
double gr_matmul_fragments_time(const gr_matmul *self) {
    enum { ROWS = 16, COLUMNS = 8, K = 16, FEW_STEPS = 2, NARROW = 16, MANY = 256 };
    enum { WARPS = GR_MATMUL_THREADS / 32, RESIDENT = 2 /* blocks per SM */ };
    static const double WAVE_US = 2.55, TILE_US = 0.0004, STEP_US = 0.25;
    const uint64_t count = count_tiles(self, ROWS, COLUMNS), steps = gr_ceil_div(self->k, K);
    const double slow_steps = self->n > NARROW && steps > FEW_STEPS ? (double)(steps - FEW_STEPS) : 0;
    return WAVE_US * count_waves(gr_ceil_div(count, WARPS), RESIDENT) + TILE_US * (double)count +
           STEP_US * slow_steps * (double)gr_min(count, MANY) / MANY;
}

/* The kernels t5: groups of warps, and microseconds per wave and step, and per megabyte of C and round or
 * slice. */
static double t5_time(const gr_matmul *self, uint32_t parts) {
    static const struct {
        tiles of;
        uint32_t groups;
        double round, slice;
    } all[] = {{{128, 128, 1, 4.8, 0, 6.6, 0.2, 0.3, 1.1, 0, 0.2}, 1, 5.9, 0},
               {{128, 64, 1, 4.1, 0.6, 5.4, 0.27, 0, 0.56, 0, 0.16}, 1, 3.4, 0},
               {{64, 32, 1, 0, 1.3, 1.8, 0.3, 4.4, 0.31, 0, 0.29}, 2, 2.2, 1.5},
               {{32, 16, 1, 0.5, 2.1, 1.3, 0.3, 2.1, 0.26, 0, 0.29}, 4, 1.25, 1.4}};
    double best = 1e30;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        const uint32_t groups = all[i].groups;
        if (groups > parts)
            continue;
        const double c = megabytes(self, self->m, self->n);
        tiles of = all[i].of;
        of.step /= groups;
        const double rounds = tiles_time(self, &of, 1) + all[i].round * c * (parts / groups - 1);
        best = rounds < best ? rounds : best;
        const double slices =
            tiles_time(self, &of, parts / groups) + 1.6 + all[i].slice * c * (parts / groups);
        if (groups > 1 && parts > groups && slices < best)
            best = slices;
    }
    return best;
}

double gr_matmul_rung_time(const gr_matmul *self, uint32_t parts) {
    static const tiles t3 = {128, 256, 1, 1.7, 3.0, 1.5, 1.9, 1.6, 0.52, 1.0, 0.1},
                       t3_narrow = {128, 64, 1, 1.8, 2.4, 1.3, 1.9, 0.7, 0.214, 1.4, 0.12},
                       t1 = {256, 128, 1, 4.0, 3.0, 2.5, 0.5, 0, 0.5, 0.3, 0.15},
                       t1_low = {64, 128, 1, 1.3, 2.3, 1.8, 0.5, 0.6, 0.26, 0.4, 0.14};
    if (self->dtype == GR_DTYPE_f64)
        return t5_time(self, parts);
    const bool halves = self->dtype != GR_DTYPE_f32;
    const double narrow = tiles_time(self, halves ? &t3_narrow : &t1_low, 1);
    const double wide = parts == 1 ? tiles_time(self, halves ? &t3 : &t1, 1) : narrow;
    return narrow < wide ? narrow : wide;
}
