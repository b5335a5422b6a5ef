#include "conv/depthwise.h"

#include <stddef.h>

#include "base/limits.h"

/* Its kernel counts rows, columns and results in 32 bits. */
static bool is_short(const gr_conv_axis *axis) {
    return axis->size < INT32_MAX && axis->out < INT32_MAX && axis->kernel < INT32_MAX &&
           (axis->out + GR_CONV_THREE_DOWN) * axis->stride + axis->kernel * axis->dilation < INT32_MAX;
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

/* The stride of both axes where kernels know it and the 3 x 3 taps; else 0. */
static int stride_of_three(const gr_conv *self) {
    enum { TAPS = 3, MOST = 2 };
    const gr_conv_axis *axes[] = {&self->down, &self->along};
    const uint64_t stride = axes[0]->stride;
    for (int i = 0; i < 2; ++i)
        if (axes[i]->kernel != TAPS || axes[i]->dilation != 1 || axes[i]->stride != stride)
            return 0;
    return stride <= MOST ? (int)stride : 0;
}

/* Whether the taps of a filter lie one behind the other, and four filters' together on a boundary. */
static bool taps_together(const gr_conv *self) {
    const gr_conv_steps *w = &self->w.steps;
    return self->w.aligned && w->along == 1 && w->down == (int64_t)self->along.kernel &&
           w->outer == (int64_t)(self->down.kernel * self->along.kernel);
}

/* What a thread makes. */
typedef struct share {
    uint64_t rows, columns, filters;
    const char *form;
} share;

static share share_of(const gr_conv *self) {
    const bool nhwc = self->layout == GR_CONV_NHWC, wide = fours(self);
    const int stride = nhwc && !(wide && taps_together(self)) ? 0 : stride_of_three(self);
    const share nhwc_shares[] = {
        wide ? (share){1, GR_CONV_DEPTHWISE_EACH, 4, "_nhwc4"}
             : (share){1, GR_CONV_DEPTHWISE_EACH, 1, "_nhwc"},
        {GR_CONV_THREE_ROWS, GR_CONV_THREE_COLUMNS, 4, "_nhwc_three_1"},
        {GR_CONV_THREE_ROWS, GR_CONV_THREE_COLUMNS_2, 4, "_nhwc_three_2"},
    };
    static const share nchw_shares[] = {
        {GR_CONV_DEPTHWISE_EACH, 1, 1, "_nchw"},
        {GR_CONV_THREE_DOWN, 1, 1, "_nchw_three_1"},
        {GR_CONV_THREE_DOWN_2, 1, 1, "_nchw_three_2"},
    };
    return nhwc ? nhwc_shares[stride] : nchw_shares[stride];
}

gr_status gr_conv_by_depth(const gr_conv *self, const gr_conv_ends *ends, gr_program *program,
                           gr_error *error) {
    const gr_conv_params params = gr_conv_describe(self);
    const share each = share_of(self);
    const uint64_t threads = self->batch * gr_ceil_div(self->down.out, each.rows) *
                             gr_ceil_div(self->along.out, each.columns) * self->groups * self->filters /
                             each.filters;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_place(program, offsetof(gr_conv_params, x), ends->x);
    gr_program_place(program, offsetof(gr_conv_params, w), ends->w);
    gr_program_place(program, offsetof(gr_conv_params, out), ends->out);
    step->kernel.owner = "conv";
    GR_KERNEL_NAME(step->kernel.file, "conv_depthwise");
    GR_KERNEL_NAME(step->kernel.entry, "conv_depthwise_", gr_dtypes[self->dtype].name, each.form);
    return gr_conv_spread(step, gr_ceil_div(threads, GR_CONV_DEPTHWISE_THREADS), 1, 1,
                          GR_CONV_DEPTHWISE_THREADS, error);
}
