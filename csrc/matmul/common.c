/* Helpers of all planners of matrix multiplications: sizes, grids, packed copies of operands, and the
   reduction of split-K slices. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"

uint64_t gr_matmul_output_count(const gr_matmul *self) {
    return self->m * self->n * gr_matmul_stack_count(self->stack);
}

uint64_t gr_matmul_stack_count(const uint64_t *stack) {
    uint64_t count = 1;
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        count *= stack[d];
    return count;
}

gr_matmul_params gr_matmul_make_params(const gr_matmul *self, uint32_t columns, uint32_t slices) {
    gr_matmul_params params = {.m = self->m,
                               .n = self->n,
                               .k = self->k,
                               .a_row = self->a.row,
                               .b_row = self->b.row,
                               .n_tiles = gr_ceil_div(self->n, columns),
                               .pairs = gr_matmul_stack_count(self->stack) * slices,
                               .slices = slices,
                               .rounds = 1};
    memcpy(params.stack, self->stack, sizeof params.stack);
    return params;
}

bool gr_matmul_reads_b_by_vectors(const gr_matmul *self) {
    enum { EACH = 4, COLUMNS = 64 }; /* float32 per 16 bytes; columns of the tiles */
    const bool by_rows = self->b.column == 1 && self->b.row % EACH == 0,
               by_columns = self->b.row == 1 && self->b.column % EACH == 0 && self->k % EACH == 0;
    return self->n >= COLUMNS && self->n % EACH == 0 && self->k >= GR_MATMUL_TILE_K && self->b.aligned &&
           (by_rows || by_columns);
}

/* Returns the least power of two from sqrt(factor k / n) on, of up to max_parts, such that parts have
   min_part_k elements. */
static uint32_t count_parts(const gr_matmul *self, double factor, uint32_t max_parts, uint64_t min_part_k) {
    uint32_t parts = 1;
    while (parts < max_parts && 2 * parts * min_part_k <= self->k &&
           (double)parts * parts * (double)self->n < factor * (double)self->k)
        parts *= 2;
    return parts;
}

/* Products of few rows have enough blocks, and products of many rows add few parts to C. */
uint32_t gr_matmul_invariant_parts(const gr_matmul *self) {
    enum { MAX_PARTS = 256, MIN_PART_K = 128 };
    if (self->has_one_part && self->dtype == GR_DTYPE_f32)
        return 1;
    /* Tiles of complex128 have warps enough at one part less, and add parts to C at a higher price. */
    return count_parts(self, self->dtype == GR_DTYPE_c128 ? 1 : 4, MAX_PARTS, MIN_PART_K);
}

uint32_t gr_matmul_double_parts(const gr_matmul *self) {
    enum { TWO_GROUPS = 128 }; /* k from which on tiles of two groups of warps are candidates */
    enum { MAX_PARTS = 64, MIN_PART_K = 64, FEW_COLUMNS = 128 };
    if (self->dtype == GR_DTYPE_c128)
        return (uint32_t)gr_max(gr_matmul_invariant_parts(self), self->k >= TWO_GROUPS ? 2 : 1);
    const uint32_t parts = count_parts(self, self->n <= FEW_COLUMNS ? 4 : 1, MAX_PARTS, MIN_PART_K);
    return (uint32_t)gr_max(parts, self->k > TWO_GROUPS ? 2 : 1);
}

void gr_matmul_set_grid(gr_program *program, gr_step *step, uint64_t tiles, uint64_t matrices,
                        uint32_t threads) {
    const uint64_t y = gr_min(matrices, GR_MAX_GRID_YZ), z = gr_ceil_div(matrices, y);
    if (tiles > GR_MAX_GRID || z > GR_MAX_GRID_YZ)
        gr_program_fail(program, GR_ERR_VALUE,
                        "a, b: %" PRIu64 " products of %" PRIu64 " tiles are more than a grid has blocks",
                        matrices, tiles);
    step->grid[0] = (uint32_t)tiles;
    step->grid[1] = (uint32_t)y;
    step->grid[2] = (uint32_t)z;
    step->block[0] = threads;
}

