/* Implements kind.h: the table of kernels by dtype, and the launch that all plans share. */
#include "groups/kind.h"

#include <stddef.h>

#include "base/limits.h"

gr_group_kind gr_group_kind_of(gr_op op, gr_dtype dtype) {
    static const gr_group_kind floats[GR_DTYPE_COUNT] = {
        [GR_DTYPE_f32] = {"f32", GR_GROUP_FLOAT_PLANES, 1, 4, 2, "f32"},
        [GR_DTYPE_f16] = {"f16", GR_GROUP_HALF_PLANES, 1, 2, 2, "f16"},
        [GR_DTYPE_bf16] = {"bf16", GR_GROUP_FLOAT_PLANES, 1, 2, 2, "bf16"},
        [GR_DTYPE_f64] = {"f64", GR_GROUP_DOUBLE_PLANES, 1, 8, 3, "f64"},
        [GR_DTYPE_c64] = {"f32", GR_GROUP_FLOAT_PLANES, 2, 4, 0, NULL},
        [GR_DTYPE_c128] = {"f64", GR_GROUP_DOUBLE_PLANES, 2, 8, 0, NULL},
    };
    static const char *const window_names[GR_DTYPE_COUNT] = {
        [GR_DTYPE_i32] = "i32", [GR_DTYPE_u32] = "u32", [GR_DTYPE_i64] = "i64", [GR_DTYPE_u64] = "i64"};
    if (gr_dtypes[dtype].kind != GR_KIND_BITS)
        return floats[dtype];
    const bool mean = gr_op_is_mean(op);
    const uint32_t bytes = (uint32_t)gr_dtypes[dtype].item_bytes;
    /* A window has 64 bits: means of elements as wide need more. */
    const bool windows = window_names[dtype] != NULL && !(mean && bytes == 8);
    return (gr_group_kind){"integers",         mean ? GR_GROUP_INTEGER_PLANES : 1, 1, bytes, windows ? 2 : 0,
                           window_names[dtype]};
}

uint64_t gr_group_window_bytes(const gr_groups *self, const gr_group_kind *of, uint64_t groups,
                               uint32_t windows) {
    return gr_ceil_div(groups * (windows * of->words + gr_op_is_mean(self->op)), 4) * 16;
}

bool gr_group_is_contiguous(const gr_groups *self, const gr_group_kind *of) {
    const size_t item = gr_dtypes[self->dtype].item_bytes, label = gr_dtypes[self->label_dtype].item_bytes;
    return of->words > 0 && self->lines == 1 && self->inner == 1 && (label == 4 || label == 8) &&
           (self->length <= 1 || ((self->along_stride == (int64_t)item || gr_group_repeats(self)) &&
                                  self->label_stride == (int64_t)label));
}

bool gr_group_repeats(const gr_groups *self) {
    return self->length > 1 && self->along_stride == 0 && gr_dtypes[self->dtype].kind == GR_KIND_BITS;
}

gr_step *gr_group_step(gr_program *program, const void *params, size_t bytes, const gr_device_caps *caps,
                       uint64_t blocks) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    step->grid[0] = (uint32_t)blocks;
    step->block[0] = GR_GROUP_THREADS;
    step->pdl = caps->capability >= GR_HOPPER;
    step->kernel.owner = "group_reduce";
    return step;
}

gr_step *gr_group_launch(gr_program *program, const void *params, size_t bytes, const gr_group_buffers *at,
                         const gr_device_caps *caps, uint64_t blocks) {
    gr_step *step = gr_group_step(program, params, bytes, caps, blocks);
#define RELOCATE(field) gr_program_relocate(program, offsetof(gr_group_params, field), at->field)
    RELOCATE(in);
    RELOCATE(labels);
    RELOCATE(out);
    RELOCATE(header);
    RELOCATE(planes);
    RELOCATE(flags);
    if (at->has_counts)
        RELOCATE(counts);
    if (at->has_slabs)
        RELOCATE(slabs);
#undef RELOCATE
    return step;
}
