#include "conv/results.h"

#include "base/limits.h"

gr_status gr_conv_by_results(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                             const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    (void)info;
    const gr_conv_params params = gr_conv_describe(self);
    gr_step *step = gr_conv_launch(self, variant, self->layout == GR_CONV_NHWC ? "_nhwc" : "_nchw", &params,
                                   sizeof params, ends, program);
    return gr_conv_spread(step, gr_ceil_div(gr_conv_results(self), variant->threads), 1, 1, variant->threads,
                          error);
}
