#include "conv/narrow.h"

#include <stddef.h>

#include "base/limits.h"
#include "conv/columns.h"

enum { MOST_FILTERS = 4, MOST_CHANNELS = 2048, PIECE = 16 /* bytes */, MOST_PICTURES = 65535 };

/* Whether the pieces that its kernel loads begin on boundaries: of channels in NHWC, of pixels in NCHW. */
static bool lies_in_pieces(const gr_conv *self) {
    const gr_conv_steps *x = &self->x.steps;
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    if (!self->x.aligned || !self->out_aligned)
        return false;
    if (self->layout == GR_CONV_NHWC)
        return x->channel == 1 && (int64_t)self->channels * item % PIECE == 0 && x->along * item % PIECE == 0;
    const int64_t each = GR_CONV_NARROW_EACH;
    return x->along == 1 && self->down.out * self->along.out % GR_CONV_NARROW_EACH == 0 &&
           x->channel % each == 0 && x->outer % each == 0 && self->batch <= MOST_PICTURES;
}

/* float64's sums are no float32. The products are float32's, so that no other precision spares anything. */
bool gr_conv_is_narrow(const gr_conv *self) {
    return self->variant == NULL && self->dtype != GR_DTYPE_f64 && self->groups == 1 &&
           self->filters <= MOST_FILTERS && self->channels > 0 && self->channels <= MOST_CHANNELS &&
           gr_conv_is_product(self) && lies_in_pieces(self);
}

gr_status gr_conv_by_narrow(const gr_conv *self, const gr_conv_ends *ends, gr_program *program,
                            gr_error *error) {
    enum { FEW = 2 };
    const gr_conv_params params = gr_conv_describe(self);
    const bool nhwc = self->layout == GR_CONV_NHWC, few = self->filters <= FEW;
    const uint64_t pixels = self->down.out * self->along.out;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_place(program, offsetof(gr_conv_params, x), ends->x);
    gr_program_place(program, offsetof(gr_conv_params, w), ends->w);
    gr_program_place(program, offsetof(gr_conv_params, out), ends->out);
    step->kernel.owner = "conv";
    GR_KERNEL_NAME(step->kernel.file, "conv_narrow");
    GR_KERNEL_NAME(step->kernel.entry, "conv_narrow_", gr_dtypes[self->dtype].name, nhwc ? "_nhwc" : "_nchw",
                   few ? "_2" : "_4");
    step->shared_bytes = (uint32_t)(self->channels * (few ? FEW : MOST_FILTERS) * sizeof(float));
    const uint64_t each = GR_CONV_NARROW_THREADS * GR_CONV_NARROW_EACH; /* of a block */
    return nhwc ? gr_conv_spread(step, gr_ceil_div(self->batch * pixels, each / GR_CONV_NARROW_LANES), 1, 1,
                                 GR_CONV_NARROW_THREADS, error)
                : gr_conv_spread(step, gr_ceil_div(pixels, each), self->batch, 1, GR_CONV_NARROW_THREADS,
                                 error);
}
