/* Kernels that load tiles by TMA (t1 to t5): encodes operands as tensor maps (CUtensorMap) of three
   dimensions, appends the split of float32 into two float16 (F16X3), chooses smaller tiles and split-K for
   small products, and appends the product. */
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"

enum {
    BOX_BYTES = 128,  /* per row of a box: the span of the 128-byte swizzle */
    ALIGNMENT = 16,   /* bytes, of addresses and strides, as TMA requires */
    SWIZZLE_ROWS = 8, /* rows after which the swizzle repeats */
};

/* The matrices of an operand as one dimension of a tensor map: `unit` is the greatest common divisor of the
   batch strides, in elements; `count` the matrices at multiples of it. */
typedef struct matrices {
    uint64_t unit, count;
} matrices;

static matrices count_matrices(const gr_matmul_view *view, const uint64_t *stack, int64_t *strides) {
    matrices found = {.unit = 0, .count = 1};
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        found.unit = gr_common_divisor(found.unit, (uint64_t)view->stack[d]);
    for (int d = 0; d < GR_MATMUL_STACKS; ++d) {
        strides[d] = found.unit == 0 ? 0 : (int64_t)((uint64_t)view->stack[d] / found.unit);
        found.count += (uint64_t)strides[d] * (stack[d] - 1);
    }
    return found;
}

bool gr_matmul_tma_supports(const gr_matmul_view *view, uint64_t columns, size_t item_bytes) {
    const int64_t each = ALIGNMENT / (int64_t)item_bytes;
    bool good =
        view->aligned && (view->column == 1 || columns <= 1) && view->row > 0 && view->row % each == 0;
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        good = good && view->stack[d] >= 0 && view->stack[d] % each == 0;
    return good;
}

/* Returns the view of the transposed matrix. */
static gr_matmul_view transposed(const gr_matmul_view *view) {
    gr_matmul_view found = *view;
    found.row = view->column;
    found.column = view->row;
    return found;
}

bool gr_matmul_tma_supports_k_major(const gr_matmul *self) {
    const gr_matmul_view view = transposed(&self->b);
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    return item_bytes == 2 && gr_matmul_tma_supports(&view, self->k, item_bytes);
}

bool gr_matmul_f16x3_supports(const gr_matmul_view *view, uint64_t columns) {
    bool good = view->column == 1 || columns <= 1;
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        good = good && view->stack[d] >= 0;
    return good;
}

gr_matmul_copies gr_matmul_find_copies(const gr_matmul *self) {
    enum { VECTOR_BYTES = 16 };
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    gr_matmul_view a = self->a, b = self->b;
    if (self->m == 1) /* the stride of a single row does not matter */
        a.row = VECTOR_BYTES;
    if (self->k == 1)
        b.row = VECTOR_BYTES;
    return (gr_matmul_copies){!gr_matmul_tma_supports(&a, self->k, item_bytes),
                              !gr_matmul_tma_supports(&b, self->n, item_bytes) &&
                                  !gr_matmul_tma_supports_k_major(self)};
}

uint64_t gr_matmul_padded_row(uint64_t columns, size_t item_bytes) {
    return gr_ceil_div(columns, ALIGNMENT / item_bytes) * (ALIGNMENT / item_bytes);
}

static gr_tensor_type type_of(gr_dtype dtype, gr_precision precision) {
    if (dtype == GR_DTYPE_f16)
        return GR_TENSOR_F16;
    if (dtype == GR_DTYPE_bf16)
        return GR_TENSOR_BF16;
    if (dtype == GR_DTYPE_f64 || dtype == GR_DTYPE_c128) /* a complex128 counts as two */
        return GR_TENSOR_F64;
    return precision == GR_PRECISION_TF32 ? GR_TENSOR_TF32 : GR_TENSOR_F32;
}

/* Returns a tensor map of `count` matrices at a stride of `matrix_stride` elements. */
static gr_tensor tensor_of(uint64_t rows, uint64_t columns, int64_t row, uint64_t count,
                           uint64_t matrix_stride, uint32_t box_rows, size_t item_bytes,
                           gr_tensor_type type) {
    const uint64_t pitch = (uint64_t)row * item_bytes, words = type == GR_TENSOR_F64 ? item_bytes / 8 : 1;
    return (gr_tensor){
        .type = type,
        .swizzle = GR_SWIZZLE_128,
        .rank = 3,
        .sizes = {columns * words, rows, count},
        .strides = {pitch, matrix_stride > 0 ? matrix_stride * item_bytes : pitch * rows},
        .box = {(uint32_t)(BOX_BYTES * words / item_bytes), box_rows, 1},
    };
}

