/* How products on tensor cores with few columns divide k: into how many parts, of how many steps, and where
   blocks that share k leave the sums of the parts. */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"
#include "matmul/short/params.h"

uint32_t gr_matmul_k_parts(const gr_matmul *self) {
    enum { PART_BYTES = 1024, PARTS = 16, LONG_PART_BYTES = 2048, MAX_PARTS = 32, MIN_BYTES = 2048 };
    enum { FEW = 128, NO_MORE = 512, LONG_BYTES = 16 };
    const uint64_t n = self->n, k = self->k, bytes = k * gr_dtypes[self->dtype].item_bytes;
    if (self->dtype == GR_DTYPE_f64)
        return gr_matmul_double_parts(self);
    if (self->has_one_part || bytes < MIN_BYTES || (n > FEW && (n > NO_MORE || bytes < LONG_BYTES * n)))
        return 1;
    return (uint32_t)gr_max(gr_min(gr_ceil_div(bytes, PART_BYTES), PARTS),
                            gr_min(gr_ceil_div(bytes, LONG_PART_BYTES), MAX_PARTS));
}

uint64_t gr_matmul_part_steps(const gr_matmul *self, uint32_t parts, uint32_t step_bytes) {
    enum { UNIT_BYTES = 128 }; /* of which parts have whole ones */
    const uint64_t units = gr_ceil_div(self->k * gr_dtypes[self->dtype].item_bytes, UNIT_BYTES);
    return gr_ceil_div(gr_ceil_div(units, parts) * UNIT_BYTES, step_bytes);
}

/* Appends the buffers of the sums of parts, `sums` of each of `tiles` tiles, and of the tickets. */
static void append_buffers(const gr_matmul *self, uint64_t tiles, uint64_t sums, gr_program *program) {
    const uint64_t sum_bytes = self->dtype == GR_DTYPE_f64 ? sizeof(double) : sizeof(float);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, sums),
                        gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(tiles * sums * sum_bytes)));
    gr_program_relocate(program, offsetof(gr_matmul_small_params, tickets),
                        gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)tiles * sizeof(uint32_t)));
}

gr_step *gr_matmul_append_parts(const gr_matmul *self, const gr_matmul_job *job, uint32_t rows,
                                uint32_t columns, uint32_t threads, uint32_t parts, bool shares) {
    gr_matmul_small_params params = {.product = gr_matmul_make_params(self, columns, 1)};
    gr_matmul_params *product = &params.product;
    memcpy(product->a_stack, self->a.stack, sizeof product->a_stack);
    memcpy(product->b_stack, self->b.stack, sizeof product->b_stack);
    product->a_column = self->a.column;
    product->b_column = self->b.column;
    product->slices = parts;
    product->rounds = shares ? 1 : parts;
    const uint64_t tiles = gr_ceil_div(self->m, rows) * product->n_tiles;
    gr_program *program = job->program;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.a), job->a);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.b), job->b);
    gr_program_relocate(program, offsetof(gr_matmul_small_params, product.c), job->c);
    if (shares)
        append_buffers(self, product->pairs * tiles, (uint64_t)rows * columns * parts, program);
    step->pdl = true;
    gr_matmul_set_grid(program, step, tiles * (shares ? parts : 1), product->pairs, threads);
    return step;
}
