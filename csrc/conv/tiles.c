#include "conv/tiles.h"

#include "base/limits.h"

enum { SHORT = 1 << 30 }; /* rows and columns of a padded picture are fewer, and the products of a result */

static bool is_short(const gr_conv_axis *axis) {
    return axis->size < SHORT && axis->kernel < SHORT && axis->out < SHORT &&
           (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation < SHORT;
}

bool gr_conv_tiles_take(const gr_conv *self, const gr_conv_variant *variant) {
    uint64_t picture, products;
    (void)variant;
    return is_short(&self->down) && is_short(&self->along) &&
           !__builtin_mul_overflow(self->down.size * self->along.size, self->groups * self->channels,
                                   &picture) &&
           picture < INT32_MAX &&
           !__builtin_mul_overflow(self->down.kernel * self->along.kernel, self->channels, &products) &&
           products < SHORT;
}

static const char *form(const gr_conv *self) {
    return self->layout == GR_CONV_NHWC ? "_nhwc" : "_nchw";
}

/* ---- tiles of a product ---- */

gr_status gr_conv_by_product(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                             const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    enum { PIXELS = 128, FILTERS = 32, WARP_FILTERS = 4, WARP = 32 };
    (void)info;
    gr_conv_tiles_params params = {.conv = gr_conv_describe(self),
                                   .parts = gr_ceil_div(self->filters, FILTERS)};
    params.filters = gr_ceil_div(gr_ceil_div(self->filters, params.parts), WARP_FILTERS) * WARP_FILTERS;
    const uint64_t pixels = self->batch * self->down.out * self->along.out;
    gr_step *step = gr_conv_launch(self, variant, form(self), &params, sizeof params, ends, program);
    return gr_conv_spread(step, params.parts * self->groups * gr_ceil_div(pixels, PIXELS), 1, 1,
                          (uint32_t)(params.filters / WARP_FILTERS * WARP), error);
}

/* ---- rectangles ---- */

/* Elements of x, along an axis, that so many results see. */
static uint64_t seen(const gr_conv_axis *axis, uint64_t results) {
    return (results - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

gr_status gr_conv_by_rectangles(const gr_conv *self, const gr_conv_variant *variant,
                                const gr_device_info *info, const gr_conv_ends *ends, gr_program *program,
                                gr_error *error) {
    enum { ROWS = 8, COLUMNS = 64, FILTERS = 24, QUAD = 16, GOOD = 100 << 10 };
    gr_conv_tiles_params params = {
        .conv = gr_conv_describe(self),
        .parts = gr_ceil_div(self->filters, FILTERS),
        .filters = FILTERS,
        .across = gr_ceil_div(self->along.out, COLUMNS),
        .down = gr_ceil_div(self->down.out, ROWS),
        .rows = seen(&self->down, ROWS),
        .columns = seen(&self->along, COLUMNS),
        .quads = 1,
    };
    const uint64_t quads = gr_ceil_div(self->channels, 4);
    const uint64_t taps = self->down.kernel * self->along.kernel;
    const uint64_t each = (params.rows * params.columns + taps * FILTERS) * QUAD; /* bytes of a quad */
    if (params.rows * params.columns > info->can.shared_per_block || each > info->can.shared_per_block) {
        gr_status status = gr_conv_find("c2", &variant, error);
        return status == GR_OK ? gr_conv_by_product(self, variant, info, ends, program, error) : status;
    }
    while (params.quads < quads && (params.quads + 1) * each <= GOOD)
        ++params.quads;
    gr_step *step = gr_conv_launch(self, variant, form(self), &params, sizeof params, ends, program);
    step->shared_bytes = (uint32_t)(params.quads * each);
    return gr_conv_spread(step, params.parts * self->groups * params.across * params.down * self->batch, 1, 1,
                          variant->threads, error);
}

/* ---- rows that stream by ---- */

enum { ROWS = 16, COLUMNS = 32, MOST_BLOCKS = 65535 /* along y, and along z */ };

bool gr_conv_rows_fit(const gr_conv *self) {
    enum { TAPS = 3, CHANNELS = 12 };
    const gr_conv_axis *axes[] = {&self->down, &self->along};
    bool fits = self->channels == CHANNELS && (self->groups == 1 || self->layout == GR_CONV_NCHW) &&
                gr_ceil_div(self->down.out, ROWS) <= MOST_BLOCKS && self->batch * self->groups <= MOST_BLOCKS;
    for (int i = 0; i < 2; ++i)
        fits = fits && axes[i]->kernel == TAPS && axes[i]->stride == 1 && axes[i]->dilation == 1;
    return fits;
}

gr_status gr_conv_by_rows(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                          const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    enum { FILTERS = 24 };
    if (!gr_conv_rows_fit(self)) {
        const gr_status status = gr_conv_find("c3", &variant, error);
        return status == GR_OK ? gr_conv_by_rectangles(self, variant, info, ends, program, error) : status;
    }
    const gr_conv_tiles_params params = {
        .conv = gr_conv_describe(self),
        .parts = gr_ceil_div(self->filters, FILTERS),
        .filters = FILTERS,
    };
    gr_step *step = gr_conv_launch(self, variant, form(self), &params, sizeof params, ends, program);
    step->overlap = true;
    return gr_conv_spread(step, params.parts * gr_ceil_div(self->along.out, COLUMNS),
                          gr_ceil_div(self->down.out, ROWS), self->batch * self->groups, variant->threads,
                          error);
}
