/* Implicit GEMM on CUDA cores: the convolution is the product of the im2col matrix (a line per pixel, a
   column per tap and channel) and the filters, but that matrix never exists in memory: thread blocks gather
   its tiles from x. Two kernels: c2, and c2_ring, which gathers by cp.async into a pipeline of shared-memory
   stages and multiplies in the order of m9. */
#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/internal.h"

/* ---- c2 ---- */

gr_status gr_conv_implicit_gemm(const gr_conv *self, const gr_conv_variant *variant,
                                const gr_device_info *info, const gr_conv_operands *operands,
                                gr_program *program, gr_error *error) {
    enum { PIXELS = 128, FILTERS = 32, WARP_FILTERS = 4, WARP = 32 };
    (void)info;
    gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                   .filter_tiles = gr_ceil_div(self->filters, FILTERS)};
    params.filters =
        gr_ceil_div(gr_ceil_div(self->filters, params.filter_tiles), WARP_FILTERS) * WARP_FILTERS;
    const uint64_t pixels = self->batch * self->height.out * self->width.out;
    gr_step *step = gr_conv_launch(self, variant, self->layout == GR_CONV_NHWC ? "_nhwc" : "_nchw", &params,
                                   sizeof params, operands, program);
    return gr_conv_set_grid(step, params.filter_tiles * self->groups * gr_ceil_div(pixels, PIXELS), 1, 1,
                            (uint32_t)(params.filters / WARP_FILTERS * WARP), error);
}

/* ---- c2_ring ---- */

enum { RATES = 4, MIN_FILTERS = 32 /* per block */ };

/* A tile shape. `percent` is the share of the multiply-adds of an SM that 1, 2, 4 or 8 resident blocks reach
   (measured on an H200, as in matmul/tiles.def). */
typedef struct shape {
    uint32_t pixels, filters, threads, blocks_per_sm, percent[RATES];
} shape;

static const shape shapes[] = {
    {128, 128, 128, 2, {36, 72, 72, 72}},
    {128, 64, 128, 4, {20, 38, 70, 70}},
    {64, 64, 64, 6, {20, 42, 63, 67}},
    {128, 32, 128, 5, {26, 44, 47, 47}},
};

static uint64_t count_tiles(const gr_conv *self, const shape *of) {
    return gr_ceil_div(self->batch * self->height.out * self->width.out, of->pixels) *
           gr_ceil_div(self->filters, of->filters) * self->groups;
}

/* Returns the time of `blocks` resident blocks, in units of one block at the full rate of an SM. */
static double wave(const shape *of, uint64_t blocks) {
    int rate = 0;
    while (rate + 1 < RATES && blocks >= (uint64_t)2 << rate)
        ++rate;
    return (double)blocks * 100 / of->percent[rate];
}

/* Returns the estimated microseconds with a tile shape. */
static double time_of(const gr_conv *self, const shape *of) {
    const double cycles_per_us = 1755, lanes = 128;
    const uint64_t taps = self->height.kernel * self->width.kernel * self->channels;
    const uint64_t blocks = gr_ceil_div(count_tiles(self, of), gr_reference_device.multiprocessors);
    const double waves = (double)(blocks / of->blocks_per_sm) * wave(of, of->blocks_per_sm) +
                         wave(of, blocks % of->blocks_per_sm);
    return waves * of->pixels * of->filters * (double)(taps + 16) / (lanes * cycles_per_us);
}

static const shape *best(const gr_conv *self) {
    const shape *found = &shapes[0];
    for (size_t i = 1; i < sizeof shapes / sizeof shapes[0]; ++i)
        if (time_of(self, &shapes[i]) < time_of(self, found))
            found = &shapes[i];
    return found;
}

bool gr_conv_implicit_gemm_async_supports(const gr_conv *self, const gr_conv_variant *variant) {
    enum { MAX_TILE_PIXELS = 256 }; /* the index of a pixel behind the last one must fit, too */
    return gr_conv_fits_32_bits(self, variant) &&
           self->batch * self->height.out * self->width.out < INT32_MAX - MAX_TILE_PIXELS;
}

double gr_conv_implicit_gemm_async_time(const gr_conv *self) {
    static const double PACK_US = 2;
    const shape *of = best(self);
    return (of->filters > MIN_FILTERS ? PACK_US : 0) + time_of(self, of);
}

/* Appends a transpose of w to (tap, filter) order, where the filters of a tap are contiguous. For few filters
   the launch costs more (some 3 us on an H200) than it saves. */
static gr_status pack_filters(const gr_conv *self, const shape *of, uint64_t *pitch, uint32_t *buffer,
                              gr_program *program, gr_error *error) {
    enum { VEC4 = 4 };
    const uint64_t taps = self->height.kernel * self->width.kernel * self->channels;
    const uint64_t stack[GR_MATMUL_STACKS] = {self->groups, 1, 1, 1};
    const gr_matmul_shape packed = {taps, self->filters, gr_ceil_div(self->filters, VEC4) * VEC4};
    gr_matmul_view view = {
        .row = 1, .column = (int64_t)taps, .stack = {(int64_t)(self->filters * taps), 0, 0, 0}};
    *pitch = packed.pitch;
    return taps == 0 || of->filters <= MIN_FILTERS
               ? GR_OK
               : gr_matmul_pack_operand(&view, &packed, stack, gr_dtypes[self->dtype].item_bytes, buffer,
                                        program, error);
}

gr_status gr_conv_implicit_gemm_async(const gr_conv *self, const gr_conv_variant *variant,
                                      const gr_device_info *info, const gr_conv_operands *operands,
                                      gr_program *program, gr_error *error) {
    (void)info;
    const shape *of = best(self);
    gr_conv_operands at = *operands;
    uint64_t pitch;
    const gr_status status = pack_filters(self, of, &pitch, &at.w, program, error);
    if (status != GR_OK)
        return status;
    const gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                         .filter_tiles = gr_ceil_div(self->filters, of->filters),
                                         .filters = of->filters,
                                         .columns = pitch};
    char form[32];
    snprintf(form, sizeof form, "_%" PRIu32 "x%" PRIu32 "_%s", of->pixels, of->filters,
             self->layout == GR_CONV_NHWC ? "nhwc" : "nchw");
    gr_step *step = gr_conv_launch(self, variant, form, &params, sizeof params, &at, program);
    return gr_conv_set_grid(step, count_tiles(self, of), 1, 1, of->threads, error);
}