/* Returns whether TMA can store C. */
static bool stores_c_by_tma(const gr_matmul *self, const gr_matmul_variant *variant, size_t item_bytes) {
    return variant->c_box > 0 && (self->out_aligned || self->needs_temporary_output) &&
           self->n * item_bytes % ALIGNMENT == 0;
}

/* What tiles of an operand are loaded from: the operand, or the two float16 that it is split into. */
typedef struct tile_source {
    uint32_t buffer, scales;
    gr_tensor tensor;
} tile_source;

static void launch_split(const char *entry, const gr_matmul_split_params *params, uint32_t from,
                         const tile_source *to, uint32_t maxima, uint64_t blocks, gr_program *program) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
    gr_program_relocate(program, offsetof(gr_matmul_split_params, from), from);
    gr_program_relocate(program, offsetof(gr_matmul_split_params, hi_lo), to->buffer);
    gr_program_relocate(program, offsetof(gr_matmul_split_params, scales), to->scales);
    gr_program_relocate(program, offsetof(gr_matmul_split_params, maxima), maxima);
    step->kernel.owner = "t4";
    GR_KERNEL_NAME(step->kernel.file, "t4_halves");
    GR_KERNEL_NAME(step->kernel.entry, entry);
    step->pdl = true;
    gr_matmul_set_grid(program, step, blocks, params->matrices, GR_MATMUL_THREADS);
}

/* Appends the kernels that split an operand, with one scale per row (A) or per column (B). */
static void split(const gr_matmul_view *view, const matrices *of, uint64_t rows, uint64_t columns,
                  bool by_row, uint32_t box_rows, tile_source *at, gr_program *program) {
    enum { HALF = 2, SPLIT_COLUMNS = 2 * GR_MATMUL_THREADS, ROWS = GR_MATMUL_THREADS / 32 };
    const gr_matmul_split_params params = {.rows = rows,
                                           .columns = columns,
                                           .row = view->row,
                                           .matrix = (int64_t)of->unit,
                                           .pitch = gr_matmul_padded_row(columns, HALF),
                                           .matrices = of->count};
    const uint64_t row_tiles = gr_ceil_div(rows, GR_MATMUL_MAXIMA_ROWS);
    const uint32_t from = at->buffer;
    at->buffer =
        gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(2 * of->count * rows * params.pitch * HALF));
    at->scales = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                   (size_t)(of->count * (by_row ? rows : columns) * sizeof(float)));
    at->tensor = tensor_of(rows, columns, (int64_t)params.pitch, 2 * of->count, rows * params.pitch, box_rows,
                           HALF, GR_TENSOR_F16);
    if (by_row) {
        launch_split("t4_rows", &params, from, at, at->scales, gr_ceil_div(rows, ROWS), program);
        return;
    }
    const uint32_t maxima = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                              (size_t)(of->count * row_tiles * columns * sizeof(uint32_t)));
    launch_split("t4_most", &params, from, at, maxima, gr_ceil_div(columns, GR_MATMUL_THREADS) * row_tiles,
                 program);
    launch_split("t4_columns", &params, from, at, maxima,
                 gr_ceil_div(columns, SPLIT_COLUMNS) * gr_ceil_div(rows, GR_MATMUL_SPLIT_ROWS), program);
}

/* Returns what the kernels load tiles of an operand from; appends its split for F16X3. Sets the strides of
   its matrices. */
static tile_source source_of(const gr_matmul *self, const gr_matmul_variant *variant, bool is_b,
                             const gr_matmul_job *job, int64_t *strides) {
    const bool k_major = is_b && self->b_is_k_major;
    const gr_matmul_view k_rows = transposed(&self->b), *view = k_major ? &k_rows
                                                                : is_b  ? &self->b
                                                                        : &self->a;
    const uint64_t rows = k_major ? self->n : is_b ? self->k : self->m;
    const uint64_t columns = is_b && !k_major ? self->n : self->k;
    const uint32_t box_rows = is_b ? variant->b_box : variant->a_box;
    const matrices of = count_matrices(view, self->stack, strides);
    tile_source at = {is_b ? job->b : job->a, 0,
                      tensor_of(rows, columns, view->row, of.count, of.unit, box_rows,
                                gr_dtypes[self->dtype].item_bytes, type_of(self->dtype, variant->precision))};
    if (variant->precision == GR_PRECISION_F16X3)
        split(view, &of, rows, columns, !is_b, box_rows, &at, job->program);
    return at;
}

