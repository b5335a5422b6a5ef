/* Products with few columns or a short k: which kernels take them, and the planner of matmul_small, which
   reads halves of any strides, so that nothing is copied, and splits k between blocks. All of that depends on
   n and k alone. */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"

enum {
    NARROW = 32, /* columns of a tile */
    WIDE = 64,
    VECTOR_BYTES = 16,
    TILE_K = 128,        /* elements along k of a tile of A */
    MIN_PART = 512,      /* min. elements along k of a part */
    PART_PER_COLUMN = 8, /* elements along k for each column, with which parts write 1/4 of the bytes of A */
    MAX_PARTS = 64,
    SHORT_K = 64,            /* k up to which C is most of the memory */
    SHORTEST_K = 16,         /* k up to which other kernels take less time */
    SPLIT_K = 1024,          /* k from which on float32 is split into enough parts */
    LONG_K = 8192,           /* k from which on a tile that is not split takes longer than to read A again */
    SMALL_WEIGHTS = 1 << 14, /* elements of B up to which A is read again for each tile of columns */
    SMALL_COLUMNS = 128,
    UNALIGNED_WEIGHTS = 1 << 15, /* the same if the rungs copy an operand */
};

/* Returns whether lines of this many elements are no multiples of 16 bytes, so that TMA needs copies. */
static bool is_odd(const gr_matmul *self, uint64_t elements) {
    return elements % (VECTOR_BYTES / gr_dtypes[self->dtype].item_bytes) != 0;
}

bool gr_matmul_prefers_small(const gr_matmul *self, const gr_device_info *info) {
    const uint64_t n = self->n, k = self->k;
    const bool takes = (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16) &&
                       self->precision == GR_PRECISION_IEEE && self->variant == NULL;
    if (!takes || k <= SHORTEST_K || info->caps.capability < GR_HOPPER)
        return false;
    if (is_odd(self, n) || is_odd(self, k))
        return n <= WIDE || k <= SHORT_K || n * k <= UNALIGNED_WEIGHTS;
    return (n <= WIDE && k >= LONG_K) || (n <= SMALL_COLUMNS && n * k <= SMALL_WEIGHTS);
}

bool gr_matmul_prefers_ieee(const gr_matmul *self) {
    const uint64_t n = self->n, k = self->k;
    if (self->dtype != GR_DTYPE_f32 || self->precision != GR_PRECISION_TF32 || self->variant != NULL)
        return false;
    /* Where n is odd alone, B is copied, which is small. */
    return k <= NARROW || (k <= TILE_K && n * k <= SMALL_WEIGHTS) || (n <= WIDE && k >= LONG_K) ||
           (n <= NARROW && k >= SPLIT_K && is_odd(self, k));
}

bool gr_matmul_is_shortest(const gr_matmul *self) {
    return (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16) && self->variant == NULL &&
           self->k <= SHORTEST_K;
}

void gr_matmul_small(const gr_matmul *self, gr_matmul_job job) {
    const uint32_t columns = self->n <= NARROW ? NARROW : WIDE;
    const uint64_t least = gr_max(MIN_PART, PART_PER_COLUMN * self->n);
    const uint64_t parts = gr_max(1, gr_min(gr_ceil_div(self->k, least), MAX_PARTS));
    const uint64_t part_k = gr_ceil_div(gr_ceil_div(self->k, parts), TILE_K) * TILE_K;
    gr_matmul_small_params params = {
        .product = gr_matmul_make_params(self, columns, 1),
        .part_k = part_k,
    };
    gr_matmul_params *product = &params.product;
    memcpy(product->a_stack, self->a.stack, sizeof product->a_stack);
    memcpy(product->b_stack, self->b.stack, sizeof product->b_stack);
    product->a_column = self->a.column;
    product->b_column = self->b.column;
    product->slices = gr_ceil_div(self->k, part_k);
    const uint64_t tiles = gr_ceil_div(self->m, GR_MATMUL_SMALL_ROWS) * product->n_tiles;
    gr_program *program = job.program;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.a), job.a);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.b), job.b);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.c), job.c);
    if (product->slices > 1) {
        const uint64_t bytes = sizeof(float) * GR_MATMUL_SMALL_ROWS * columns * product->slices;
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
                   gr_dtypes[self->dtype].name);
    step->pdl = true;
    gr_matmul_set_grid(program, step, tiles * product->slices, product->pairs, GR_MATMUL_THREADS);
}
