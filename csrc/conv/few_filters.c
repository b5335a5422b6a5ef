/* Convolutions with few filters, which would leave the tiles of a matrix multiplication mostly empty. Their
   kernels are no rungs: only `auto` selects them. */
#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/internal.h"

enum { FEW_FILTERS_4 = 4, FEW_FILTERS_8 = 8, FEW_FILTERS_16 = 16 }; /* of the kernels */

static uint64_t filters_of_few(const gr_conv *self) {
    return self->filters <= FEW_FILTERS_4   ? FEW_FILTERS_4
           : self->filters <= FEW_FILTERS_8 ? FEW_FILTERS_8
                                            : FEW_FILTERS_16;
}

/* Returns pieces of 32 elements of a filter in NHWC. */
static uint64_t pieces_of_few(const gr_conv *self) {
    enum { WARP = 32 };
    return self->height.kernel * gr_ceil_div(self->width.kernel * self->channels, WARP);
}

/* Returns how many warps share the pieces of a pixel. */
static uint64_t warps_of_pixel(const gr_conv *self) {
    enum { EIGHT = 8, FOUR = 4 };
    return self->layout == GR_CONV_NCHW || pieces_of_few(self) >= GR_CONV_FEW_PIECES_OF_8 ? EIGHT : FOUR;
}

/* Returns pixels per block. */
static uint64_t pixels_of_few(const gr_conv *self) {
    enum { WARPS = GR_CONV_FEW_THREADS / 32 };
    const uint64_t filters = filters_of_few(self);
    return self->layout == GR_CONV_NHWC ? GR_CONV_FEW_NHWC_RESULTS / filters * WARPS / warps_of_pixel(self)
           : filters == FEW_FILTERS_16  ? GR_CONV_FEW_PIXELS_OF_16
                                        : GR_CONV_FEW_PIXELS;
}

/* Returns whether the taps of a row of a filter are contiguous elements of x and of w, enough for a warp. */
static bool has_runs(const gr_conv *self) {
    enum { WARP = 32 };
    const gr_conv_strides *x = &self->x.strides, *w = &self->w.strides;
    const int64_t channels = (int64_t)self->channels;
    const bool of_pixels = self->width.kernel == 1 ||
                           (x->column == channels && w->column == channels && self->width.dilation == 1);
    return of_pixels && (channels == 1 || (x->channel == 1 && w->channel == 1)) &&
           self->width.kernel * self->channels >= WARP;
}

static bool few_supports(const gr_conv *self) {
    enum { MIN_LENGTH = 64, MIN_CHANNELS = 8, MIN_PIECES = 64 }; /* below which conv_small takes less time */
    const bool nhwc = self->layout == GR_CONV_NHWC;
    return self->dtype != GR_DTYPE_f64 && gr_conv_filter_length(self) >= MIN_LENGTH &&
           self->filters <= (nhwc ? FEW_FILTERS_8 : FEW_FILTERS_16) && gr_conv_has_short_offsets(self) &&
           gr_conv_fits_32_bits(self) && gr_conv_pixels(self) < INT32_MAX - GR_CONV_FEW_PIXELS &&
           (nhwc ? self->groups == 1 && has_runs(self) && pieces_of_few(self) >= MIN_PIECES &&
                       !gr_conv_is_gemm(self)
                 : self->channels >= MIN_CHANNELS && self->groups <= GR_MAX_GRID_YZ);
}

/* Returns estimated microseconds in NHWC: all instructions of warps, or the loads of a warp, one after the
   other (H200: 18,189 pixels, 6 filters of 3 x 3 x 255, 102 us). */
static double time_in_nhwc(const gr_conv *self) {
    enum { PIECE = 130, WARP = 400 /* instructions */ };
    static const double START_US = 2.4, INSTRUCTIONS_PER_US = 4 * 0.55 * 1755, PIECE_US = 0.5;
    const uint64_t pixels = GR_CONV_FEW_NHWC_RESULTS / filters_of_few(self), sharing = warps_of_pixel(self);
    const uint64_t warps = gr_ceil_div(gr_conv_pixels(self), pixels) * sharing,
                   pieces = gr_ceil_div(pieces_of_few(self), sharing);
    return START_US + fmax((double)warps * (double)(pieces * PIECE + WARP) /
                               gr_reference_device.multiprocessors / INSTRUCTIONS_PER_US,
                           (double)pieces * PIECE_US);
}

/* Returns estimated microseconds in NCHW: elements of a filter, one after the other, of the blocks of an SM
   (H200: 21,534 pixels, 4 filters of 5 x 5 x 16, 9.9 us; 13,680 pixels, 13 filters of 256 channels, 11.3 us).
 */
static double time_in_nchw(const gr_conv *self) {
    enum { WARPS = GR_CONV_FEW_THREADS / 32 };
    static const double START_US = 2, BLOCK_US = 0.3;
    static const double block_us[] = {0.04, 0.06, 0.09}, FIRST_US = 0.08; /* per element */
    const uint64_t filters = filters_of_few(self);
    const int form = filters == FEW_FILTERS_4 ? 0 : filters == FEW_FILTERS_8 ? 1 : 2;
    const uint64_t blocks = gr_ceil_div(gr_conv_pixels(self), pixels_of_few(self)) * self->groups;
    const double per_sm = (double)gr_ceil_div(blocks, gr_reference_device.multiprocessors),
                 steps = (double)gr_ceil_div(gr_conv_filter_length(self), WARPS);
    return START_US + per_sm * BLOCK_US + steps * (FIRST_US + per_sm * block_us[form]);
}

double gr_conv_few_time(const gr_conv *self) {
    if (!few_supports(self))
        return HUGE_VAL;
    return self->layout == GR_CONV_NHWC ? time_in_nhwc(self) : time_in_nchw(self);
}

void gr_conv_few(const gr_conv *self, gr_conv_job job) {
    static const gr_conv_variant variant = {.rung = {.name = "conv_few", .file = "conv_few"},
                                            .threads = GR_CONV_FEW_THREADS};
    const gr_conv_params params = gr_conv_make_params(self);
    char form[16];
    snprintf(form, sizeof form, "%s_%u", gr_conv_layout_suffix(self), (unsigned)filters_of_few(self));
    job.variant = &variant;
    gr_step *step = gr_conv_launch(
        self, &job, form, &params, sizeof params,
        (gr_conv_grid){.x = gr_ceil_div(gr_conv_pixels(self), pixels_of_few(self)), .y = self->groups});
    step->kernel.owner = "conv";
    step->pdl = true;
}
