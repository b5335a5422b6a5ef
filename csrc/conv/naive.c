/* c0: one thread per result, which loops over all taps and channels. In NHWC a warp computes a tile of
   GR_CONV_NAIVE_PIXELS by GR_CONV_NAIVE_FILTERS results, so that a load of w touches fewer cache lines. */
#include "base/limits.h"
#include "conv/internal.h"

gr_status gr_conv_naive(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                        const gr_conv_operands *operands, gr_program *program, gr_error *error) {
    (void)info;
    const gr_conv_params params = gr_conv_make_params(self);
    gr_step *step = gr_conv_launch(self, variant, self->layout == GR_CONV_NHWC ? "_nhwc" : "_nchw", &params,
                                   sizeof params, operands, program);
    const uint64_t filters = self->groups * self->filters, pixels = gr_conv_output_count(self) / filters;
    const uint64_t threads = self->layout == GR_CONV_NCHW ? pixels * filters
                                                          : gr_ceil_div(pixels, GR_CONV_NAIVE_PIXELS) *
                                                                gr_ceil_div(filters, GR_CONV_NAIVE_FILTERS) *
                                                                GR_CONV_NAIVE_PIXELS * GR_CONV_NAIVE_FILTERS;
    return gr_conv_set_grid(step, gr_ceil_div(threads, variant->threads), 1, 1, variant->threads, error);
}
