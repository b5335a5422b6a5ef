/* Small products: chooses the kernels of products with few columns, few rows or a short k, and plans
   matmul_small and matmul_deep, which read operands of any strides without copies and split k between blocks.
   The order of the sums depends on n, k and the dtype alone. Both kernels add up float64 in the order of t5
   and a part of halves in the order of t3, except those that groups of warps share, so that the choice
   between these kernels may also depend on the number of rows and on the strides. */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "matmul/internal.h"
#include "matmul/short/params.h"

enum {
    NARROW = 32, /* columns of C per tile of the kernels for few columns */
    WIDE = 64,   /* columns of C per tile of the other kernels */
    VECTOR_BYTES = 16,
    PART_BYTES = 512,       /* min. bytes along k of each of up to MANY_PARTS parts (split-K) */
    LONG_PART_BYTES = 1024, /* min. bytes along k of each of more parts; a k of no more bytes is not split */
    MANY_PARTS = 8,         /* parts from which on each has LONG_PART_BYTES */
    MAX_PARTS = 64,         /* of k */
    SHORTEST_K = 16,        /* k of halves up to which the kernel of dtypes without a rung takes less time */
    FEW_COLUMNS = 8,        /* columns of TF32 up to which matmul_columns takes less time, in float32 */
    ORDERED_K = 64,         /* k of halves up to which their sums have the order of t3 */
    SHORTEST_SINGLE_K = 32, /* k of TF32 up to which the kernels of float32 take less time */
    SHORT_K = 128,          /* k of TF32 up to which up to NARROW columns take matmul_small, and more columns
                               the kernels of float32, if B has up to SMALL_WEIGHTS elements */
    SPLIT_K = 1024, /* k of TF32, if odd (is_odd), from which on kernels of float32 split up to NARROW columns
                       into enough parts */
    LONG_K = 8192,  /* k from which on the kernel that splits k between more blocks takes less time */
    SMALL_WEIGHTS =
        1 << 14,           /* elements of B up to which reading A once per tile of columns takes less time */
    SMALL_COLUMNS = 128,   /* columns up to which halves with SMALL_WEIGHTS take matmul_small */
    ODD_WEIGHTS = 1 << 15, /* elements of B of halves up to which matmul_small takes less time than t3 with a
                              copy of an operand */
    ODD_SINGLE_COLUMNS = 256, /* columns of TF32 with an odd k (is_odd) up to which matmul_small takes less
                                 time than copies of A, if B has up to ODD_SINGLE_WEIGHTS elements */
    ODD_SINGLE_WEIGHTS = 1 << 16, /* elements of B of that limit */
    LONG_SPLIT_K = 2048,       /* k of halves from which on more than NARROW columns are split into parts that
                                  have the order of t3 */
    STEP_BYTES = 128,          /* bytes along k of a k-step of the kernels of halves without groups */
    DEEP_STEPS = 5,            /* k-steps of a part of float64 from which on matmul_deep takes less time */
    RESIDENT_BLOCKS = 2 * 132, /* of matmul_small on the reference device: two per SM */
    SMALL_DOUBLE_FMAS = 1 << 16, /* multiply-adds of float64 up to which t5 takes longer */
    LIGHT_DOUBLE_FMAS = 1 << 26, /* multiply-adds of float64 up to which copies for t5 take longer, with more
                                    than FEW_DOUBLES rows and columns (H200: 501 x 501 x 501, which has more,
                                    takes 27.2 us, and 20.3 with copies) */
    FEW_DOUBLES = 128,           /* rows or columns of float64 up to which the limit above does not apply */
};

/* Returns whether rows of this many elements are no multiples of 16 bytes, so that TMA needs copies. */
static bool is_odd(const gr_matmul *self, uint64_t elements) {
    return elements % (VECTOR_BYTES / gr_dtypes[self->dtype].item_bytes) != 0;
}

/* Returns whether halves have few columns or a short k, whose sums matmul_small may split into parts. */
static bool is_split_half(const gr_matmul *self) {
    const uint64_t n = self->n, k = self->k;
    if (k <= ORDERED_K)
        return false;
    if (n <= SMALL_COLUMNS && n * k <= SMALL_WEIGHTS)
        return true;
    return is_odd(self, n) || is_odd(self, k) ? n <= WIDE || n * k <= ODD_WEIGHTS : n <= WIDE && k >= LONG_K;
}

/* Which operands t3 or t5 would copy, because TMA cannot read them. */
typedef struct copies {
    bool a, b;
} copies;

static copies find_copies(const gr_matmul *self) {
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    gr_matmul_view a = self->a, b = self->b;
    if (self->m == 1) /* the stride of a single row does not matter */
        a.row = VECTOR_BYTES;
    if (self->k == 1)
        b.row = VECTOR_BYTES;
    return (copies){!gr_matmul_tma_supports(&a, self->k, item_bytes),
                    !gr_matmul_tma_supports(&b, self->n, item_bytes) &&
                        !gr_matmul_tma_supports_k_major(self)};
}

