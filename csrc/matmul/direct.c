/* matmul_direct: products of halves, in TF32 and of float64 by small tiles, whose operands may begin at any
   element. Rows of A are contiguous, and rows or columns of B. */

#include "base/limits.h"
#include "matmul/internal.h"
#include "matmul/short/params.h"

/* The times are those of gr_matmul_direct_time, for elements of 2, 4 and 8 bytes: of a wave, of a step with a
   block per SM, and with more blocks, of the sum of parts and for each part, of 100,000 windows, of a
   megabyte of all matrices, and of a megabyte of C whose rows are no multiple of 16 bytes. */
static const gr_matmul_direct_shape shapes[] = {
    {"16x8",
     16,
     8,
     256,
     GR_MATMUL_DIRECT_STAGES_1,
     2,
     {{2.24, 0.46, 0.38, 1.27, 0.073, 0.28, 0.2, 8},
      {2.14, 0.42, 0.05, 1.5, 0.033, 0.5, 0, 1.5},
      {2.31, 0.33, 0.28, 1.13, 0.036, 0.29, 0, 2}}},
    {"16x32",
     16,
     32,
     256,
     GR_MATMUL_DIRECT_STAGES_2,
     2,
     {{2.34, 0.72, 0.95, 1.48, 0.077, 0.1, 0.24, 4.6},
      {1.95, 0.8, 0.9, 1.43, 0.038, 0, 0.28, 1.5},
      {1.88, 0.83, 0.96, 1.37, 0.037, 0, 0.05, 0.3}}},
    {"32x16",
     32,
     16,
     256,
     GR_MATMUL_DIRECT_STAGES_2,
     2,
     {{2.29, 0.75, 0.7, 1.38, 0.065, 0.25, 0.13, 5.4},
      {1.89, 0.82, 0.98, 1.3, 0.057, 0.02, 0.09, 2},
      {1.87, 0.73, 0.74, 1.61, 0.04, 0.07, 0.06, 1}}},
    {"32x32",
     32,
     32,
     256,
     GR_MATMUL_DIRECT_STAGES_3,
     2,
     {{2.7, 0.93, 0.96, 1.44, 0.1, 0.19, 0.2, 2.1},
      {2.14, 0.99, 0.87, 1.28, 0.083, 0.14, 0.09, 0.5},
      {2.32, 0.94, 1.07, 1.27, 0.1, 0.06, 0, 0.3}}},
    {"64x64",
     64,
     64,
     512,
     GR_MATMUL_DIRECT_STAGES_4,
     1,
     {{3.29, 1.61, 1.6, 1.73, 0.26, 0.06, 0.24, 1},
      {2.9, 1.3, 1.63, 1.77, 0.17, 0.05, 0.02, 0.5},
      {3.49, 1.26, 1.46, 1.91, 0.21, 0.1, 0, 0.2}}},
};

bool gr_matmul_direct_supports(const gr_matmul *self) {
    return (self->a.column == 1 || self->k == 1) && (self->b.column == 1 || self->b.row == 1);
}

gr_matmul_direct_choice gr_matmul_choose_direct(const gr_matmul *self, uint32_t parts) {
    gr_matmul_direct_choice best = {NULL, false, 0};
    enum { NARROW = 8, WIDE_BYTES = 1024 };
    const bool has_wide_rows =
        self->b.column == 1 && self->n * gr_dtypes[self->dtype].item_bytes > WIDE_BYTES;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        if (has_wide_rows && shapes[i].columns == NARROW)
            continue; /* reads few bytes of each row of B */
        for (int shares = 0; shares < (parts > 1 ? 2 : 1); ++shares) {
            const double time = gr_matmul_direct_time(self, &shapes[i], parts, shares);
            if (best.shape == NULL || time < best.time)
                best = (gr_matmul_direct_choice){&shapes[i], shares, time};
        }
    }
    return best;
}

/* Returns the bytes of shared memory of a block of `steps` steps. */
static uint32_t shared_bytes(const gr_matmul *self, const gr_matmul_direct_shape *shape, uint64_t steps) {
    enum { STEP = GR_MATMUL_DIRECT_BYTES, WINDOW = 16, BANKS = 64 };
    const uint32_t item_bytes = (uint32_t)gr_dtypes[self->dtype].item_bytes;
    const uint32_t along_k = STEP + (item_bytes == 4 ? WINDOW : 2 * WINDOW);
    uint32_t across = shape->columns * item_bytes + WINDOW;
    across += across % BANKS == BANKS / 2 ? WINDOW : 0;
    const uint32_t of_b = self->b.column != 1 ? shape->columns * along_k : STEP / item_bytes * across;
    const uint32_t ring = (uint32_t)gr_min(shape->stages, steps) * (shape->rows * along_k + of_b);
    return (uint32_t)gr_max(ring, shape->rows * (shape->columns * item_bytes + WINDOW));
}

void gr_matmul_direct(const gr_matmul *self, const gr_matmul_direct_choice *choice, uint32_t parts,
                      gr_matmul_job job) {
    const gr_matmul_direct_shape *shape = choice->shape;
    gr_step *step = gr_matmul_append_parts(self, &job, shape->rows, shape->columns, shape->threads, parts,
                                           choice->shares);
    step->kernel.owner = "matmul";
    GR_KERNEL_NAME(step->kernel.file, "matmul_direct");
    GR_KERNEL_NAME(step->kernel.entry, "matmul_direct_", shape->name, self->b.column != 1 ? "_k_major_" : "_",
                   self->precision == GR_PRECISION_TF32 ? "tf32" : gr_dtypes[self->dtype].name);
    const uint32_t rounds = choice->shares ? 1 : parts;
    step->shared_bytes =
        shared_bytes(self, shape, gr_matmul_part_steps(self, parts, GR_MATMUL_DIRECT_BYTES) * rounds);
}
