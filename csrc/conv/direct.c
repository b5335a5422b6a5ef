/* Direct convolution on CUDA cores. c0: one thread per result. c3: a thread block keeps a rectangle of x,
   halo included, and its filters in shared memory and takes each tap from there. c4, for 12 channels and 3 x
   3 taps: each thread keeps one filter in registers while rows of x stream through shared memory. */
#include "base/limits.h"
#include "conv/internal.h"

/* ---- c0 ---- */

/* In NHWC a warp computes a tile of GR_CONV_NAIVE_PIXELS by GR_CONV_NAIVE_FILTERS results, so that a load of
   w touches fewer cache lines. */
void gr_conv_naive(const gr_conv *self, gr_conv_job job) {
    const gr_conv_params params = gr_conv_make_params(self);
    const uint64_t filters = self->groups * self->filters, pixels = gr_conv_output_count(self) / filters;
    const uint64_t threads = self->layout == GR_CONV_NCHW ? pixels * filters
                                                          : gr_ceil_div(pixels, GR_CONV_NAIVE_PIXELS) *
                                                                gr_ceil_div(filters, GR_CONV_NAIVE_FILTERS) *
                                                                GR_CONV_NAIVE_PIXELS * GR_CONV_NAIVE_FILTERS;
    gr_conv_launch(self, &job, gr_conv_layout_suffix(self), &params, sizeof params,
                   (gr_conv_grid){.x = gr_ceil_div(threads, job.variant->threads)});
}

/* ---- c3 ---- */

void gr_conv_direct(const gr_conv *self, gr_conv_job job) {
    enum {
        ROWS = GR_CONV_C3_ROWS,
        COLUMNS = GR_CONV_C3_COLUMNS,
        FILTERS = GR_CONV_C3_FILTERS,
        VEC4_BYTES = 16
    };
    enum { TWO_BLOCKS_BYTES = 100 << 10 }; /* shared memory per block that leaves space for a second one */
    gr_conv_tiles_params params = {
        .conv = gr_conv_make_params(self),
        .filter_tiles = gr_ceil_div(self->filters, FILTERS),
        .filters = FILTERS,
        .tiles_x = gr_ceil_div(self->width.out, COLUMNS),
        .tiles_y = gr_ceil_div(self->height.out, ROWS),
        .rows = gr_conv_extent_read(&self->height, ROWS),
        .columns = gr_conv_extent_read(&self->width, COLUMNS),
        .channel_vec4s = 1,
    };
    const uint64_t channel_vec4s = gr_ceil_div(self->channels, 4), pixels = params.rows * params.columns;
    const uint64_t vec4_bytes = (pixels + gr_conv_taps(self) * FILTERS) * VEC4_BYTES;
    const uint32_t max_bytes = job.info->caps.shared_per_block;
    if (pixels > max_bytes || vec4_bytes > max_bytes) {
        job.variant = gr_conv_rung("c2");
        gr_conv_implicit_gemm(self, job);
        return;
    }
    while (params.channel_vec4s < channel_vec4s &&
           (params.channel_vec4s + 1) * vec4_bytes <= TWO_BLOCKS_BYTES)
        ++params.channel_vec4s;
    const uint64_t blocks =
        params.filter_tiles * self->groups * params.tiles_x * params.tiles_y * self->batch;
    gr_conv_launch(self, &job, gr_conv_layout_suffix(self), &params, sizeof params,
                   (gr_conv_grid){.x = blocks})
        ->shared_bytes = (uint32_t)(params.channel_vec4s * vec4_bytes);
}

/* ---- c4 ---- */

enum { ROWS = GR_CONV_C4_ROWS, COLUMNS = GR_CONV_C4_COLUMNS }; /* result pixels per block */

bool gr_conv_direct_rows_supports(const gr_conv *self) {
    enum { CHANNELS = 12 };
    return self->channels == CHANNELS && (self->groups == 1 || self->layout == GR_CONV_NCHW) &&
           gr_ceil_div(self->height.out, ROWS) <= GR_MAX_GRID_YZ &&
           self->batch * self->groups <= GR_MAX_GRID_YZ && gr_conv_stride_of_3x3(self) == 1;
}

void gr_conv_direct_rows(const gr_conv *self, gr_conv_job job) {
    enum { FILTERS = GR_CONV_C4_FILTERS };
    const gr_conv_tiles_params params = {
        .conv = gr_conv_make_params(self),
        .filter_tiles = gr_ceil_div(self->filters, FILTERS),
        .filters = FILTERS,
    };
    const gr_conv_grid grid = {params.filter_tiles * gr_ceil_div(self->width.out, COLUMNS),
                               gr_ceil_div(self->height.out, ROWS), self->batch * self->groups};
    gr_conv_launch(self, &job, gr_conv_layout_suffix(self), &params, sizeof params, grid)->pdl = true;
}