/* Returns the number of waves on the reference device of blocks that each compute a tile of `columns` columns
   from one of `parts` parts of k. */
static uint64_t count_waves(const gr_matmul *self, uint64_t columns, uint64_t parts) {
    return gr_ceil_div(gr_ceil_div(self->m, GR_MATMUL_SMALL_ROWS) * gr_ceil_div(self->n, columns) * parts *
                           gr_matmul_stack_count(self->stack),
                       RESIDENT_BLOCKS);
}

/* Returns whether halves are split into parts that have the order of t3. */
static bool has_ordered_parts(const gr_matmul *self) {
    return is_split_half(self) && self->n > NARROW && self->k >= LONG_SPLIT_K;
}

/* Returns whether each sum of halves is computed in the order of k, and not by groups of warps. */
static bool is_ordered_half(const gr_matmul *self) {
    return (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16) &&
           (!is_split_half(self) || has_ordered_parts(self));
}

/* Returns whether TF32 has few columns or a short k, or the rung would copy A. */
static bool is_small_tf32(const gr_matmul *self) {
    const uint64_t n = self->n, k = self->k;
    return (n <= NARROW && k <= SHORT_K) ||
           (is_odd(self, k) && (n <= WIDE || (n <= ODD_SINGLE_COLUMNS && n * k <= ODD_SINGLE_WEIGHTS)));
}

/* Returns whether float64 has few multiply-adds, or its copies for t5 take longer than the product. */
static bool is_small_double(const gr_matmul *self) {
    const uint64_t m = self->m, n = self->n, k = self->k;
    const uint64_t waves = count_waves(self, NARROW, gr_matmul_double_parts(self));
    if (waves == 1 && (k < SHORTEST_K || m * n * k <= SMALL_DOUBLE_FMAS))
        return true;
    const copies of = find_copies(self);
    const uint64_t copied = (of.a ? m * k : 0) + (of.b ? k * n : 0);
    const bool is_light = m <= FEW_DOUBLES || n <= FEW_DOUBLES || m * n * k <= LIGHT_DOUBLE_FMAS;
    return copied > 0 && is_light && (waves == 1 || 2 * copied > m * k + k * n + m * n);
}

/* Returns into how many parts k is divided. */
static uint64_t count_parts(const gr_matmul *self) {
    if (self->dtype == GR_DTYPE_f64)
        return gr_matmul_double_parts(self);
    const uint64_t bytes = self->k * gr_dtypes[self->dtype].item_bytes;
    if (is_ordered_half(self))
        return has_ordered_parts(self) ? gr_min(gr_ceil_div(bytes, LONG_PART_BYTES), MAX_PARTS) : 1;
    const uint64_t parts = gr_max(gr_min(bytes / PART_BYTES, MANY_PARTS), bytes / LONG_PART_BYTES);
    return bytes <= LONG_PART_BYTES ? 1 : gr_min(parts, MAX_PARTS);
}

/* Returns the number of k-steps of a part. */
static uint64_t count_steps(const gr_matmul *self, uint64_t step_bytes) {
    return gr_ceil_div(gr_ceil_div(self->k, count_parts(self)) * gr_dtypes[self->dtype].item_bytes,
                       step_bytes);
}

/* The estimates below are of halves in microseconds on an H200, fitted to 28 products of 3 x 1019 x 155 to
   5292 x 1023 x 127. */

/* Returns the time of matmul_small without groups. */
static double estimate_small(const gr_matmul *self) {
    const uint64_t parts = count_parts(self), waves = count_waves(self, WIDE, parts);
    const double steps = (double)count_steps(self, STEP_BYTES);
    const bool is_alone = count_waves(self, WIDE, 2 * parts) == 1; /* a block has an SM of its own */
    return (waves > 1  ? (double)waves * (3.2 + 1.05 * steps)
            : is_alone ? 2.2 + 0.85 * steps
                       : 2.4 + 1.08 * steps) +
           (parts > 1 ? 2 : 0);
}

/* Returns the time of t3 and of the copies that it needs. */
static double estimate_rung(const gr_matmul *self, copies of) {
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    const uint64_t copied = (of.a ? self->m * self->k : 0) + (of.b ? self->k * self->n : 0);
    return 2 + 0.2 * (double)gr_ceil_div(self->k * item_bytes, STEP_BYTES) + (of.a && of.b ? 8.5 : 5) +
           (double)(copied * item_bytes * gr_matmul_stack_count(self->stack)) / 0.54e6;
}

/* Returns the time of matmul_deep, whose blocks all have an SM of their own. */
static double estimate_deep(const gr_matmul *self) {
    return 4.6 + 1.7 * (double)count_steps(self, GR_MATMUL_DEEP_BYTES) + (count_parts(self) > 1 ? 1.5 : 0);
}

/* Returns whether matmul_deep has a block per SM at most, and takes less time than matmul_small and, for
   halves of one part that need copies, t3. */