/* A row of small_tiles.def. */
typedef struct small_tile {
    const char *rung, *entry;
    size_t item_bytes;
    uint32_t rows, columns, shared, a_box, percent, start, slices, groups;
} small_tile;

/* The chosen kernel: `small` is NULL for the rung's own tiles. */
typedef struct choice {
    const small_tile *small;
    uint32_t slices, rounds;
} choice;

/* Returns whether the rung multiplies in k-steps of halves or TF32, whose small tiles alone take several
   parts of k. */
static bool is_k_steps(const gr_matmul *self, const gr_matmul_variant *variant) {
    return self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16 ||
           variant->precision == GR_PRECISION_TF32;
}

/* Returns into how many parts k is divided, which are added up in their order; 0: any number. */
static uint32_t fixed_parts(const gr_matmul *self, const gr_matmul_variant *variant) {
    const bool doubles = self->dtype == GR_DTYPE_f64 || self->dtype == GR_DTYPE_c128;
    if (self->variant != NULL || (doubles && !self->batch_invariant))
        return 0;
    return doubles ? gr_matmul_double_parts(self) : is_k_steps(self, variant) ? gr_matmul_k_parts(self) : 1;
}

/* Returns how often a block takes the parts of its groups, so that `parts` are made; 0 if it cannot. */
static uint32_t rounds_of(uint32_t groups, uint32_t slices, uint32_t parts) {
    if (parts == 0)
        return 1;
    const uint32_t each = groups * slices;
    return each <= parts && (slices == 1 || each == parts) ? parts / each : 0;
}

static uint64_t count_waves(const gr_matmul *self, uint32_t rows, uint32_t columns, uint32_t slices) {
    return gr_ceil_div(slices * gr_matmul_stack_count(self->stack) * gr_ceil_div(self->m, rows) *
                           gr_ceil_div(self->n, columns),
                       gr_reference_device.multiprocessors);
}

/* Returns the estimated time in percent of a wave of the rung's own tiles. Adding up slices costs as much as
   ADD_SLICES elements along k. Many waves of halves wait for L2, which small tiles read more of: 3000 x 3000
   x 3000 takes 191 us in 9 waves of them (H200). */
static double cost(const gr_matmul *self, const small_tile *of, uint32_t slices) {
    enum { ADD_SLICES = 50, FEW_WAVES = 5 };
    double waves = (double)count_waves(self, of->rows, of->columns, slices);
    if (of->item_bytes == sizeof(uint16_t) && waves > FEW_WAVES)
        waves = FEW_WAVES + 2.2 * (waves - FEW_WAVES);
    return waves * of->percent / slices + of->start + (slices > 1 ? 100.0 * ADD_SLICES / (double)self->k : 0);
}

/* `columns`: the width of the rung's own tiles. */
static choice choose_small_tile(const gr_matmul *self, const gr_matmul_variant *variant, uint32_t columns) {
    enum { MIN_SLICE_K = 256 }; /* minimum of k per slice */
    static const small_tile all[] = {
#define GR_SMALL_TILE(rung, entry, ...) {#rung, #entry, __VA_ARGS__},
#include "matmul/small_tiles.def"
#undef GR_SMALL_TILE
    };
    const uint32_t parts = fixed_parts(self, variant);
    double min_cost = is_k_steps(self, variant) && parts > 1
                          ? DBL_MAX
                          : (double)count_waves(self, variant->rows, columns, 1) * 100;
    choice best = {NULL, 1, rounds_of(1, 1, parts)};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        if (strcmp(all[i].rung, variant->rung.name) != 0 ||
            all[i].item_bytes != gr_dtypes[self->dtype].item_bytes)
            continue;
        for (uint32_t slices = 1; slices <= all[i].slices && (slices == 1 || slices * MIN_SLICE_K <= self->k);
             slices *= 2) {
            const double found = cost(self, &all[i], slices);
            const uint32_t rounds = rounds_of(all[i].groups, slices, parts);
            if (rounds > 0 && found < min_cost) {
                best = (choice){&all[i], slices, rounds};
                min_cost = found;
            }
        }
    }
    return best;
}

