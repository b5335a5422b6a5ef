/* Implicit GEMM on CUDA cores: the convolution is the product of the im2col matrix (a line per pixel, a
   column per tap and channel) and the filters, but that matrix never exists in memory: thread blocks gather
   its tiles from x. Two kernels: c2, and c2_ring, which gathers by cp.async into a pipeline of shared-memory
   stages and multiplies in the order of m9. */
#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/internal.h"

/* ---- c2 ---- */

void gr_conv_implicit_gemm(const gr_conv *self, gr_conv_job job) {
    enum { PIXELS = GR_CONV_C2_PIXELS, FILTERS = GR_CONV_C2_FILTERS, WARP_FILTERS = 4, WARP = 32 };
    gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                   .filter_tiles = gr_ceil_div(self->filters, FILTERS)};
    params.filters =
        gr_ceil_div(gr_ceil_div(self->filters, params.filter_tiles), WARP_FILTERS) * WARP_FILTERS;
    const uint64_t pixel_tiles = gr_ceil_div(gr_conv_pixels(self), PIXELS);
    gr_conv_launch(self, &job, gr_conv_layout_suffix(self), &params, sizeof params,
                   (gr_conv_grid){.x = params.filter_tiles * self->groups * pixel_tiles})
        ->block[0] = (uint32_t)(params.filters / WARP_FILTERS * WARP);
}

/* ---- c2_ring ---- */

/* A row of tiles.def; `percent` as of gr_matmul_wave. */
typedef struct shape {
    uint32_t pixels, filters, threads, blocks_per_sm, percent[GR_MATMUL_RATES];
} shape;

static const shape shapes[] = {
#define GR_TILE(pixels, filters, threads, blocks_per_sm, ...)                                                \
    {pixels, filters, threads, blocks_per_sm, {__VA_ARGS__}},
#include "conv/tiles.def"
#undef GR_TILE
};

static uint64_t count_tiles(const gr_conv *self, const shape *of) {
    return gr_ceil_div(gr_conv_pixels(self), of->pixels) * gr_ceil_div(self->filters, of->filters) *
           self->groups;
}

/* Returns the estimated microseconds with a tile shape. */
static double time_of(const gr_conv *self, const shape *of) {
    enum { SHORT = 64, START = 16, START_OF_SHORT = 40 }; /* of a filter; as elements of k */
    const double cycles_per_us = 1755, lanes = 128;
    const uint64_t length = gr_conv_filter_length(self);
    const uint64_t blocks = gr_ceil_div(count_tiles(self, of), gr_reference_device.multiprocessors);
    const double waves =
        (double)(blocks / of->blocks_per_sm) * gr_matmul_wave(of->percent, of->blocks_per_sm) +
        gr_matmul_wave(of->percent, blocks % of->blocks_per_sm);
    return waves * of->pixels * of->filters * (double)(length + (length < SHORT ? START_OF_SHORT : START)) /
           (lanes * cycles_per_us);
}

static const shape *best(const gr_conv *self) {
    const shape *found = &shapes[0];
    for (size_t i = 1; i < sizeof shapes / sizeof shapes[0]; ++i)
        if (time_of(self, &shapes[i]) < time_of(self, found))
            found = &shapes[i];
    return found;
}

bool gr_conv_implicit_gemm_async_supports(const gr_conv *self) {
    enum { MAX_TILE_PIXELS = 256 }; /* the index of a pixel behind the last one must fit, too */
    return gr_conv_fits_32_bits(self) && gr_conv_pixels(self) < INT32_MAX - MAX_TILE_PIXELS;
}

double gr_conv_implicit_gemm_async_time(const gr_conv *self) {
    static const double PACK_US = 2;
    const shape *of = best(self);
    return (of->filters > GR_CONV_C2_RING_FEW_FILTERS ? PACK_US : 0) + time_of(self, of);
}

/* Appends a transpose of w to (tap, filter) order, where the filters of a tap are contiguous; returns the
   elements from tap to tap. For few filters the launch costs more (some 3 us on an H200) than it saves. */
static uint64_t pack_filters(const gr_conv *self, const shape *of, gr_conv_job *job) {
    enum { VEC4 = 4 };
    const uint64_t taps = gr_conv_filter_length(self);
    const uint64_t stack[GR_MATMUL_STACKS] = {self->groups, 1, 1, 1};
    const gr_matmul_shape packed = {taps, self->filters, gr_ceil_div(self->filters, VEC4) * VEC4};
    gr_matmul_view view = {
        .row = 1, .column = (int64_t)taps, .stack = {(int64_t)(self->filters * taps), 0, 0, 0}};
    if (taps > 0 && of->filters > GR_CONV_C2_RING_FEW_FILTERS)
        gr_matmul_pack_operand(&view, &packed, stack, gr_dtypes[self->dtype].item_bytes, &job->w,
                               job->program);
    return packed.pitch;
}

void gr_conv_implicit_gemm_async(const gr_conv *self, gr_conv_job job) {
    const shape *of = best(self);
    const gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                         .filter_tiles = gr_ceil_div(self->filters, of->filters),
                                         .filters = of->filters,
                                         .columns = pack_filters(self, of, &job)};
    char form[32];
    snprintf(form, sizeof form, "_%" PRIu32 "x%" PRIu32 "%s", of->pixels, of->filters,
             gr_conv_layout_suffix(self));
    gr_conv_launch(self, &job, form, &params, sizeof params, (gr_conv_grid){.x = count_tiles(self, of)})
        ->block[0] = of->threads;
}