static bool prefers_deep(const gr_matmul *self, const gr_device_info *info) {
    const uint64_t parts = count_parts(self);
    const uint64_t blocks = gr_ceil_div(self->m, GR_MATMUL_SMALL_ROWS) *
                            gr_ceil_div(self->n, GR_MATMUL_DEEP_COLUMNS) * parts *
                            gr_matmul_stack_count(self->stack);
    if (info->caps.shared_per_block < GR_MATMUL_DEEP_SHARED || blocks > RESIDENT_BLOCKS / 2)
        return false;
    if (self->dtype == GR_DTYPE_f64)
        return count_steps(self, GR_MATMUL_DEEP_BYTES) >= DEEP_STEPS;
    if (!is_ordered_half(self) || estimate_deep(self) >= estimate_small(self))
        return false;
    const copies of = find_copies(self);
    return parts > 1 || ((of.a || of.b) && estimate_deep(self) < estimate_rung(self, of));
}

/* Returns whether matmul_small takes less time than t3, of halves that are not split. */
static bool is_small_half(const gr_matmul *self) {
    const copies of = find_copies(self);
    return (of.a || of.b) && estimate_small(self) < estimate_rung(self, of);
}

bool gr_matmul_prefers_small(const gr_matmul *self, const gr_device_info *info) {
    if (self->variant != NULL || self->k == 0 || info->caps.capability < GR_HOPPER)
        return false;
    switch (self->dtype) {
    case GR_DTYPE_f16:
    case GR_DTYPE_bf16:
        return self->k > SHORTEST_K &&
               (is_split_half(self) || prefers_deep(self, info) || is_small_half(self));
    case GR_DTYPE_f32:
        return self->precision == GR_PRECISION_TF32 && is_small_tf32(self);
    case GR_DTYPE_f64:
        return prefers_deep(self, info) || is_small_double(self);
    default:
        return false;
    }
}

bool gr_matmul_prefers_ieee(const gr_matmul *self) {
    const uint64_t n = self->n, k = self->k;
    if (self->dtype != GR_DTYPE_f32 || self->precision != GR_PRECISION_TF32 || self->variant != NULL)
        return false;
    return k <= SHORTEST_SINGLE_K || n <= FEW_COLUMNS ||
           (n > NARROW && k <= SHORT_K && n * k <= SMALL_WEIGHTS) || (n <= WIDE && k >= LONG_K) ||
           (n <= NARROW && k >= SPLIT_K && is_odd(self, k));
}

bool gr_matmul_is_shortest(const gr_matmul *self) {
    return (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16) && self->variant == NULL &&
           self->k <= SHORTEST_K;
}

/* The kernels that keep the order of the rungs with few rows are those of a Hopper GPU and of the simulator.
 */
gr_matmul_order gr_matmul_order_of(const gr_matmul *self, const gr_device_info *info) {
    gr_matmul plain = *self;
    if (gr_matmul_prefers_ieee(self))
        plain.precision = GR_PRECISION_IEEE;
    if (self->n == 1 || self->k == 0 || info->caps.capability != GR_HOPPER ||
        gr_matmul_prefers_columns(&plain, info))
        return GR_MATMUL_ORDER_OTHER;
    if (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16)
        return self->k > SHORTEST_K && !is_split_half(self) ? GR_MATMUL_ORDER_K_STEPS : GR_MATMUL_ORDER_OTHER;
    if (self->dtype != GR_DTYPE_f32)
        return GR_MATMUL_ORDER_OTHER;
    if (plain.precision == GR_PRECISION_IEEE)
        return gr_matmul_invariant_parts(self) == 1 ? GR_MATMUL_ORDER_FMA : GR_MATMUL_ORDER_OTHER;
    return plain.precision == GR_PRECISION_TF32 && !is_small_tf32(self) ? GR_MATMUL_ORDER_K_STEPS
                                                                        : GR_MATMUL_ORDER_OTHER;
}

void gr_matmul_small(const gr_matmul *self, gr_matmul_job job) {
    const bool doubles = self->dtype == GR_DTYPE_f64;
    const bool ordered = is_ordered_half(self), deep = prefers_deep(self, job.info);
    const uint32_t columns = deep                                         ? GR_MATMUL_DEEP_COLUMNS
                             : !ordered && (self->n <= NARROW || doubles) ? NARROW
                                                                          : WIDE;
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
    const char *const suffix = self->precision == GR_PRECISION_TF32 ? "tf32" : gr_dtypes[self->dtype].name;
    GR_KERNEL_NAME(step->kernel.file, deep ? "matmul_deep" : "matmul_small");
    if (deep)
        GR_KERNEL_NAME(step->kernel.entry, "matmul_deep_", suffix);
    else
        GR_KERNEL_NAME(step->kernel.entry, "matmul_small_", columns == NARROW ? "32_" : "64_",
                       ordered ? "ordered_" : "", suffix);
    step->shared_bytes = deep ? GR_MATMUL_DEEP_SHARED : 0;
    step->pdl = true;
    gr_matmul_set_grid(program, step, tiles * product->slices, product->pairs,
                       deep ? GR_MATMUL_DEEP_THREADS : GR_MATMUL_THREADS);
}
