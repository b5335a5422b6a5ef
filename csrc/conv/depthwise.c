#include "conv/depthwise.h"

#include <stddef.h>

#include "base/limits.h"

/* Its kernel counts rows, columns and results in 32 bits. */
static bool is_short(const gr_conv_axis *axis) {
    return axis->size < INT32_MAX && axis->out < INT32_MAX && axis->kernel < INT32_MAX &&
           (axis->out + GR_CONV_DEPTHWISE_EACH) * axis->stride + axis->kernel * axis->dilation < INT32_MAX;
}

/* Its products have no rounding that another precision would spare. Of many filters for a channel a thread
   would make too few results of what it loads. */
bool gr_conv_is_depthwise(const gr_conv *self) {
    enum { FILTERS = 4 };
    return self->variant == NULL && self->channels == 1 && self->filters <= FILTERS &&
           gr_conv_results(self) < INT32_MAX && is_short(&self->down) && is_short(&self->along);
}

/* Whether elements of four channels, and results, can be taken at once. */
static bool fours(const gr_conv *self) {
    const gr_conv_steps *x = &self->x.steps;
    return self->layout == GR_CONV_NHWC && self->filters == 1 && self->groups % 4 == 0 && self->out_aligned &&
           self->x.aligned && x->channel == 1 && x->outer % 4 == 0 && x->down % 4 == 0 && x->along % 4 == 0;
}

gr_status gr_conv_by_depth(const gr_conv *self, const gr_conv_ends *ends, gr_program *program,
                           gr_error *error) {
    const gr_conv_params params = gr_conv_describe(self);
    const bool nhwc = self->layout == GR_CONV_NHWC, wide = fours(self);
    const uint64_t filters = self->groups * self->filters / (wide ? 4 : 1);
    const uint64_t pixels = nhwc ? self->down.out * gr_ceil_div(self->along.out, GR_CONV_DEPTHWISE_EACH)
                                 : gr_ceil_div(self->down.out, GR_CONV_DEPTHWISE_EACH) * self->along.out;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_place(program, offsetof(gr_conv_params, x), ends->x);
    gr_program_place(program, offsetof(gr_conv_params, w), ends->w);
    gr_program_place(program, offsetof(gr_conv_params, out), ends->out);
    step->kernel.owner = "conv";
    GR_KERNEL_NAME(step->kernel.file, "conv_depthwise");
    GR_KERNEL_NAME(step->kernel.entry, "conv_depthwise_", gr_dtypes[self->dtype].name,
                   wide   ? "_nhwc4"
                   : nhwc ? "_nhwc"
                          : "_nchw");
    return gr_conv_spread(step, gr_ceil_div(self->batch * pixels * filters, GR_CONV_DEPTHWISE_THREADS), 1, 1,
                          GR_CONV_DEPTHWISE_THREADS, error);
}
