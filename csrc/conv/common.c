#include "conv/common.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/limits.h"

enum { MAX_BLOCKS_YZ = 65535 }; /* along y, and along z */

uint64_t gr_conv_output_count(const gr_conv *self) {
    return self->batch * self->height.out * self->width.out * self->groups * self->filters;
}

gr_conv_strides gr_conv_dense_strides(gr_conv_layout layout, uint64_t height, uint64_t width,
                                      uint64_t channels) {
    const int64_t rows = (int64_t)height, columns = (int64_t)width, depth = (int64_t)channels;
    return layout == GR_CONV_NHWC ? (gr_conv_strides){rows * columns * depth, columns * depth, depth, 1}
                                  : (gr_conv_strides){rows * columns * depth, columns, 1, rows * columns};
}

gr_conv_params gr_conv_make_params(const gr_conv *self) {
    return (gr_conv_params){
        .batch = self->batch,
        .groups = self->groups,
        .channels = self->channels,
        .filters = self->filters,
        .height = self->height,
        .width = self->width,
        .of_x = self->x.strides,
        .of_w = self->w.strides,
        .of_out = gr_conv_dense_strides(self->layout, self->height.out, self->width.out,
                                        self->groups * self->filters),
    };
}

gr_step *gr_conv_launch(const gr_conv *self, const gr_conv_variant *variant, const char *form,
                        const void *params, size_t bytes, const gr_conv_operands *operands,
                        gr_program *program) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    gr_program_relocate(program, offsetof(gr_conv_params, x), operands->x);
    gr_program_relocate(program, offsetof(gr_conv_params, w), operands->w);
    gr_program_relocate(program, offsetof(gr_conv_params, out), operands->out);
    step->kernel.owner = variant->rung.name;
    GR_KERNEL_NAME(step->kernel.file, variant->rung.file);
    GR_KERNEL_NAME(step->kernel.entry, variant->rung.name, "_", gr_dtypes[self->dtype].name, form);
    step->shared_bytes = variant->shared;
    return step;
}

gr_status gr_conv_set_grid(gr_step *step, uint64_t x, uint64_t y, uint64_t z, uint32_t threads,
                           gr_error *error) {
    if (x > GR_MAX_GRID || y > MAX_BLOCKS_YZ || z > MAX_BLOCKS_YZ)
        return gr_fail(error, GR_ERR_VALUE,
                       "x, w: %" PRIu64 " by %" PRIu64 " by %" PRIu64 " blocks are more than a grid has", x,
                       y, z);
    step->grid[0] = (uint32_t)x;
    step->grid[1] = (uint32_t)y;
    step->grid[2] = (uint32_t)z;
    step->block[0] = threads;
    return GR_OK;
}
