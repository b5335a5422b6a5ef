/* Small products: which kernels take those with few columns, few rows or a short k, and the planner of
   matmul_small, which reads operands of any strides, so that nothing is copied, and splits k between blocks.
   For halves and TF32 all of that depends on n and k alone. float64 is added up in the order of t5 and
   float32 in that of m10, so that either kernel may take a product. */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"

enum {
    NARROW = 32, /* columns of a tile */
    WIDE = 64,
    VECTOR_BYTES = 16,
    PART_BYTES = 512, /* min. bytes along k of a part */
    MAX_PARTS = 64,
    SHORT_K = 64,            /* k up to which C is most of the memory */
    SHORTEST_K = 16,         /* k up to which other kernels of halves take less time */
    SHORTEST_SINGLE_K = 32,  /* the same of TF32, which the kernels of float32 take */
    ODD_K = 256,             /* k up to which copies of operands take longer than to read them again */
    LONG_K = 1024,           /* k from which on a tile that is not split takes longer than to read A again */
    SMALL_WEIGHTS = 1 << 14, /* elements of B up to which A is read again for each tile of columns */
    SMALL_COLUMNS = 128,
    ODD_WEIGHTS = 1 << 19,   /* the same if the rungs copy A */
    ODD_COLUMNS = 1 << 15,   /* the same if the rungs copy B alone */
    SMALL_DOUBLES = 1 << 24, /* multiply-adds up to which copies of float64 take longer */
    SMALL_SINGLES = 1 << 24, /* multiply-adds up to which tiles of m10 take longer */
};

/* Returns whether lines of this many elements are no multiples of 16 bytes, so that TMA needs copies. */
static bool is_odd(const gr_matmul *self, uint64_t elements) {
    return elements % (VECTOR_BYTES / gr_dtypes[self->dtype].item_bytes) != 0;
}

/* Few columns or a short k, of halves or TF32. */
static bool is_narrow_or_short(const gr_matmul *self) {
    const uint64_t n = self->n, k = self->k;
    if (n <= NARROW || (n <= SMALL_COLUMNS && n * k <= SMALL_WEIGHTS))
        return true;
    if (is_odd(self, k))
        return n <= WIDE || k <= ODD_K || n * k <= ODD_WEIGHTS;
    if (is_odd(self, n))
        return n <= WIDE || k <= SHORT_K || n * k <= ODD_COLUMNS;
    return n <= WIDE && k >= LONG_K;
}

/* float64 with few rows, few columns or a short k that t5 needs copies for, or with fewer columns or rows
   than its smallest tiles. */
static bool is_small_double(const gr_matmul *self) {
    const size_t item_bytes = sizeof(double);
    const uint64_t m = self->m, n = self->n, k = self->k, least = gr_min(gr_min(m, n), k);
    if (gr_min(m, n) <= SHORTEST_K || k < SHORTEST_K)
        return true;
    const bool needs_copy =
        !gr_matmul_tma_supports(&self->a, k, item_bytes) || !gr_matmul_tma_supports(&self->b, n, item_bytes);
    return needs_copy && (least <= WIDE || m * n * k <= SMALL_DOUBLES);
}

/* float32 that m10 reads by elements, with few rows, few columns or little to do. */
static bool is_small_single(const gr_matmul *self) {
    enum { EACH = VECTOR_BYTES / sizeof(float), FEW = 4 * GR_MATMUL_FEW_ROWS };
    const uint64_t m = self->m, n = self->n, k = self->k;
    const bool by_rows = self->b.column == 1 && self->b.row % EACH == 0,
               by_columns = m < FEW && self->b.row == 1 && self->b.column % EACH == 0 && k % EACH == 0;
    const bool by_vectors = n >= WIDE && n % EACH == 0 && k >= GR_MATMUL_TILE_K && self->b.aligned &&
                            (by_rows || by_columns) && (m < FEW || self->a.column == 1);
    return !by_vectors && (gr_min(m, n) <= WIDE || m * n * k <= SMALL_SINGLES);
}

bool gr_matmul_prefers_small(const gr_matmul *self, const gr_device_info *info) {
    if (self->variant != NULL || self->k == 0 || info->caps.capability < GR_HOPPER)
        return false;
    switch (self->dtype) {
    case GR_DTYPE_f16:
    case GR_DTYPE_bf16:
        return self->k > SHORTEST_K && is_narrow_or_short(self);
    case GR_DTYPE_f32:
        return self->precision == GR_PRECISION_TF32
                   ? is_narrow_or_short(self)
                   : self->precision == GR_PRECISION_IEEE && is_small_single(self);
    case GR_DTYPE_f64:
        return is_small_double(self);
    default:
        return false;
    }
}

bool gr_matmul_prefers_ieee(const gr_matmul *self) {
    return self->dtype == GR_DTYPE_f32 && self->precision == GR_PRECISION_TF32 && self->variant == NULL &&
           self->k <= SHORTEST_SINGLE_K;
}

bool gr_matmul_is_shortest(const gr_matmul *self) {
    return (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16) && self->variant == NULL &&
           self->k <= SHORTEST_K;
}

static bool is_single(const gr_matmul *self) {
    return self->dtype == GR_DTYPE_f32 && self->precision == GR_PRECISION_IEEE;
}

/* Returns into how many parts k is divided. */
static uint64_t count_parts(const gr_matmul *self) {
    if (self->dtype == GR_DTYPE_f64)
        return gr_matmul_double_parts(self);
    if (is_single(self))
        return gr_matmul_invariant_parts(self);
    return gr_max(1, gr_min(self->k * gr_dtypes[self->dtype].item_bytes / PART_BYTES, MAX_PARTS));
}

void gr_matmul_small(const gr_matmul *self, gr_matmul_job job) {
    const bool doubles = self->dtype == GR_DTYPE_f64;
    const uint32_t columns = self->n <= NARROW || doubles ? NARROW : WIDE;
    gr_matmul_small_params params = {
        .product = gr_matmul_make_params(self, columns, 1),
    };
    gr_matmul_params *product = &params.product;
    memcpy(product->a_stack, self->a.stack, sizeof product->a_stack);
    memcpy(product->b_stack, self->b.stack, sizeof product->b_stack);
    product->a_column = self->a.column;
    product->b_column = self->b.column;
    product->slices = count_parts(self);
    const uint64_t tiles = gr_ceil_div(self->m, GR_MATMUL_SMALL_ROWS) * product->n_tiles;
    gr_program *program = job.program;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.a), job.a);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.b), job.b);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.c), job.c);
    if (product->slices > 1) {
        const uint64_t sum_bytes = doubles ? sizeof(double) : sizeof(float);
        const uint64_t bytes = sum_bytes * GR_MATMUL_SMALL_ROWS * columns * product->slices;
        gr_program_relocate(
            program, offsetof(gr_matmul_small_params, sums),
            gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(product->pairs * tiles * bytes)));
        gr_program_relocate(program, offsetof(gr_matmul_small_params, tickets),
                            gr_program_buffer(program, GR_BUFFER_ZEROED,
                                              (size_t)(product->pairs * tiles) * sizeof(uint32_t)));
    }
    step->kernel.owner = "matmul";
    GR_KERNEL_NAME(step->kernel.file, "matmul_small");
    GR_KERNEL_NAME(step->kernel.entry, "matmul_small_", columns == NARROW ? "32_" : "64_",
                   self->precision == GR_PRECISION_TF32 ? "tf32" : gr_dtypes[self->dtype].name);
    step->pdl = true;
    gr_matmul_set_grid(program, step, tiles * product->slices, product->pairs, GR_MATMUL_THREADS);
}
