/* Copies x and w to NHWC for kernels that load by TMA (c8, c9), with one launch for both: from NCHW by a
   transpose, and where channels are no multiple of 16 bytes to padded pixels. */
#include <stddef.h>

#include "base/limits.h"
#include "conv/internal.h"

enum { VEC16 = 16, RUN_BYTES = 16 << 10 }; /* bytes of channels per store; bytes of shared memory per block */

/* Returns the bytes per load of pixels: 16 or 8, if these are aligned everywhere; else 1. */
static uint32_t unit_bytes_of(const gr_conv_array *of, size_t item) {
    enum { VEC8 = VEC16 / 2 };
    const gr_conv_strides *strides = &of->view->strides;
    const uint64_t all = (uint64_t)strides->outer | (uint64_t)strides->channel | of->height * of->width;
    if (!of->view->aligned || all * item % VEC8 != 0)
        return 1;
    return all * item % VEC16 == 0 ? VEC16 : VEC8;
}

/* Plans the transpose of an array; returns false if the pixels of a channel are not contiguous. */
static bool describe_nchw(const gr_conv_array *of, uint64_t pitch, size_t item, gr_conv_transpose *out) {
    const gr_conv_strides *strides = &of->view->strides;
    const uint64_t pixels = of->height * of->width, length = VEC16 / item, line = 128 / item;
    const bool contiguous = (of->width == 1 || strides->column == 1) &&
                            (of->height == 1 || strides->row == (int64_t)of->width) && strides->channel > 0 &&
                            strides->outer >= 0;
    const bool dense = of->view->aligned && of->channels % length == 0 && pitch == of->channels &&
                       strides->channel == (int64_t)pixels &&
                       (of->outer == 1 || strides->outer == (int64_t)(pixels * of->channels));
    if (!contiguous)
        return false;
    *out = (gr_conv_transpose){.channels = of->channels,
                               .pixels = pixels,
                               .pitch = pitch,
                               .extent = (of->outer - 1) * (uint64_t)strides->outer +
                                         (of->channels - 1) * (uint64_t)strides->channel + pixels,
                               .outer = strides->outer,
                               .channel = strides->channel,
                               .tile_channels = (uint32_t)line,
                               .unit_bytes = unit_bytes_of(of, item)};
    const uint64_t max_channels = RUN_BYTES / (pixels * item) / length * length;
    if (dense && out->unit_bytes < VEC16 / 2 && max_channels > 0) {
        out->unit_bytes = 0;
        out->tile_channels = (uint32_t)gr_min(max_channels, of->channels);
    }
    const uint64_t channel_tiles = gr_ceil_div(of->channels, out->tile_channels);
    const uint64_t pixel_tiles = out->unit_bytes == 0 ? 1 : gr_ceil_div(pixels, GR_CONV_TRANSPOSE_PIXELS);
    if (of->outer * channel_tiles * pixel_tiles > GR_MAX_GRID / 2)
        return false;
    out->channel_tiles = (uint32_t)channel_tiles;
    out->pixel_tiles = (uint32_t)pixel_tiles;
    out->blocks = (uint32_t)(of->outer * channel_tiles * pixel_tiles);
    return true;
}

/* Plans a copy of NHWC to pixels of `pitch` elements; returns false if pixels have no common stride. */
static bool describe_nhwc(const gr_conv_array *of, uint64_t pitch, size_t item, gr_conv_transpose *out) {
    enum { VECS = GR_CONV_TRANSPOSE_THREADS * GR_CONV_TRANSPOSE_VECS };
    const gr_conv_strides *strides = &of->view->strides;
    const int64_t pixel = of->width > 1 ? strides->column : of->height > 1 ? strides->row : strides->outer;
    const uint64_t pixels = of->outer * of->height * of->width, vecs = pixels * (pitch * item / VEC16);
    const bool contiguous = (of->channels == 1 || strides->channel == 1) &&
                            (of->height == 1 || strides->row == pixel * (int64_t)of->width) &&
                            (of->outer == 1 || strides->outer == pixel * (int64_t)(of->width * of->height));
    if (!contiguous || vecs > UINT32_MAX / 2)
        return false;
    *out = (gr_conv_transpose){.channels = of->channels,
                               .pixels = pixels,
                               .pitch = pitch,
                               .outer = pixel,
                               .blocks = (uint32_t)gr_ceil_div(vecs, VECS)};
    return true;
}

/* Plans the copy of an array to dense NHWC of `pitch` channels, and allocates it; *of then describes it.
   Returns the blocks; 0: it is dense, or another kernel copies it. */
static uint32_t plan_copy(const gr_conv_array *of, uint64_t pitch, size_t item, gr_conv_transpose *out,
                          gr_program *program) {
    gr_conv_array padded = *of;
    padded.channels = pitch;
    if ((pitch == of->channels && gr_conv_is_dense(of, GR_CONV_NHWC)) ||
        !(describe_nchw(of, pitch, item, out) || describe_nhwc(of, pitch, item, out)))
        return 0;
    *of->buffer =
        gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)gr_conv_array_count(&padded) * item);
    *of->view = gr_conv_dense_view(&padded, GR_CONV_NHWC);
    return out->blocks;
}

void gr_conv_make_nhwc(gr_conv *self, bool x_stays, uint64_t pitch, gr_conv_job *job) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const gr_conv_array x = gr_conv_array_of_x(self, job), w = gr_conv_array_of_w(self, job);
    const uint64_t x_pitch = pitch == self->channels ? x.channels : pitch; /* padded: of one group */
    gr_conv_transpose_params params = {0};
    const gr_conv_job from = *job;
    gr_program *program = job->program;
    const uint32_t x_blocks = x_stays ? 0 : plan_copy(&x, x_pitch, item, &params.x, program),
                   w_blocks = plan_copy(&w, pitch, item, &params.w, program);
    if (x_blocks + w_blocks > 0) {
        gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
        gr_program_relocate(program, offsetof(gr_conv_transpose_params, x.from), from.x);
        gr_program_relocate(program, offsetof(gr_conv_transpose_params, x.to), job->x);
        gr_program_relocate(program, offsetof(gr_conv_transpose_params, w.from), from.w);
        gr_program_relocate(program, offsetof(gr_conv_transpose_params, w.to), job->w);
        step->kernel.owner = "c8";
        GR_KERNEL_NAME(step->kernel.file, "c8_taps");
        GR_KERNEL_NAME(step->kernel.entry, item == 2 ? "c8_turn_b2" : "c8_turn_b4");
        step->shared_bytes = RUN_BYTES;
        step->pdl = true;
        gr_conv_set_grid(program, step, (gr_conv_grid){.x = (uint64_t)x_blocks + w_blocks},
                         GR_CONV_TRANSPOSE_THREADS);
    }
    const gr_conv_view own = self->x;
    if (x_stays)
        self->x = gr_conv_dense_view(&x, GR_CONV_NHWC);
    if (pitch != self->channels)
        gr_conv_make_padded(self, pitch, x_blocks == 0, w_blocks == 0, job);
    else
        gr_conv_make_dense(self, job);
    if (x_stays)
        self->x = own;
}
