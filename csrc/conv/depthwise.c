/* Depthwise convolution (one channel per group), which only `auto` selects. No data is shared between
   filters, so that it is bound by memory: a thread computes a few neighbouring results of what it loads. */
#include <stddef.h>

#include "base/limits.h"
#include "conv/internal.h"

/* The kernels index rows, columns and results in 32 bits. */
static bool fits_32_bits(const gr_conv_axis *axis) {
    return axis->size < INT32_MAX && axis->out < INT32_MAX && axis->kernel < INT32_MAX &&
           (axis->out + GR_CONV_DEPTHWISE_3X3_NCHW_ROWS) * axis->stride + axis->kernel * axis->dilation <
               INT32_MAX;
}

/* The precision does not matter: no other one is faster. With many filters per channel a thread would compute
   too few results of what it loads. */
bool gr_conv_prefers_depthwise(const gr_conv *self) {
    enum { FILTERS = 4 };
    return self->variant == NULL && self->channels == 1 && self->filters <= FILTERS &&
           gr_conv_output_count(self) < INT32_MAX && fits_32_bits(&self->height) &&
           fits_32_bits(&self->width);
}

/* Returns whether loads and stores of 4 channels at once are aligned. */
static bool takes_4_channels(const gr_conv *self) {
    const gr_conv_strides *x = &self->x.strides;
    return self->layout == GR_CONV_NHWC && self->filters == 1 && self->groups % 4 == 0 && self->out_aligned &&
           self->x.aligned && x->channel == 1 && x->outer % 4 == 0 && x->row % 4 == 0 && x->column % 4 == 0;
}

/* Returns the stride if a special kernel exists: 3 x 3 taps, no dilation, a stride of 1 or 2. Else 0. */
static int stride_of_3x3(const gr_conv *self) {
    enum { TAPS = 3, MAX_STRIDE = 2 };
    const gr_conv_axis *axes[] = {&self->height, &self->width};
    const uint64_t stride = axes[0]->stride;
    for (int i = 0; i < 2; ++i)
        if (axes[i]->kernel != TAPS || axes[i]->dilation != 1 || axes[i]->stride != stride)
            return 0;
    return stride <= MAX_STRIDE ? (int)stride : 0;
}

/* Returns whether the taps of a filter are contiguous and those of 4 filters 16-byte aligned. */
static bool has_dense_filters(const gr_conv *self) {
    const gr_conv_strides *w = &self->w.strides;
    return self->w.aligned && w->column == 1 && w->row == (int64_t)self->width.kernel &&
           w->outer == (int64_t)(self->height.kernel * self->width.kernel);
}

/* The results per thread, and the suffix of the kernel's name. */
typedef struct thread_tile {
    uint64_t rows, columns, filters;
    const char *form;
} thread_tile;

static thread_tile thread_tile_of(const gr_conv *self) {
    const bool nhwc = self->layout == GR_CONV_NHWC, wide = takes_4_channels(self);
    const int stride = nhwc && !(wide && has_dense_filters(self)) ? 0 : stride_of_3x3(self);
    const thread_tile nhwc_tiles[] = {
        wide ? (thread_tile){1, GR_CONV_DEPTHWISE_OUTPUTS, 4, "_nhwc4"}
             : (thread_tile){1, GR_CONV_DEPTHWISE_OUTPUTS, 1, "_nhwc"},
        {GR_CONV_DEPTHWISE_3X3_ROWS, GR_CONV_DEPTHWISE_3X3_COLUMNS, 4, "_nhwc_three_1"},
        {GR_CONV_DEPTHWISE_3X3_ROWS, GR_CONV_DEPTHWISE_3X3_COLUMNS_STRIDE_2, 4, "_nhwc_three_2"},
    };
    static const thread_tile nchw_tiles[] = {
        {GR_CONV_DEPTHWISE_OUTPUTS, 1, 1, "_nchw"},
        {GR_CONV_DEPTHWISE_3X3_NCHW_ROWS, 1, 1, "_nchw_three_1"},
        {GR_CONV_DEPTHWISE_3X3_NCHW_ROWS_STRIDE_2, 1, 1, "_nchw_three_2"},
    };
    return nhwc ? nhwc_tiles[stride] : nchw_tiles[stride];
}

gr_status gr_conv_depthwise(const gr_conv *self, const gr_conv_operands *operands, gr_program *program,
                            gr_error *error) {
    const gr_conv_params params = gr_conv_make_params(self);
    const thread_tile each = thread_tile_of(self);
    const uint64_t threads = self->batch * gr_ceil_div(self->height.out, each.rows) *
                             gr_ceil_div(self->width.out, each.columns) * self->groups * self->filters /
                             each.filters;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_conv_params, x), operands->x);
    gr_program_relocate(program, offsetof(gr_conv_params, w), operands->w);
    gr_program_relocate(program, offsetof(gr_conv_params, out), operands->out);
    step->kernel.owner = "conv";
    GR_KERNEL_NAME(step->kernel.file, "conv_depthwise");
    GR_KERNEL_NAME(step->kernel.entry, "conv_depthwise_", gr_dtypes[self->dtype].name, each.form);
    return gr_conv_set_grid(step, gr_ceil_div(threads, GR_CONV_DEPTHWISE_THREADS), 1, 1,
                            GR_CONV_DEPTHWISE_THREADS, error);
}