/* Appends the product by the kernels named `entry`; *variant has the sizes of their tiles. */
static void multiply(const gr_matmul *self, const gr_matmul_variant *variant, const char *entry,
                     const choice *how, const gr_matmul_job *job) {
    gr_program *program = job->program;
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    const bool is_split = variant->precision == GR_PRECISION_F16X3,
               stores_c = stores_c_by_tma(self, variant, item_bytes);
    gr_matmul_f16x3_params params = {
        .maps = {.product = gr_matmul_make_params(self, variant->columns, how->slices),
                 .stores_c_by_tma = stores_c,
                 .a_box = variant->a_box}};
    const uint64_t pairs = params.maps.product.pairs;
    params.maps.product.rounds = how->rounds;
    const tile_source a = source_of(self, variant, false, job, params.maps.product.a_stack);
    const tile_source b = source_of(self, variant, true, job, params.maps.product.b_stack);
    gr_step *step =
        gr_program_step(program, GR_STEP_LAUNCH, &params, is_split ? sizeof params : sizeof params.maps);
    step->shared_bytes = variant->shared;
    gr_program_relocate(program, offsetof(gr_matmul_f16x3_params, maps.product.c), job->c);
    if (is_split) {
        gr_program_relocate(program, offsetof(gr_matmul_f16x3_params, a_scales), a.scales);
        gr_program_relocate(program, offsetof(gr_matmul_f16x3_params, b_scales), b.scales);
    }
    const gr_tensor map_c = tensor_of(self->m, self->n, (int64_t)self->n, pairs, self->m * self->n,
                                      variant->c_box, item_bytes, type_of(self->dtype, variant->precision));
    gr_program_map(program, offsetof(gr_matmul_f16x3_params, maps.a), a.buffer, &a.tensor);
    gr_program_map(program, offsetof(gr_matmul_f16x3_params, maps.b), b.buffer, &b.tensor);
    if (stores_c)
        gr_program_map(program, offsetof(gr_matmul_f16x3_params, maps.c), job->c, &map_c);
    step->kernel.owner = variant->rung.name;
    GR_KERNEL_NAME(step->kernel.file, variant->rung.file);
    GR_KERNEL_NAME(step->kernel.entry, entry, self->b_is_k_major ? "_k_major_" : "_",
                   gr_dtypes[self->dtype].name);
    uint64_t clusters = gr_ceil_div(self->m, variant->rows * variant->cluster) * params.maps.product.n_tiles;
    if (variant->blocks == GR_MATMUL_PERSISTENT)
        clusters = gr_min(clusters, gr_reference_device.multiprocessors / variant->cluster);
    step->cluster[0] = variant->cluster;
    step->pdl = step->one_param = true;
    gr_matmul_set_grid(program, step, clusters * variant->cluster, pairs, variant->threads);
}

void gr_matmul_tma(const gr_matmul *self, const gr_matmul_variant *variant, gr_matmul_job job) {
    gr_matmul_variant shape = *variant;
    if (self->dtype == GR_DTYPE_c128)
        shape.columns /= 2; /* a complex128 takes twice the shared memory */
    const choice how =
        self->variant == NULL ? choose_small_tile(self, variant, shape.columns) : (choice){NULL, 1, 1};
    if (how.small != NULL) {
        shape.rows = how.small->rows;
        shape.columns = how.small->columns;
        shape.shared = how.small->shared;
        shape.a_box = how.small->a_box;
        if (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16) /* rows of nothing take time, too */
            shape.a_box = (uint32_t)gr_min(shape.a_box, gr_ceil_div(self->m, SWIZZLE_ROWS) * SWIZZLE_ROWS);
        shape.cluster = 1;
    }
    const gr_matmul_job whole = job;
    /* Each group of warps of each slice has a C of its own. */
    const uint32_t sums = how.small != NULL && how.slices > 1 ? how.slices * how.small->groups : 1;
    job.c = gr_matmul_slices_buffer(self, sums, &whole);
    multiply(self, &shape, how.small != NULL ? how.small->entry : variant->rung.name, &how, &job);
    gr_matmul_add_slices(self, variant, sums, job.c, &whole);
}
