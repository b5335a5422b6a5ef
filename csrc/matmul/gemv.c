/* Matrix-vector products (GEMV): reads the matrix once, by rows or by columns, whichever are contiguous, and
   splits k between blocks if there are too few results. */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"

enum {
    WARP = 32,
    COLUMN_BYTES = 16, /* per load of a thread, of at most COLUMNS elements */
    COLUMNS = 8,
    MIN_SLICE = 512, /* minimum of k per slice */
    LONG_ROW = 4096, /* k, from which on a block computes one row instead of a warp */
};

/* Returns whether the order of k must not depend on the number of rows. */
static bool has_fixed_order(const gr_matmul *self) {
    return self->batch_invariant && gr_dtypes[self->dtype].kind != GR_KIND_BITS;
}

/* In a fixed order a single row of A is multiplied as several rows are. */
bool gr_matmul_prefers_gemv(const gr_matmul *self) {
    return self->variant == NULL && (self->n == 1 || (self->m == 1 && !has_fixed_order(self)));
}

/* The matrix as the kernel reads it: lines are contiguous. */
typedef struct lines {
    gr_matmul_view view; /* row: stride between lines, column: within a line */
    uint64_t count, length;
    bool rows; /* a line has the factors of one result, else one factor of each result */
    const int64_t *vector_stack;
    int64_t vector_stride;
} lines;

/* Takes rows or columns of the matrix as lines, so that these are contiguous if either is. In a fixed order
   they are the rows where those are contiguous, and else the columns. */
static lines orient(const gr_matmul *self) {
    const bool first = self->n == 1; /* the matrix is A */
    const gr_matmul_view *matrix = first ? &self->a : &self->b, *vector = first ? &self->b : &self->a;
    lines found = {
        .view = *matrix,
        .count = first ? self->m : self->k,
        .length = first ? self->k : self->n,
        .rows = first,
        .vector_stack = vector->stack,
        .vector_stride = first ? vector->row : vector->column,
    };
    const bool contiguous = found.view.column == 1 || found.length <= 1;
    if (!contiguous && (found.view.row == 1 || found.count <= 1 || has_fixed_order(self))) {
        const gr_matmul_view transposed = found.view;
        const uint64_t count = found.count;
        found.view.row = transposed.column;
        found.view.column = transposed.row;
        found.count = found.length;
        found.length = count;
        found.rows = !found.rows;
    }
    return found;
}

/* Returns how many blocks saturate the reference device: 5 per SM by rows, 3 by columns. 1 x 8192 x 8192
   takes 63 us with 3, 65 with 4, 71 with 5, and 66 in cuBLAS (float32, H200). */
static uint64_t wanted_blocks(bool rows) {
    return (uint64_t)gr_reference_device.multiprocessors * (rows ? 5 : 3);
}

/* Returns the number of slices of a fixed order, which depends on k alone: 64 KB of a row each, or MIN_SLICE
   elements of a column, up to 256 or 64 slices, which a single block adds up. */
static uint64_t fixed_slices(uint64_t k, bool rows, size_t item_bytes) {
    enum { ROW_BYTES = 65536, ROW_SLICES = 256, COLUMN_SLICES = 64 };
    return rows ? gr_min(gr_ceil_div(k * item_bytes, ROW_BYTES), ROW_SLICES)
                : gr_min(gr_ceil_div(k, MIN_SLICE), COLUMN_SLICES);
}

/* Split-K: chooses slices so that `blocks` blocks per slice saturate the device. `fixed`: this many slices;
   0: any number. */
static void split_k(gr_matmul_gemv_params *params, uint64_t blocks, bool rows, uint64_t fixed) {
    const uint64_t max_slices = gr_ceil_div(params->length, MIN_SLICE);
    const uint64_t slices = gr_max(fixed > 0 ? fixed : gr_min(wanted_blocks(rows) / blocks, max_slices), 1);
    /* A multiple of 16 bytes, so that all slices have the alignment of the first. */
    params->slice_length = gr_ceil_div(gr_ceil_div(params->length, slices), COLUMN_BYTES) * COLUMN_BYTES;
    params->slices = params->slice_length > 0 ? gr_ceil_div(params->length, params->slice_length) : 1;
}

void gr_matmul_gemv(const gr_matmul *self, gr_matmul_job job) {
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    gr_program *program = job.program;
    lines matrix = orient(self);
    uint32_t of_matrix = self->n == 1 ? job.a : job.b, of_vector = self->n == 1 ? job.b : job.a;
    const gr_matmul_shape shape = {matrix.count, matrix.length, matrix.length};
    if (matrix.view.column != 1 && matrix.length > 1)
        gr_matmul_pack_operand(&matrix.view, &shape, self->stack, item_bytes, &of_matrix, program);
    gr_matmul_gemv_params params = {
        .results = matrix.rows ? matrix.count : matrix.length,
        .length = self->k,
        .line_stride = matrix.view.row,
        .vector_stride = matrix.vector_stride,
        .pairs = gr_matmul_stack_count(self->stack),
    };
    memcpy(params.stack, self->stack, sizeof params.stack);
    memcpy(params.matrix_stack, matrix.view.stack, sizeof params.matrix_stack);
    memcpy(params.vector_stack, matrix.vector_stack, sizeof params.vector_stack);
    /* A warp per row if rows are short, else a block per row. */
    const bool warps = self->k < LONG_ROW;
    params.threads_per_result = warps ? WARP : GR_MATMUL_THREADS;
    const uint64_t columns = gr_min(COLUMN_BYTES / item_bytes, COLUMNS);
    const uint64_t each = matrix.rows ? GR_MATMUL_THREADS / params.threads_per_result : WARP * columns;
    const uint64_t tiles = gr_ceil_div(params.results, each);
    split_k(&params, tiles * params.pairs, matrix.rows,
            has_fixed_order(self) ? fixed_slices(self->k, matrix.rows, item_bytes) : 0);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_matmul_gemv_params, matrix), of_matrix);
    gr_program_relocate(program, offsetof(gr_matmul_gemv_params, vector), of_vector);
    gr_program_relocate(program, offsetof(gr_matmul_gemv_params, out), job.c);
    if (params.slices > 1) {
        const size_t wide_bytes = item_bytes > sizeof(float) ? item_bytes : sizeof(float);
        const uint32_t sums =
            gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                              (size_t)(params.pairs * params.slices * params.results) * wide_bytes);
        const uint32_t tickets =
            gr_program_buffer(program, GR_BUFFER_ZEROED, (size_t)(params.pairs * tiles) * sizeof(uint32_t));
        gr_program_relocate(program, offsetof(gr_matmul_gemv_params, sums), sums);
        gr_program_relocate(program, offsetof(gr_matmul_gemv_params, tickets), tickets);
    }
    step->kernel.owner = "matmul";
    GR_KERNEL_NAME(step->kernel.file, "matmul_vector");
    GR_KERNEL_NAME(step->kernel.entry, matrix.rows ? "matmul_rows_" : "matmul_columns_",
                   gr_dtypes[self->dtype].name);
    gr_matmul_set_grid(program, step, tiles * params.slices, params.pairs, GR_MATMUL_THREADS);
}