/* Appends a copy to rows of contiguous elements. */
static void copy(gr_matmul_pack_params *params, size_t item_bytes, uint32_t from, uint32_t to,
                 gr_program *program) {
    enum { SMALL_COPY = 1 << 21 }; /* bytes up to which the next kernel may begin with it */
    char bytes[8];
    snprintf(bytes, sizeof bytes, "%zu", item_bytes);
    /* If rows are contiguous, a lane copies 16 bytes, else one element. */
    const uint64_t tile_columns = GR_MATMUL_PACK_TILE * (params->column == 1 ? 16 / item_bytes : 1);
    params->column_tiles = gr_ceil_div(params->columns, tile_columns);
    params->matrices = gr_matmul_stack_count(params->stack);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
    gr_program_relocate(program, offsetof(gr_matmul_pack_params, from), from);
    gr_program_relocate(program, offsetof(gr_matmul_pack_params, to), to);
    step->kernel.owner = "matmul";
    GR_KERNEL_NAME(step->kernel.file, "matmul_pack");
    GR_KERNEL_NAME(step->kernel.entry, "matmul_pack_", bytes);
    step->pdl =
        item_bytes > 2 || params->rows * params->columns * params->matrices * item_bytes <= SMALL_COPY;
    gr_matmul_set_grid(program, step, gr_ceil_div(params->rows, GR_MATMUL_PACK_TILE) * params->column_tiles,
                       params->matrices, GR_MATMUL_THREADS);
}

void gr_matmul_pack_operand(gr_matmul_view *view, const gr_matmul_shape *shape, const uint64_t *stack,
                            size_t item_bytes, uint32_t *buffer, gr_program *program) {
    gr_matmul_pack_params params = {.rows = shape->rows,
                                    .columns = shape->columns,
                                    .row = view->row,
                                    .column = view->column,
                                    .to_pitch = shape->pitch};
    int64_t next = (int64_t)(shape->rows * shape->pitch);
    for (int d = 0; d < GR_MATMUL_STACKS; ++d) {
        const bool is_broadcast = view->stack[d] == 0;
        params.stack[d] = is_broadcast ? 1 : stack[d];
        params.from_stack[d] = view->stack[d];
        view->stack[d] = is_broadcast ? 0 : next;
        next *= (int64_t)params.stack[d];
    }
    view->row = (int64_t)shape->pitch;
    view->column = 1;
    view->aligned = true;
    const uint32_t from = *buffer;
    *buffer = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)next * item_bytes);
    copy(&params, item_bytes, from, *buffer, program);
}

void gr_matmul_copy_output(uint64_t count, uint64_t columns, size_t item_bytes, uint32_t from, uint32_t out,
                           gr_program *program) {
    gr_matmul_pack_params params = {.rows = count / columns,
                                    .columns = columns,
                                    .row = (int64_t)columns,
                                    .column = 1,
                                    .to_pitch = columns,
                                    .stack = {1, 1, 1, 1}};
    copy(&params, item_bytes, from, out, program);
}

uint32_t gr_matmul_slices_buffer(const gr_matmul *self, uint32_t slices, const gr_matmul_job *job) {
    const size_t bytes = (size_t)gr_matmul_output_count(self) * gr_dtypes[self->dtype].item_bytes;
    return slices == 1 ? job->c : gr_program_buffer(job->program, GR_BUFFER_TEMPORARY, bytes * slices);
}

void gr_matmul_add_slices(const gr_matmul *self, const gr_matmul_variant *variant, uint32_t slices,
                          uint32_t from, const gr_matmul_job *job) {
    if (slices == 1)
        return;
    const bool doubles = self->dtype == GR_DTYPE_f64 || self->dtype == GR_DTYPE_c128;
    const gr_dtype part = doubles ? GR_DTYPE_f64 : GR_DTYPE_f32; /* a complex number counts as two */
    const uint64_t items = gr_dtypes[self->dtype].item_bytes / gr_dtypes[part].item_bytes;
    const gr_matmul_add_slices_params params = {.count = gr_matmul_output_count(self) * items,
                                                .slices = slices};
    gr_program *program = job->program;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_matmul_add_slices_params, from), from);
    gr_program_relocate(program, offsetof(gr_matmul_add_slices_params, to), job->c);
    step->kernel.owner = variant->rung.name;
    GR_KERNEL_NAME(step->kernel.file, variant->rung.file);
    GR_KERNEL_NAME(step->kernel.entry, variant->rung.name, "_sum_", gr_dtypes[part].name);
    step->pdl = true;
    gr_matmul_set_grid(program, step, gr_ceil_div(params.count, GR_MATMUL_ADD_SLICES_TILE), 1,
                       GR_MATMUL_THREADS);
}
