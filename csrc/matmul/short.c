/* Products with a short k or few columns, without tiles of A in shared memory. matmul_short adds up float32
   in the order of m10 and float64 in the order of t5 while k is one part, and halves in the order of t3 or,
   up to SHORTEST_K, in the order of the kernel for dtypes without a rung, so that the choice between these
   kernels may depend on the number of rows. matmul_columns has an order of its own, which depends on k and
   the dtype; the choice of it depends on n, k and the dtype. */
#include <stddef.h>

#include "base/limits.h"
#include "base/powers.h"
#include "matmul/internal.h"
#include "matmul/short/params.h"

enum {
    FEW_COLUMNS = 8,     /* columns of C up to which matmul_columns takes the least time */
    NARROW = 64,         /* columns of C up to which MANY_FMAS does not apply */
    SHORTEST_K = 16,     /* k up to which halves are added up by fused multiply-adds of float32 */
    SHORT_SINGLE_K = 32, /* k of float32 and float64 up to which few columns keep the order of the rungs */
    SHORT_K = 64,        /* k up to which matmul_short may take the least time, and k of a matrix and a vector
                            up to which matmul_columns takes less time than a GEMV */
    ROWS_K = 8,          /* k up to which a thread holds its elements of B in registers */
    FEW_RESULTS = 1 << 17, /* elements of C from which on a thread has several */
    FEW_FMAS = 1 << 19,    /* multiply-adds up to which one thread per element of C takes the least time */
    MANY_FMAS = 1 << 23,   /* multiply-adds from which on tiles in shared memory take less time */
    MAX_PACKED = 1 << 16,  /* elements of A up to which matmul_columns reads rows that are not contiguous */
    BLOCKS = 4 * 132,      /* four per SM of the reference device */
};

static bool is_half(const gr_matmul *self) {
    return self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16;
}

/* Returns whether there are kernels for the product. */
static bool has_kernels(const gr_matmul *self, const gr_device_info *info) {
    const bool is_float = is_half(self) || self->dtype == GR_DTYPE_f64 ||
                          (self->dtype == GR_DTYPE_f32 && self->precision == GR_PRECISION_IEEE);
    return self->variant == NULL && self->k > 0 && is_float && info->caps.capability >= GR_HOPPER;
}

bool gr_matmul_prefers_columns(const gr_matmul *self, const gr_device_info *info) {
    const uint64_t n = self->n, k = self->k;
    if (!has_kernels(self, info) || n > FEW_COLUMNS)
        return false;
    if (n == 1)
        return k > SHORTEST_K && k <= SHORT_K;
    return k > (is_half(self) ? SHORT_K : SHORT_SINGLE_K);
}

bool gr_matmul_has_fragments(const gr_matmul *self) {
    return is_half(self) && self->n > 1 && self->k > SHORTEST_K && self->k <= SHORT_K;
}

bool gr_matmul_prefers_short(const gr_matmul *self, const gr_device_info *info,
                             gr_matmul_short_kernel *kernel) {
    if (!has_kernels(self, info))
        return false;
    const uint64_t n = self->n, k = self->k, results = gr_matmul_output_count(self), fmas = results * k;
    *kernel = results < FEW_RESULTS ? GR_MATMUL_SHORT_ONE
              : k <= ROWS_K         ? GR_MATMUL_SHORT_ROWS
                                    : GR_MATMUL_SHORT_TILE;
    if (k <= SHORTEST_K)
        return n <= NARROW || k <= ROWS_K || fmas <= MANY_FMAS;
    if (n == 1 || k > SHORT_K || self->dtype != GR_DTYPE_f32)
        return false;
    return k <= SHORT_SINGLE_K ? n <= NARROW || fmas <= FEW_FMAS : n > FEW_COLUMNS && fmas <= FEW_FMAS;
}

