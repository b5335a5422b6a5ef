/* Helpers of all planners of convolutions: sizes and strides, kernel parameters, launches and grids. */
#include <inttypes.h>
#include <stddef.h>

#include "base/limits.h"
#include "conv/internal.h"

uint64_t gr_conv_output_count(const gr_conv *self) {
    return gr_conv_pixels(self) * self->groups * self->filters;
}

uint64_t gr_conv_pixels(const gr_conv *self) {
    return self->batch * self->height.out * self->width.out;
}

uint64_t gr_conv_taps(const gr_conv *self) {
    return self->height.kernel * self->width.kernel;
}

uint64_t gr_conv_filter_length(const gr_conv *self) {
    return gr_conv_taps(self) * self->channels;
}

uint64_t gr_conv_stride_of_3x3(const gr_conv *self) {
    enum { TAPS = 3 };
    const gr_conv_axis *height = &self->height, *width = &self->width;
    return height->kernel == TAPS && width->kernel == TAPS && height->dilation == 1 && width->dilation == 1 &&
                   height->stride == width->stride
               ? height->stride
               : 0;
}

const char *gr_conv_layout_suffix(const gr_conv *self) {
    return self->layout == GR_CONV_NHWC ? "_nhwc" : "_nchw";
}

/* Returns the strides of an array in C order of the layout. */
static gr_conv_strides dense_strides(gr_conv_layout layout, uint64_t height, uint64_t width,
                                     uint64_t channels) {
    const int64_t rows = (int64_t)height, columns = (int64_t)width, depth = (int64_t)channels;
    return layout == GR_CONV_NHWC ? (gr_conv_strides){rows * columns * depth, columns * depth, depth, 1}
                                  : (gr_conv_strides){rows * columns * depth, columns, 1, rows * columns};
}

gr_conv_array gr_conv_array_of_x(gr_conv *self, gr_conv_job *job) {
    return (gr_conv_array){&self->x,          &job->x,          self->batch,
                           self->height.size, self->width.size, self->groups * self->channels};
}

gr_conv_array gr_conv_array_of_w(gr_conv *self, gr_conv_job *job) {
    return (gr_conv_array){
        &self->w,           &job->w,       self->groups * self->filters, self->height.kernel,
        self->width.kernel, self->channels};
}

uint64_t gr_conv_array_count(const gr_conv_array *of) {
    return of->outer * of->height * of->width * of->channels;
}

gr_conv_view gr_conv_dense_view(const gr_conv_array *of, gr_conv_layout layout) {
    return (gr_conv_view){dense_strides(layout, of->height, of->width, of->channels), true};
}

bool gr_conv_is_dense(const gr_conv_array *of, gr_conv_layout layout) {
    const gr_conv_strides dense = gr_conv_dense_view(of, layout).strides, *strides = &of->view->strides;
    return of->view->aligned && (of->outer == 1 || strides->outer == dense.outer) &&
           (of->height == 1 || strides->row == dense.row) &&
           (of->width == 1 || strides->column == dense.column) &&
           (of->channels == 1 || strides->channel == dense.channel);
}

uint64_t gr_conv_extent_read(const gr_conv_axis *axis, uint64_t results) {
    return (results - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

enum { MAX_EXTENT = 1 << 30 }; /* exclusive bound of padded heights and widths, and of products per result */

static bool is_short(const gr_conv_axis *axis) {
    return axis->size < MAX_EXTENT && axis->kernel < MAX_EXTENT && axis->out < MAX_EXTENT &&
           (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation < MAX_EXTENT;
}

bool gr_conv_fits_32_bits(const gr_conv *self) {
    uint64_t image, products;
    return is_short(&self->height) && is_short(&self->width) &&
           !__builtin_mul_overflow(self->height.size * self->width.size, self->groups * self->channels,
                                   &image) &&
           image < INT32_MAX && !__builtin_mul_overflow(gr_conv_taps(self), self->channels, &products) &&
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
        .of_out =
            dense_strides(self->layout, self->height.out, self->width.out, self->groups * self->filters),
    };
}

const gr_conv_variant *gr_conv_rung(const char *name) {
    gr_error ignored;
    return gr_rung_find(&gr_conv_ladder, name, &ignored);
}

gr_step *gr_conv_launch(const gr_conv *self, const gr_conv_job *job, const char *form, const void *params,
                        size_t bytes, gr_conv_grid grid) {
    const gr_rung *rung = &job->variant->rung;
    gr_step *step = gr_program_step(job->program, GR_STEP_LAUNCH, params, bytes);
    gr_program_relocate(job->program, offsetof(gr_conv_params, x), job->x);
    gr_program_relocate(job->program, offsetof(gr_conv_params, w), job->w);
    gr_program_relocate(job->program, offsetof(gr_conv_params, out), job->out);
    step->kernel.owner = rung->name;
    GR_KERNEL_NAME(step->kernel.file, rung->file);
    GR_KERNEL_NAME(step->kernel.entry, rung->name, "_", gr_dtypes[self->dtype].name, form);
    step->shared_bytes = job->variant->shared;
    gr_conv_set_grid(job->program, step, grid, job->variant->threads);
    return step;
}

void gr_conv_set_grid(gr_program *program, gr_step *step, gr_conv_grid grid, uint32_t threads) {
    const uint64_t x = grid.x, y = grid.y > 0 ? grid.y : 1, z = grid.z > 0 ? grid.z : 1;
    if (x > GR_MAX_GRID || y > GR_MAX_GRID_YZ || z > GR_MAX_GRID_YZ)
        gr_program_fail(program, GR_ERR_VALUE,
                        "x, w: %" PRIu64 " by %" PRIu64 " by %" PRIu64 " blocks are more than a grid has", x,
                        y, z);
    step->grid[0] = (uint32_t)x;
    step->grid[1] = (uint32_t)y;
    step->grid[2] = (uint32_t)z;
    step->block[0] = threads;
}
