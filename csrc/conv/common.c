/* Helpers of all planners of convolutions: sizes and strides, kernel parameters, launches and grids. */
#include <inttypes.h>
#include <stddef.h>

#include "base/limits.h"
#include "conv/internal.h"

enum { MAX_BLOCKS_YZ = 65535 }; /* CUDA's limit of grid.y and grid.z */

uint64_t gr_conv_output_count(const gr_conv *self) {
    return self->batch * self->height.out * self->width.out * self->groups * self->filters;
}

gr_conv_strides gr_conv_dense_strides(gr_conv_layout layout, uint64_t height, uint64_t width,
                                      uint64_t channels) {
    const int64_t rows = (int64_t)height, columns = (int64_t)width, depth = (int64_t)channels;
    return layout == GR_CONV_NHWC ? (gr_conv_strides){rows * columns * depth, columns * depth, depth, 1}
                                  : (gr_conv_strides){rows * columns * depth, columns, 1, rows * columns};
}

bool gr_conv_is_dense(const gr_conv_view *view, gr_conv_layout layout, uint64_t outer, uint64_t height,
                      uint64_t width, uint64_t channels) {
    const gr_conv_strides dense = gr_conv_dense_strides(layout, height, width, channels),
                          *strides = &view->strides;
    return view->aligned && (outer == 1 || strides->outer == dense.outer) &&
           (height == 1 || strides->row == dense.row) && (width == 1 || strides->column == dense.column) &&
           (channels == 1 || strides->channel == dense.channel);
}

uint64_t gr_conv_extent_read(const gr_conv_axis *axis, uint64_t results) {
    return (results - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

enum { MAX_EXTENT = 1 << 30 }; /* exclusive bound of padded heights and widths, and of products per result */

static bool is_short(const gr_conv_axis *axis) {
    return axis->size < MAX_EXTENT && axis->kernel < MAX_EXTENT && axis->out < MAX_EXTENT &&
           (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation < MAX_EXTENT;
}

bool gr_conv_fits_32_bits(const gr_conv *self, const gr_conv_variant *variant) {
    uint64_t image, products;
    (void)variant;
    return is_short(&self->height) && is_short(&self->width) &&
           !__builtin_mul_overflow(self->height.size * self->width.size, self->groups * self->channels,
                                   &image) &&
           image < INT32_MAX &&
           !__builtin_mul_overflow(self->height.kernel * self->width.kernel, self->channels, &products) &&
           products < MAX_EXTENT;
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
