#include "conv/direct.h"

#include "base/limits.h"

enum {
    MAX_EXTENT = 1 << 30
}; /* rows and columns of a padded picture are fewer, and the products of a result */

static bool fits(const gr_conv_axis *axis) {
    return axis->size < MAX_EXTENT && axis->kernel < MAX_EXTENT && axis->out < MAX_EXTENT &&
           (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation < MAX_EXTENT;
}

bool gr_conv_fits_32_bits(const gr_conv *self, const gr_conv_variant *variant) {
    uint64_t image, products;
    (void)variant;
    return fits(&self->height) && fits(&self->width) &&
           !__builtin_mul_overflow(self->height.size * self->width.size, self->groups * self->channels,
                                   &image) &&
           image < INT32_MAX &&
           !__builtin_mul_overflow(self->height.kernel * self->width.kernel, self->channels, &products) &&
           products < MAX_EXTENT;
}

static const char *form(const gr_conv *self) {
    return self->layout == GR_CONV_NHWC ? "_nhwc" : "_nchw";
}

/* ---- tiles of a product ---- */

gr_status gr_conv_implicit_gemm(const gr_conv *self, const gr_conv_variant *variant,
                                const gr_device_info *info, const gr_conv_operands *operands,
                                gr_program *program, gr_error *error) {
    enum { PIXELS = 128, FILTERS = 32, WARP_FILTERS = 4, WARP = 32 };
    (void)info;
    gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                   .filter_tiles = gr_ceil_div(self->filters, FILTERS)};
    params.filters =
        gr_ceil_div(gr_ceil_div(self->filters, params.filter_tiles), WARP_FILTERS) * WARP_FILTERS;
    const uint64_t pixels = self->batch * self->height.out * self->width.out;
    gr_step *step = gr_conv_launch(self, variant, form(self), &params, sizeof params, operands, program);
    return gr_conv_set_grid(step, params.filter_tiles * self->groups * gr_ceil_div(pixels, PIXELS), 1, 1,
                            (uint32_t)(params.filters / WARP_FILTERS * WARP), error);
}

/* ---- rectangles ---- */

/* Elements of x, along an axis, that so many results see. */
static uint64_t extent_read(const gr_conv_axis *axis, uint64_t results) {
    return (results - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

gr_status gr_conv_direct(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                         const gr_conv_operands *operands, gr_program *program, gr_error *error) {
    enum { ROWS = 8, COLUMNS = 64, FILTERS = 24, VEC4_BYTES = 16, TWO_BLOCKS_BYTES = 100 << 10 };
    gr_conv_tiles_params params = {
        .conv = gr_conv_make_params(self),
        .filter_tiles = gr_ceil_div(self->filters, FILTERS),
        .filters = FILTERS,
        .tiles_x = gr_ceil_div(self->width.out, COLUMNS),
        .tiles_y = gr_ceil_div(self->height.out, ROWS),
        .rows = extent_read(&self->height, ROWS),
        .columns = extent_read(&self->width, COLUMNS),
        .channel_vec4s = 1,
    };
    const uint64_t channel_vec4s = gr_ceil_div(self->channels, 4);
    const uint64_t taps = self->height.kernel * self->width.kernel;
    const uint64_t each = (params.rows * params.columns + taps * FILTERS) * VEC4_BYTES; /* bytes of a quad */
    if (params.rows * params.columns > info->caps.shared_per_block || each > info->caps.shared_per_block) {
        gr_status status = gr_conv_find("c2", &variant, error);
        return status == GR_OK ? gr_conv_implicit_gemm(self, variant, info, operands, program, error)
                               : status;
    }
    while (params.channel_vec4s < channel_vec4s && (params.channel_vec4s + 1) * each <= TWO_BLOCKS_BYTES)
        ++params.channel_vec4s;
    gr_step *step = gr_conv_launch(self, variant, form(self), &params, sizeof params, operands, program);
    step->shared_bytes = (uint32_t)(params.channel_vec4s * each);
    return gr_conv_set_grid(
        step, params.filter_tiles * self->groups * params.tiles_x * params.tiles_y * self->batch, 1, 1,
        variant->threads, error);
}

/* ---- rows that stream by ---- */

enum { ROWS = 16, COLUMNS = 32, MAX_BLOCKS_YZ = 65535 /* along y, and along z */ };

bool gr_conv_direct_rows_supports(const gr_conv *self) {
    enum { TAPS = 3, CHANNELS = 12 };
    const gr_conv_axis *axes[] = {&self->height, &self->width};
    bool fits = self->channels == CHANNELS && (self->groups == 1 || self->layout == GR_CONV_NCHW) &&
                gr_ceil_div(self->height.out, ROWS) <= MAX_BLOCKS_YZ &&
                self->batch * self->groups <= MAX_BLOCKS_YZ;
    for (int i = 0; i < 2; ++i)
        fits = fits && axes[i]->kernel == TAPS && axes[i]->stride == 1 && axes[i]->dilation == 1;
    return fits;
}

gr_status gr_conv_direct_rows(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                              const gr_conv_operands *operands, gr_program *program, gr_error *error) {
    enum { FILTERS = 24 };
    if (!gr_conv_direct_rows_supports(self)) {
        const gr_status status = gr_conv_find("c3", &variant, error);
        return status == GR_OK ? gr_conv_direct(self, variant, info, operands, program, error) : status;
    }
    const gr_conv_tiles_params params = {
        .conv = gr_conv_make_params(self),
        .filter_tiles = gr_ceil_div(self->filters, FILTERS),
        .filters = FILTERS,
    };
    gr_step *step = gr_conv_launch(self, variant, form(self), &params, sizeof params, operands, program);
    step->pdl = true;
    return gr_conv_set_grid(step, params.filter_tiles * gr_ceil_div(self->width.out, COLUMNS),
                            gr_ceil_div(self->height.out, ROWS), self->batch * self->groups, variant->threads,
                            error);
}
