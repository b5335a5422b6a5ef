/* Products whose tiles the copy engine brings: operands are described to it by tensor maps. */
#include <stddef.h>

#include "base/limits.h"
#include "matmul/plan.h"

enum { BOX_BYTES = 128, ALIGNMENT = 16 }; /* of a row of a box; of addresses and of strides */

/* The matrices of a side as one dimension: how many steps of `unit` elements each dimension of the stack
   goes, which takes the place of its strides. */
typedef struct matrices {
    uint64_t unit, count;
} matrices;

static uint64_t divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static matrices count_steps(const gr_matmul_side *side, const uint64_t *stack, int64_t *steps) {
    matrices found = {.unit = 0, .count = 1};
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        found.unit = divisor(found.unit, (uint64_t)side->stack[d]);
    for (int d = 0; d < GR_MATMUL_STACKS; ++d) {
        steps[d] = found.unit == 0 ? 0 : (int64_t)((uint64_t)side->stack[d] / found.unit);
        found.count += (uint64_t)steps[d] * (stack[d] - 1);
    }
    return found;
}

bool gr_matmul_maps_take(const gr_matmul_side *side, uint64_t columns, size_t item_bytes) {
    const int64_t each = ALIGNMENT / (int64_t)item_bytes;
    bool good =
        side->aligned && (side->column == 1 || columns <= 1) && side->row > 0 && side->row % each == 0;
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        good = good && side->stack[d] >= 0 && side->stack[d] % each == 0;
    return good;
}

uint64_t gr_matmul_maps_pitch(uint64_t columns, size_t item_bytes) {
    return gr_ceil_div(columns, ALIGNMENT / item_bytes) * (ALIGNMENT / item_bytes);
}

static gr_tensor_type type_of(gr_dtype dtype, gr_precision precision) {
    if (dtype == GR_DTYPE_f16)
        return GR_TENSOR_F16;
    if (dtype == GR_DTYPE_bf16)
        return GR_TENSOR_BF16;
    return precision == GR_PRECISION_TF32 ? GR_TENSOR_TF32 : GR_TENSOR_F32;
}

/* A map of `count` matrices, `apart` elements from one to the next. */
static gr_tensor tensor_of(uint64_t rows, uint64_t columns, int64_t row, uint64_t count, uint64_t apart,
                           uint32_t box_rows, size_t item_bytes, gr_tensor_type type) {
    const uint64_t pitch = (uint64_t)row * item_bytes;
    return (gr_tensor){
        .type = type,
        .swizzle = GR_SWIZZLE_128,
        .rank = 3,
        .sizes = {columns, rows, count},
        .strides = {pitch, apart > 0 ? apart * item_bytes : pitch * rows},
        .box = {(uint32_t)(BOX_BYTES / item_bytes), box_rows, 1},
    };
}

gr_status gr_matmul_maps_multiply(const gr_matmul *self, const gr_matmul_side *a, const gr_matmul_side *b,
                                  const gr_matmul_variant *variant, const gr_matmul_ends *ends,
                                  gr_program *program, gr_error *error) {
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    const gr_tensor_type type = type_of(self->dtype, variant->precision);
    const uint64_t pairs = gr_matmul_count(self->stack), across = gr_ceil_div(self->n, variant->columns);
    const bool of_c =
        variant->c_box > 0 && (self->out_aligned || self->aside) && self->n * item_bytes % ALIGNMENT == 0;
    gr_matmul_maps params = {.product = {.m = self->m,
                                         .n = self->n,
                                         .k = self->k,
                                         .a_row = a->row,
                                         .b_row = b->row,
                                         .across = across,
                                         .pairs = pairs},
                             .map_of_c = of_c};
    const matrices of_a = count_steps(a, self->stack, params.product.a_stack);
    const matrices of_b = count_steps(b, self->stack, params.product.b_stack);
    for (int d = 0; d < GR_MATMUL_STACKS; ++d)
        params.product.stack[d] = self->stack[d];
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->shared_bytes = variant->shared;
    gr_program_place(program, offsetof(gr_matmul_maps, product.c), ends->c);
    const gr_tensor map_a =
        tensor_of(self->m, self->k, a->row, of_a.count, of_a.unit, variant->a_box, item_bytes, type);
    const gr_tensor map_b =
        tensor_of(self->k, self->n, b->row, of_b.count, of_b.unit, variant->b_box, item_bytes, type);
    const gr_tensor map_c = tensor_of(self->m, self->n, (int64_t)self->n, pairs, self->m * self->n,
                                      variant->c_box, item_bytes, type);
    gr_program_map(program, offsetof(gr_matmul_maps, a), ends->a, &map_a);
    gr_program_map(program, offsetof(gr_matmul_maps, b), ends->b, &map_b);
    if (of_c)
        gr_program_map(program, offsetof(gr_matmul_maps, c), ends->c, &map_c);
    gr_matmul_name(variant, self->dtype, NULL, &step->kernel);
    uint64_t clusters = gr_ceil_div(self->m, variant->rows * variant->cluster) * across;
    const uint64_t most = gr_reference_limits.multiprocessors / variant->cluster;
    if (variant->blocks == GR_MATMUL_PERSISTENT && clusters > most)
        clusters = most;
    step->cluster[0] = variant->cluster;
    step->overlap = step->one_param = true;
    return gr_matmul_spread(step, clusters * variant->cluster, pairs, variant->threads, error);
}
