/* Direct convolution on CUDA cores. c3: a thread block keeps a rectangle of x, halo included, and its filters
   in shared memory and takes each tap from there. c4, for 12 channels and 3 x 3 taps: each thread keeps one
   filter in registers while rows of x stream through shared memory. */
#include "base/limits.h"
#include "conv/internal.h"

static const char *form(const gr_conv *self) {
    return self->layout == GR_CONV_NHWC ? "_nhwc" : "_nchw";
}

/* ---- c3 ---- */

gr_status gr_conv_direct(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                         const gr_conv_operands *operands, gr_program *program, gr_error *error) {
    enum { ROWS = 8, COLUMNS = 64, FILTERS = 24, VEC4_BYTES = 16 };
    enum { TWO_BLOCKS_BYTES = 100 << 10 }; /* shared memory per block that leaves space for a second one */
    gr_conv_tiles_params params = {
        .conv = gr_conv_make_params(self),
        .filter_tiles = gr_ceil_div(self->filters, FILTERS),
        .filters = FILTERS,
        .tiles_x = gr_ceil_div(self->width.out, COLUMNS),
        .tiles_y = gr_ceil_div(self->height.out, ROWS),
        .rows = gr_conv_extent_read(&self->height, ROWS),
        .columns = gr_conv_extent_read(&self->width, COLUMNS),
        .channel_vec4s = 1,
    };
    const uint64_t channel_vec4s = gr_ceil_div(self->channels, 4);
    const uint64_t taps = self->height.kernel * self->width.kernel;
    const uint64_t vec4_bytes = (params.rows * params.columns + taps * FILTERS) * VEC4_BYTES;
    if (params.rows * params.columns > info->caps.shared_per_block ||
        vec4_bytes > info->caps.shared_per_block) {
        gr_status status = gr_conv_find("c2", &variant, error);
        return status == GR_OK ? gr_conv_implicit_gemm(self, variant, info, operands, program, error)
                               : status;
    }
    while (params.channel_vec4s < channel_vec4s &&
           (params.channel_vec4s + 1) * vec4_bytes <= TWO_BLOCKS_BYTES)
        ++params.channel_vec4s;
    gr_step *step = gr_conv_launch(self, variant, form(self), &params, sizeof params, operands, program);
    step->shared_bytes = (uint32_t)(params.channel_vec4s * vec4_bytes);
    return gr_conv_set_grid(
        step, params.filter_tiles * self->groups * params.tiles_x * params.tiles_y * self->batch, 1, 1,
        variant->threads, error);
}

/* ---- c4 ---- */

enum { ROWS = 16, COLUMNS = 32 }; /* result pixels per block */
enum { MAX_BLOCKS_YZ = 65535 };   /* CUDA's limit of grid.y and grid.z */

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
