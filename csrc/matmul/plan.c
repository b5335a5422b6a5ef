/* Plans a matrix multiplication: chooses the rung (named by the caller, or the newest that the device runs),
   its tiling, copies operands whose layout it does not take, and appends the launches to a program. Runs that
   program. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "matmul/internal.h"

enum {
    /* Uses of each element from which on a packed copy of an operand pays. On an H200 1207 x 2925 x 2761
       takes 512 us with a copy and 601 without, 500 x 501 x 502 15.2 and 13.5. */
    REUSE = 1000,
    VEC4 = 4, /* float32 per 16 bytes */
};

/* Returns whether rows are contiguous. The stride of a dimension of length 1 does not matter. */
static bool is_packed(const gr_matmul_view *view, uint64_t columns) {
    return view->column == 1 || columns <= 1;
}

static gr_status check(const gr_matmul_variant *variant, const gr_device_info *info, gr_error *error) {
    const gr_rung *rung = &variant->rung;
    const gr_status status = gr_rung_check(rung, info, error);
    if (status != GR_OK)
        return status;
    if (gr_matmul_is_arch_specific(variant) && info->kind == GR_DEVICE_CUDA &&
        info->caps.capability != rung->capability)
        return gr_fail(error, GR_ERR_VALUE, "variant: %s is for compute capability %u.%u alone; %s has %d.%d",
                       rung->name, (unsigned)(rung->capability / 10), (unsigned)(rung->capability % 10),
                       info->name, info->capability_major, info->capability_minor);
    if (variant->shared > info->caps.shared_per_block)
        return gr_fail(error, GR_ERR_VALUE,
                       "variant: a block of %s takes %u bytes of shared memory; one of %s may have %u",
                       rung->name, (unsigned)variant->shared, info->name,
                       (unsigned)info->caps.shared_per_block);
    return GR_OK;
}

/* Returns whether `auto` may take a rung for this precision and dtype on this device. */
static bool fits(const gr_matmul_variant *variant, const gr_matmul *self, const gr_device_info *info) {
    gr_error ignored;
    const uint64_t longest = gr_max(self->m, self->n), k = self->k;
    const uint64_t max_coordinate = INT32_MAX / 2; /* limit of TMA coordinates; a complex number takes two */
    const bool mapped = variant->a_box == 0 || (k > 0 && k <= max_coordinate && longest <= max_coordinate);
    return variant->rung.role == GR_ROLE_RUNG && variant->precision == self->precision && mapped &&
           gr_matmul_supports_dtype(variant, self->dtype) && check(variant, info, &ignored) == GR_OK;
}

/* The kernel of dtypes without a rung. */
static const gr_matmul_variant other = {.rung = {.name = "matmul", .file = "matmul_other"},
                                        .rows = GR_MATMUL_OTHER_TILE,
                                        .columns = GR_MATMUL_OTHER_TILE,
                                        .threads = GR_MATMUL_THREADS};

static gr_matmul_tiling tiling_of(const gr_matmul *self, const gr_matmul_variant *variant) {
    if (gr_matmul_has_tiles(variant))
        return gr_matmul_choose_tiling(self, variant);
    return (gr_matmul_tiling){variant, variant->rows, variant->columns, variant->threads, 1, 1, 1, 0};
}

/* Chooses the last rung of the table that fits, or the kernel for dtypes without a rung. GR_ERR_VALUE if no
   rung has the precision. */
static gr_matmul_tiling choose(const gr_matmul *self, const gr_matmul_job *job) {
    for (size_t i = gr_matmul_is_shortest(self) ? 0 : gr_matmul_ladder.count; i-- > 0;) {
        const gr_matmul_variant *variant = &gr_matmul_variants[i];
        /* m10 needs the newest device, so that where it fits every tile shape of tiles.def is a candidate. */
        if (fits(variant, self, job->info))
            return variant->rows == 0 ? gr_matmul_choose_tiling(self, NULL) : tiling_of(self, variant);
    }
    if (self->precision != GR_PRECISION_IEEE)
        gr_program_fail(job->program, GR_ERR_VALUE, "precision: %s of %s is not for %s",
                        gr_precisions[self->precision], gr_dtypes[self->dtype].numpy_name, job->info->name);
    return tiling_of(self, &other);
}

