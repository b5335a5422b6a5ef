/* Pointwise convolution (1 x 1) with at most 4 filters (small K), which only `auto` selects. Tiles of a
   matrix multiplication would be mostly empty; here a thread computes all filters of its pixels, and the
   filters are in shared memory. */
#include <stddef.h>

#include "base/limits.h"
#include "conv/internal.h"

enum { MAX_FILTERS = 4, MAX_CHANNELS = 2048, VEC16 = 16 /* bytes */, MAX_BLOCKS_Y = 65535 };

/* Returns whether the 16-byte loads of the kernel are aligned: of channels in NHWC, of pixels in NCHW. */
static bool is_aligned_to_16_bytes(const gr_conv *self) {
    const gr_conv_strides *x = &self->x.strides;
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    if (!self->x.aligned || !self->out_aligned)
        return false;
    if (self->layout == GR_CONV_NHWC)
        return x->channel == 1 && (int64_t)self->channels * item % VEC16 == 0 &&
               x->column * item % VEC16 == 0;
    const int64_t each = GR_CONV_POINTWISE_PIXELS;
    return x->column == 1 && self->height.out * self->width.out % GR_CONV_POINTWISE_PIXELS == 0 &&
           x->channel % each == 0 && x->outer % each == 0 && self->batch <= MAX_BLOCKS_Y;
}

/* The kernel accumulates in float32, so that float64 is excluded; its products are float32's in any
   precision. */
bool gr_conv_prefers_pointwise(const gr_conv *self) {
    return self->variant == NULL && self->dtype != GR_DTYPE_f64 && self->groups == 1 &&
           self->filters <= MAX_FILTERS && self->channels > 0 && self->channels <= MAX_CHANNELS &&
           gr_conv_is_gemm(self) && is_aligned_to_16_bytes(self);
}

gr_status gr_conv_pointwise(const gr_conv *self, const gr_conv_operands *operands, gr_program *program,
                            gr_error *error) {
    enum { FEW = 2 };
    const gr_conv_params params = gr_conv_make_params(self);
    const bool nhwc = self->layout == GR_CONV_NHWC, few = self->filters <= FEW;
    const uint64_t pixels = self->height.out * self->width.out;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_conv_params, x), operands->x);
    gr_program_relocate(program, offsetof(gr_conv_params, w), operands->w);
    gr_program_relocate(program, offsetof(gr_conv_params, out), operands->out);
    step->kernel.owner = "conv";
    GR_KERNEL_NAME(step->kernel.file, "conv_narrow");
    GR_KERNEL_NAME(step->kernel.entry, "conv_narrow_", gr_dtypes[self->dtype].name, nhwc ? "_nhwc" : "_nchw",
                   few ? "_2" : "_4");
    step->shared_bytes = (uint32_t)(self->channels * (few ? FEW : MAX_FILTERS) * sizeof(float));
    const uint64_t each = GR_CONV_POINTWISE_THREADS * GR_CONV_POINTWISE_PIXELS; /* pixels per block */
    return nhwc ? gr_conv_set_grid(step, gr_ceil_div(self->batch * pixels, each / GR_CONV_POINTWISE_LANES), 1,
                                   1, GR_CONV_POINTWISE_THREADS, error)
                : gr_conv_set_grid(step, gr_ceil_div(pixels, each), self->batch, 1, GR_CONV_POINTWISE_THREADS,
                                   error);
}
