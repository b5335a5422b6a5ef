/* Helpers of all planners of matrix multiplications: sizes, grids, packed copies of operands, and the
   reduction of split-K slices. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/limits.h"
#include "matmul/internal.h"

enum { MAX_BLOCKS_YZ = 65535 }; /* CUDA's limit of grid.y and grid.z */

uint64_t gr_matmul_output_count(const gr_matmul *self) {
    uint64_t count = self->m * self->n;
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        count *= self->stack[d];
    return count;
}

uint64_t gr_matmul_stack_count(const uint64_t *stack) {
    uint64_t count = 1;
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        count *= stack[d];
    return count;
}

gr_status gr_matmul_set_grid(gr_step *step, uint64_t tiles, uint64_t matrices, uint32_t threads,
                             gr_error *error) {
    const uint64_t y = matrices < MAX_BLOCKS_YZ ? matrices : MAX_BLOCKS_YZ, z = gr_ceil_div(matrices, y);
    if (tiles > GR_MAX_GRID || z > MAX_BLOCKS_YZ)
        return gr_fail(error, GR_ERR_VALUE,
                       "a, b: %" PRIu64 " products of %" PRIu64 " tiles are more than a grid has blocks",
                       matrices, tiles);
    step->grid[0] = (uint32_t)tiles;
    step->grid[1] = (uint32_t)y;
    step->grid[2] = (uint32_t)z;
    step->block[0] = threads;
    return GR_OK;
}

/* Appends a copy to rows of contiguous elements. */
static gr_status copy(gr_matmul_pack_params *params, size_t item_bytes, uint32_t from, uint32_t to,
                      gr_program *program, gr_error *error) {
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
    return gr_matmul_set_grid(step, gr_ceil_div(params->rows, GR_MATMUL_PACK_TILE) * params->column_tiles,
                              params->matrices, GR_MATMUL_THREADS, error);
}

gr_status gr_matmul_pack_operand(gr_matmul_view *view, const gr_matmul_shape *shape, const uint64_t *stack,
                                 size_t item_bytes, uint32_t *buffer, gr_program *program, gr_error *error) {
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
    return copy(&params, item_bytes, from, *buffer, program, error);
}

gr_status gr_matmul_copy_output(const gr_matmul *self, size_t item_bytes, uint32_t from, uint32_t out,
                                gr_program *program, gr_error *error) {
    gr_matmul_pack_params params = {.rows = gr_matmul_output_count(self) / self->n,
                                    .columns = self->n,
                                    .row = (int64_t)self->n,
                                    .column = 1,
                                    .to_pitch = self->n};
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        params.stack[d] = 1;
    return copy(&params, item_bytes, from, out, program, error);
}

gr_status gr_matmul_add_slices(const gr_matmul *self, const gr_matmul_variant *variant, uint32_t slices,
                               uint32_t from, uint32_t to, gr_program *program, gr_error *error) {
    const bool doubles = self->dtype == GR_DTYPE_f64 || self->dtype == GR_DTYPE_c128;
    const gr_dtype part = doubles ? GR_DTYPE_f64 : GR_DTYPE_f32; /* a complex number counts as two */
    const gr_matmul_add_slices_params params = {.count = gr_matmul_output_count(self) *
                                                         gr_dtypes[self->dtype].item_bytes /
                                                         gr_dtypes[part].item_bytes,
                                                .slices = slices};
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_matmul_add_slices_params, from), from);
    gr_program_relocate(program, offsetof(gr_matmul_add_slices_params, to), to);
    gr_matmul_name_kernel(variant, part, "", &step->kernel);
    GR_KERNEL_NAME(step->kernel.entry, variant->rung.name, "_sum_", gr_dtypes[part].name);
    step->pdl = true;
    return gr_matmul_set_grid(step, gr_ceil_div(params.count, GR_MATMUL_ADD_SLICES_TILE), 1,
                              GR_MATMUL_THREADS, error);
}

void gr_matmul_name_kernel(const gr_matmul_variant *variant, gr_dtype dtype, const char *form,
                           gr_kernel_id *out) {
    out->owner = variant != NULL ? variant->rung.name : "matmul";
    GR_KERNEL_NAME(out->file, variant != NULL ? variant->rung.file : "matmul_other");
    GR_KERNEL_NAME(out->entry, variant != NULL ? variant->rung.name : "matmul", "_", gr_dtypes[dtype].name,
                   form);
}