/* An operand and how the kernel reads it. */
typedef struct operand {
    gr_matmul_view *view;
    uint64_t rows, columns;
    uint64_t reuse; /* of each element: n for A, m for B */
    bool is_b;
    bool padded_to_16_bytes; /* rows are padded, so that 16-byte loads may read beyond their last element */
    uint32_t *buffer;
} operand;

/* Returns whether the kernel of a tile needs no checks of this operand: rows are contiguous and those of B,
   which are copied by 16 bytes, are aligned. */
static bool is_row_major(const operand *of) {
    const gr_matmul_view *view = of->view;
    return is_packed(view, of->columns) && (!of->is_b || (view->aligned && view->row % VEC4 == 0));
}

/* Returns whether the kernel without checks can compute the product, instead of the one named `_any`. */
static bool needs_no_checks(const gr_matmul *self, const operand *b, const gr_matmul_tiling *tiling) {
    const bool takes_any_a = tiling->variant->rows == 0 && tiling->rows == GR_MATMUL_FEW_ROWS;
    bool plain = (takes_any_a || (self->m >= tiling->rows && self->a.column == 1)) &&
                 self->n >= tiling->columns && self->k >= GR_MATMUL_TILE_K && is_row_major(b) &&
                 (self->n % VEC4 == 0 || b->padded_to_16_bytes);
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        plain = plain && self->b.stack[d] % VEC4 == 0;
    return plain;
}

/* Returns whether the tiles of few rows can read columns of B by 16 bytes. */
static bool is_k_major(const gr_matmul *self, const gr_matmul_tiling *tiling) {
    bool good = self->dtype == GR_DTYPE_f32 && tiling->rows == GR_MATMUL_FEW_ROWS &&
                self->n >= tiling->columns && self->n % VEC4 == 0 && self->k >= GR_MATMUL_TILE_K &&
                self->k % VEC4 == 0 && self->b.row == 1 && self->b.aligned && self->b.column % VEC4 == 0;
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        good = good && self->b.stack[d] % VEC4 == 0;
    return good;
}

/* Returns the part of a kernel's name that names the layouts which the kernel reads. */
static const char *layout_name(const gr_matmul *self, const operand *b, const gr_matmul_tiling *tiling) {
    if (!gr_matmul_has_tiles(tiling->variant) || needs_no_checks(self, b, tiling))
        return "";
    return is_k_major(self, tiling) ? "_k_major" : "_any";
}

/* Appends the product of operands that the kernel takes. */
static void multiply(const gr_matmul *self, const operand *b, const gr_matmul_tiling *tiling,
                     const gr_matmul_job *job) {
    const gr_matmul_variant *variant = tiling->variant;
    gr_program *program = job->program;
    gr_matmul_params params = gr_matmul_make_params(self, tiling->columns, tiling->slices);
    memcpy(params.a_stack, self->a.stack, sizeof params.a_stack);
    memcpy(params.b_stack, self->b.stack, sizeof params.b_stack);
    params.a_column = self->a.column;
    params.b_column = self->b.column;
    params.rounds = tiling->rounds;
    const uint32_t c = gr_matmul_slices_buffer(self, tiling->slices, job);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_matmul_params, a), job->a);
    gr_program_relocate(program, offsetof(gr_matmul_params, b), job->b);
    gr_program_relocate(program, offsetof(gr_matmul_params, c), c);
    step->shared_bytes = variant->shared;
    char shape[24] = "";
    if (variant->rows == 0) /* a kernel for each tile shape */
        snprintf(shape, sizeof shape, "_%" PRIu32 "x%" PRIu32, tiling->rows, tiling->columns);
    step->kernel.owner = variant->rung.name;
    GR_KERNEL_NAME(step->kernel.file, variant->rung.file);
    GR_KERNEL_NAME(step->kernel.entry, variant->rung.name, "_", gr_dtypes[self->dtype].name, shape,
                   layout_name(self, b, tiling), tiling->rounds > 1 ? "_rounds" : "");
    step->cluster[0] = tiling->cluster;
    gr_matmul_set_grid(program, step, gr_ceil_div(self->m, tiling->rows) * params.n_tiles * tiling->cluster,
                       params.pairs, tiling->threads);
    gr_matmul_add_slices(self, variant, tiling->slices, c, job);
}

