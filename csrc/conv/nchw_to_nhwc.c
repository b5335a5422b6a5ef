/* Transposes x and w from NCHW to NHWC for kernels that load by TMA (c8, c9), with one launch for both. */
#include <stddef.h>

#include "base/limits.h"
#include "conv/internal.h"

enum { VEC16 = 16, RUN_BYTES = 16 << 10 }; /* bytes of channels per store; bytes of shared memory per block */

/* Returns the bytes per load of pixels: the largest power of two, up to 16, that is aligned everywhere. */
static uint32_t unit_bytes_of(const gr_conv_array *of, size_t item) {
    const gr_conv_strides *strides = &of->view->strides;
    const uint64_t all = (uint64_t)strides->outer | (uint64_t)strides->channel | of->height * of->width;
    uint32_t unit_bytes = VEC16;
    while (unit_bytes > item && (!of->view->aligned || all * item % unit_bytes != 0))
        unit_bytes /= 2;
    return unit_bytes;
}

/* Plans the transpose of an array; returns false if the pixels of a channel are not contiguous. */
static bool describe(const gr_conv_array *of, size_t item, gr_conv_transpose *out) {
    const gr_conv_strides *strides = &of->view->strides;
    const uint64_t pixels = of->height * of->width, length = VEC16 / item, line = 128 / item;
    const bool contiguous = (of->width == 1 || strides->column == 1) &&
                            (of->height == 1 || strides->row == (int64_t)of->width) && strides->channel > 0 &&
                            strides->outer >= 0;
    const bool dense = of->view->aligned && strides->channel == (int64_t)pixels &&
                       (of->outer == 1 || strides->outer == (int64_t)(pixels * of->channels));
    if (!contiguous || of->channels % length != 0)
        return false;
    *out = (gr_conv_transpose){.channels = of->channels,
                               .pixels = pixels,
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

/* Plans the transpose of an array that is not in NHWC, and allocates its copy, which *of then describes. */
static bool transposes(const gr_conv_array *of, size_t item, gr_conv_transpose *out, gr_program *program) {
    if (gr_conv_is_dense(of, GR_CONV_NHWC) || !describe(of, item, out))
        return false;
    *of->buffer = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)gr_conv_array_count(of) * item);
    *of->view = gr_conv_dense_view(of, GR_CONV_NHWC);
    return true;
}

void gr_conv_make_nhwc(gr_conv *self, bool x_stays, gr_conv_job *job) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const gr_conv_array x = gr_conv_array_of_x(self, job), w = gr_conv_array_of_w(self, job);
    gr_conv_transpose_params params = {0};
    const gr_conv_job from = *job;
    gr_program *program = job->program;
    const bool of_x = !x_stays && transposes(&x, item, &params.x, program);
    if (transposes(&w, item, &params.w, program) || of_x) {
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
        gr_conv_set_grid(program, step, (gr_conv_grid){.x = (uint64_t)params.x.blocks + params.w.blocks},
                         GR_CONV_TRANSPOSE_THREADS);
    }
    const gr_conv_view own = self->x;
    if (x_stays)
        self->x = gr_conv_dense_view(&x, GR_CONV_NHWC);
    gr_conv_make_dense(self, job);
    if (x_stays)
        self->x = own;
}