/* Appends a launch, of which `params` begins with the parameters of the product. */
static gr_step *launch(const gr_matmul *self, gr_matmul_params *params, size_t bytes, gr_matmul_job job) {
    for (int d = 0; d < GR_MATMUL_STACKS; ++d) {
        params->a_stack[d] = self->a.stack[d];
        params->b_stack[d] = self->b.stack[d];
    }
    params->a_column = self->a.column;
    params->b_column = self->b.column;
    gr_step *step = gr_program_step(job.program, GR_STEP_LAUNCH, params, bytes);
    gr_program_relocate(job.program, offsetof(gr_matmul_params, a), job.a);
    gr_program_relocate(job.program, offsetof(gr_matmul_params, b), job.b);
    gr_program_relocate(job.program, offsetof(gr_matmul_params, c), job.c);
    step->kernel.owner = "matmul";
    step->pdl = true;
    return step;
}

/* Appends the product by mma.sync: a warp per tile of 16 rows and 8 columns. */
static void multiply_fragments(const gr_matmul *self, gr_matmul_job job) {
    enum { ROWS = 16, COLUMNS = 8, WARPS = GR_MATMUL_THREADS / 32 };
    gr_matmul_params params = gr_matmul_make_params(self, COLUMNS, 1);
    gr_step *step = launch(self, &params, sizeof params, job);
    GR_KERNEL_NAME(step->kernel.file, "matmul_short");
    GR_KERNEL_NAME(step->kernel.entry, "matmul_short_fragments_", gr_dtypes[self->dtype].name);
    const uint64_t tiles = gr_ceil_div(self->m, ROWS) * params.n_tiles, warps = gr_min(tiles, WARPS);
    gr_matmul_set_grid(job.program, step, gr_ceil_div(tiles, warps), params.pairs, (uint32_t)(32 * warps));
}

void gr_matmul_short(const gr_matmul *self, gr_matmul_short_kernel kernel, gr_matmul_job job) {
    enum { THREADS_LOG2 = 8, WARP_LOG2 = 5, ROWS_AT_ONCE = 4 };
    _Static_assert(1 << THREADS_LOG2 == GR_MATMUL_THREADS, "threads per block");
    if (kernel == GR_MATMUL_SHORT_FRAGMENTS) {
        multiply_fragments(self, job);
        return;
    }
    const bool by_rows = kernel == GR_MATMUL_SHORT_ROWS;
    const uint32_t columns = kernel == GR_MATMUL_SHORT_ONE ? 1 : 4, rows = by_rows ? 1 : columns;
    /* Threads along a row of C for all of its columns, up to a block; fewer, but a warp, where there are rows
       for the other threads. */
    uint32_t across = gr_log2_from(gr_ceil_div(self->n, columns), THREADS_LOG2);
    uint32_t down = gr_log2_from(gr_ceil_div(self->m, rows), THREADS_LOG2);
    if (across + down > THREADS_LOG2)
        across = (uint32_t)gr_max(gr_min(across, WARP_LOG2), THREADS_LOG2 - down);
    down = (uint32_t)gr_min(down, THREADS_LOG2 - across);
    if (across + down < WARP_LOG2)
        down = WARP_LOG2 - across;
    gr_matmul_short_params params = {.product = gr_matmul_make_params(self, columns << across, 1),
                                     .across_log2 = across};
    gr_step *step = launch(self, &params.product, sizeof params, job);
    GR_KERNEL_NAME(step->kernel.file, "matmul_short");
    GR_KERNEL_NAME(step->kernel.entry, "matmul_short_",
                   !by_rows       ? rows == 1 ? "1x1_" : "4x4_"
                   : self->k <= 4 ? "rows4_"
                                  : "rows8_",
                   gr_dtypes[self->dtype].name);
    const uint64_t n_tiles = params.product.n_tiles, row_tiles = gr_ceil_div(self->m, (uint64_t)rows << down);
    const uint64_t row_blocks =
        by_rows ? gr_min(gr_ceil_div(row_tiles, ROWS_AT_ONCE), gr_ceil_div(BLOCKS, n_tiles)) : row_tiles;
    gr_matmul_set_grid(job.program, step, row_blocks * n_tiles, params.product.pairs, 1u << (across + down));
}