/* Appends a packed copy of an operand unless the kernel takes its layout. */
static void prepare(operand *of, const gr_matmul *self, const gr_matmul_variant *variant,
                    gr_program *program) {
    gr_matmul_view *view = of->view;
    const bool by_tma = variant->a_box > 0, tiled = gr_matmul_has_tiles(variant);
    const bool is_split = by_tma && variant->precision == GR_PRECISION_F16X3;
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    const uint64_t pitch = by_tma || tiled ? gr_matmul_padded_row(of->columns, item_bytes) : of->columns;
    const gr_matmul_shape shape = {of->rows, of->columns, pitch};
    if (by_tma && of->rows == 1)
        view->row = (int64_t)pitch; /* the stride of a single row does not matter */
    const bool is_supported = is_split ? gr_matmul_f16x3_supports(view, of->columns)
                              : by_tma ? gr_matmul_tma_supports(view, of->columns, item_bytes)
                              : tiled  ? of->reuse < REUSE || is_row_major(of)
                                       : is_packed(view, of->columns) || variant == &other;
    if (is_supported || self->k == 0)
        return;
    of->padded_to_16_bytes = true;
    gr_matmul_pack_operand(view, &shape, self->stack, item_bytes, of->buffer, program);
}

static bool is_library(const gr_matmul_variant *variant) {
    return variant != NULL && variant->rung.entry == GR_ENTRY_LIBRARY;
}

/* Appends a product that is not a GEMV: by cuBLAS, or by a kernel that computes tiles of C. */
static void append_tiles(gr_matmul self, gr_matmul_job job) {
    operand a = {&self.a, self.m, self.k, self.n, false, false, &job.a};
    operand b = {&self.b, self.k, self.n, self.m, true, false, &job.b};
    if (self.k == 0) {
        self.precision = GR_PRECISION_IEEE; /* C is 0, whatever kernel writes it */
        if (self.variant != NULL && (self.variant->a_box > 0 || is_library(self.variant)))
            self.variant = NULL;
    }
    if (is_library(self.variant)) {
        gr_cublas_plan(&self, job);
        return;
    }
    const gr_matmul_tiling tiling =
        self.variant != NULL ? tiling_of(&self, self.variant) : choose(&self, &job);
    const gr_matmul_variant *variant = tiling.variant;
    prepare(&a, &self, variant, job.program);
    self.b_is_k_major =
        variant->a_box > 0 && self.n > 1 && self.b.column != 1 && gr_matmul_tma_supports_k_major(&self);
    if (!self.b_is_k_major)
        prepare(&b, &self, variant, job.program);
    if (variant->a_box > 0)
        gr_matmul_tma(&self, variant, job);
    else
        multiply(&self, &b, &tiling, &job);
}

void gr_matmul_append(const gr_matmul *given, gr_matmul_job job) {
    gr_matmul self = *given;
    if (self.variant == NULL) /* unsigned integers wrap like signed ones and use their kernels */
        self.dtype = self.dtype == GR_DTYPE_u32   ? GR_DTYPE_i32
                     : self.dtype == GR_DTYPE_u64 ? GR_DTYPE_i64
                                                  : self.dtype;
    if (gr_matmul_prefers_ieee(&self))
        self.precision = GR_PRECISION_IEEE;
    gr_matmul_short_kernel kernel;
    if (gr_matmul_prefers_short(&self, job.info, &kernel))
        gr_matmul_short(&self, kernel, job);
    else if (gr_matmul_prefers_columns(&self, job.info))
        gr_matmul_columns(&self, job);
    else if (gr_matmul_prefers_gemv(&self))
        gr_matmul_gemv(&self, job);
    else if (!gr_matmul_try_small(&self, job))
        append_tiles(self, job);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_matmul *self = request;
    const gr_device_info *info = &device->backend->info;
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    const uint64_t count = gr_matmul_output_count(self);
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, (size_t)count * item_bytes);
    const uint32_t a = gr_program_input(program, 0), b = gr_program_input(program, 1);
    gr_matmul_job job = {info, program, a, b, out};
    if (self->needs_temporary_output)
        job.c = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)count * item_bytes);
    if (self->variant != NULL)
        program->status = check(self->variant, info, program->error);
    gr_matmul_append(self, job);
    if (self->needs_temporary_output)
        gr_matmul_copy_output(count, self->n, item_bytes, job.c, out, program);
    if (is_library(self->variant) && program->status == GR_OK)
        program->status = gr_cublas_open(program->error);
}

gr_status gr_matmul_run(gr_device *device, const gr_matmul *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error) {
    if (gr_matmul_output_count(self) == 0)
        return GR_OK;
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