/* Returns into how many parts k is divided. */
static uint64_t count_parts(uint64_t k) {
    enum { UNDIVIDED = 512, PART = 256, PARTS = 32, LONG_PART = 1024, MAX_PARTS = 64 };
    if (k <= UNDIVIDED)
        return 1;
    return gr_max(gr_min(gr_ceil_div(k, PART), PARTS), gr_min(gr_ceil_div(k, LONG_PART), MAX_PARTS));
}

void gr_matmul_columns(const gr_matmul *given, gr_matmul_job job) {
    enum { WARPS = GR_MATMUL_THREADS / 32, WARP_BYTES = 32 * 16 };
    gr_matmul self = *given;
    const size_t item_bytes = gr_dtypes[self.dtype].item_bytes, sum_bytes = gr_max(item_bytes, sizeof(float));
    if (self.a.column != 1 && self.m > 1 && self.m * self.k > MAX_PACKED) {
        const gr_matmul_shape shape = {self.m, self.k, gr_matmul_padded_row(self.k, item_bytes)};
        gr_matmul_pack_operand(&self.a, &shape, self.stack, item_bytes, &job.a, job.program);
    }
    const uint32_t columns = self.n <= 2 ? 2 : self.n <= 4 ? 4 : 8;
    const uint64_t step = WARP_BYTES / item_bytes; /* elements along k per load of a warp */
    /* Elements along k of B in shared memory. */
    const uint64_t staged =
        item_bytes == sizeof(double) ? GR_MATMUL_COLUMNS_PART / 2 : GR_MATMUL_COLUMNS_PART;
    const uint64_t part_length = gr_ceil_div(gr_ceil_div(self.k, count_parts(self.k)), step) * step;
    const uint64_t parts = gr_ceil_div(self.k, part_length);
    const uint64_t tiles = gr_ceil_div(self.m, WARPS * GR_MATMUL_COLUMNS_RESULTS / columns);
    /* If there are tiles for all SMs, a block takes the parts whose elements of B fit in shared memory. */
    const uint64_t rounds = tiles >= BLOCKS / 4 ? gr_min(gr_max(staged / part_length, 1), parts) : 1;
    const uint64_t sharing = gr_ceil_div(parts, rounds);
    /* If there are more tiles than resident blocks, each block takes several, with the same elements of B. */
    const uint64_t at_once = gr_ceil_div(tiles, gr_ceil_div(tiles * sharing, BLOCKS));
    gr_matmul_columns_params params = {.product = gr_matmul_make_params(&self, columns, 1),
                                       .part_length = part_length};
    params.product.slices = parts;
    params.product.rounds = rounds;
    gr_program *program = job.program;
    gr_step *launched = launch(&self, &params.product, sizeof params, job);
    const uint64_t pairs = params.product.pairs;
    if (sharing > 1) {
        const uint64_t bytes = pairs * tiles * parts * GR_MATMUL_THREADS * sum_bytes;
        gr_program_relocate(program, offsetof(gr_matmul_columns_params, sums),
                            gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)bytes));
        gr_program_relocate(
            program, offsetof(gr_matmul_columns_params, tickets),
            gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)(pairs * tiles) * sizeof(uint32_t)));
    }
    GR_KERNEL_NAME(launched->kernel.file, "matmul_columns");
    GR_KERNEL_NAME(launched->kernel.entry, "matmul_columns_",
                   columns == 2   ? "2_"
                   : columns == 4 ? "4_"
                                  : "8_",
                   gr_dtypes[self.dtype].name);
    gr_matmul_set_grid(program, launched, at_once * sharing, pairs, GR_MATMUL_THREADS);
}
