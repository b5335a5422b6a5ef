/* Direct convolution on tensor cores (c5, c6, c7): wgmma reads pixels and filters from shared memory, where a
   tap is an offset. Shared memory has the layout C/8 x H x W x 8 (C/4 x H x W x 4 in float32): one plane per
   16-byte vector of channels. Special kernels compute 12 channels with 3 x 3 taps. */
#include <stdio.h>

#include "base/limits.h"
#include "conv/internal.h"

enum {
    VEC16 = 16, /* bytes of a vector of channels */
    LINE = 128, /* bytes that cover all banks of shared memory once */
    ENTRY = 16, /* bytes per k-step in the table of offsets */
    GROUP = 8,  /* rows of a core matrix of wgmma */
    TILE = 64,  /* pixels per wgmma (its m) */
};

/* The results per thread block: `filters` filters of `tiles` tiles of 64 pixels. */
typedef struct shape {
    uint32_t filters, tiles;
    uint32_t terms; /* terms per element: 2 in TF32X3 (high and low part), else 1 */
} shape;

enum { SHAPES = 2 };

/* Chooses among the shapes for which the rungs have kernels. */
static const shape *choose_shape(const gr_conv *self, uint32_t terms) {
    static const shape all[][SHAPES] = {
        {{24, GR_CONV_MMA_TILES_24, 1}, {64, GR_CONV_MMA_TILES_64, 1}},
        {{24, GR_CONV_MMA_TILES_24, 2}, {32, GR_CONV_MMA_TILES_32, 2}},
    };
    enum { PIXELS_COST = 16 }; /* cost of reading the pixels, in filters */
    const shape *shapes = all[terms - 1], *best = shapes;
    uint64_t min_cost = UINT64_MAX;
    for (int i = 0; i < SHAPES; ++i) {
        const uint64_t cost =
            gr_ceil_div(self->filters, shapes[i].filters) * (shapes[i].filters + PIXELS_COST);
        if (cost < min_cost) {
            min_cost = cost;
            best = &shapes[i];
        }
    }
    return best;
}

/* Chooses the rectangle of pixels per thread block that wastes the fewest results. */
static void choose_block(const gr_conv *self, const shape *of, gr_conv_mma_params *params) {
    uint64_t fewest = UINT64_MAX;
    for (uint64_t tile_8x8 = 0; tile_8x8 < 2; ++tile_8x8)
        for (uint64_t tiles_per_row = tile_8x8 ? 4 : 2; tiles_per_row > 0; tiles_per_row /= 2) {
            const uint64_t tile_columns = tile_8x8 ? GROUP : TILE, tile_rows = TILE / tile_columns;
            const uint64_t columns = tiles_per_row * tile_columns,
                           rows = of->tiles / tiles_per_row * tile_rows;
            const uint64_t blocks =
                gr_ceil_div(self->width.out, columns) * gr_ceil_div(self->height.out, rows);
            if (blocks >= fewest)
                continue;
            fewest = blocks;
            params->tile_8x8 = tile_8x8;
            params->block_columns = columns;
            params->block_rows = rows;
        }
    params->blocks_x = gr_ceil_div(self->width.out, params->block_columns);
    params->blocks_y = gr_ceil_div(self->height.out, params->block_rows);
    params->rows = gr_conv_extent_read(&self->height, params->block_rows);
    params->pitch = gr_ceil_div(gr_conv_extent_read(&self->width, params->block_columns), self->width.stride);
    params->columns = params->pitch * self->width.stride;
}

/* Sets the vectors of channels per step of the channel loop. Returns the bytes of shared memory. */
static uint64_t set_vec16s(const gr_conv *self, const shape *of, uint64_t vec16s,
                           gr_conv_mma_params *params) {
    const uint64_t taps = gr_conv_taps(self), terms = of->terms;
    const uint64_t zeros = taps * vec16s % 2; /* a plane of zeros if the number of vectors is odd */
    params->vec16s = vec16s;
    params->k_steps = gr_ceil_div(taps * vec16s, 2);
    params->plane =
        gr_ceil_div(params->rows * params->pitch * VEC16, LINE) * LINE + gr_ceil_div(GROUP, vec16s) * VEC16;
    return terms * params->plane * (vec16s * self->width.stride + zeros) +
           params->k_steps * (2 * terms * of->filters * VEC16 + ENTRY);
}

bool gr_conv_is_c12_3x3(const gr_conv *self) {
    enum { CHANNELS = 12 };
    return self->groups == 1 && self->channels == CHANNELS && gr_conv_stride_of_3x3(self) == 1;
}

/* Returns whether the kernels for 12 channels can run: their blocks match the chosen ones and fit the grid,
   and in NCHW pairs of columns are aligned. */
static bool uses_c12_kernel(const gr_conv *self, const shape *of, const gr_conv_mma_params *params) {
    return gr_conv_is_c12_3x3(self) && of->filters == GR_CONV_C12_FILTERS && !params->tile_8x8 &&
           params->block_columns == GR_CONV_C12_COLUMNS && params->blocks_y <= GR_MAX_GRID_YZ &&
           self->batch <= GR_MAX_GRID_YZ && (self->layout == GR_CONV_NHWC || self->width.size % 2 == 0);
}

static void append_c12(const gr_conv *self, const shape *of, const gr_conv_job *job) {
    const bool nhwc = self->layout == GR_CONV_NHWC;
    const gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                         .filter_tiles = gr_ceil_div(self->filters, GR_CONV_C12_FILTERS),
                                         .filters = GR_CONV_C12_FILTERS};
    const gr_conv_grid grid = {params.filter_tiles * gr_ceil_div(self->width.out, GR_CONV_C12_COLUMNS),
                               gr_ceil_div(self->height.out, GR_CONV_C12_ROWS), self->batch};
    gr_step *step =
        gr_conv_launch(self, job, nhwc ? "_twelve_nhwc" : "_twelve_nchw", &params, sizeof params, grid);
    step->block[0] = GR_CONV_C12_THREADS;
    step->shared_bytes =
        nhwc && job->variant->precision == GR_PRECISION_TF32
            ? (uint32_t)GR_CONV_C12_TF32_NHWC_SHARED
            : (uint32_t)GR_CONV_C12_SHARED(nhwc, gr_dtypes[self->dtype].item_bytes, of->terms);
    step->pdl = true;
}

static uint64_t count_blocks(const gr_conv *self, const gr_conv_mma_params *params) {
    return params->filter_tiles * self->groups * params->blocks_x * params->blocks_y * self->batch;
}

/* Returns whether blocks of half the pixels are faster: c7 has a kernel for up to 24 filters, and leaves SMs
   idle (H200: 32 images of 8 x 82 x 14, 16 filters of 3 x 3, 5.6 us instead of 6.9 us). The order of the sums
   is the same. */
static bool prefers_few_pixels(const gr_conv *self, const shape *of, const gr_conv_mma_params *params) {
    return self->dtype != GR_DTYPE_f32 && of->tiles == GR_CONV_MMA_TILES_24 &&
           count_blocks(self, params) <= gr_reference_device.multiprocessors;
}

void gr_conv_tensor_cores(const gr_conv *self, gr_conv_job job) {
    enum { TWO_BLOCKS_BYTES = 113 << 10 }; /* shared memory per block that leaves space for a second one */
    const uint64_t length = VEC16 / gr_dtypes[self->dtype].item_bytes,
                   all = gr_ceil_div(self->channels, length);
    const shape *of = choose_shape(self, job.variant->precision == GR_PRECISION_TF32X3 ? 2 : 1);
    const uint64_t max_bytes = job.info->caps.shared_per_block; /* pixels need at least a byte each */
    const uint64_t good = of->terms == 2 ? max_bytes : TWO_BLOCKS_BYTES;
    gr_conv_mma_params params = {.conv = gr_conv_make_params(self),
                                 .channels_last = self->layout == GR_CONV_NHWC,
                                 .filter_tiles = gr_ceil_div(self->filters, of->filters)};
    choose_block(self, of, &params);
    if (uses_c12_kernel(self, of, &params)) {
        append_c12(self, of, &job);
        return;
    }
    if (params.rows > max_bytes || params.columns > max_bytes || gr_conv_taps(self) > max_bytes ||
        set_vec16s(self, of, 1, &params) > max_bytes) {
        gr_conv_im2col(self, job);
        return;
    }
    uint64_t vec16s = 1;
    while (vec16s < all && set_vec16s(self, of, vec16s + 1, &params) <= good)
        ++vec16s;
    if (all > 0)
        vec16s = gr_ceil_div(all, gr_ceil_div(all, vec16s)); /* the same number in each step */
    const bool few = prefers_few_pixels(self, of, &params);
    if (few)
        choose_block(self, &(shape){of->filters, of->tiles / 2, of->terms}, &params);
    const uint64_t bytes = set_vec16s(self, of, vec16s, &params), blocks = count_blocks(self, &params);
    char form[16];
    snprintf(form, sizeof form, "_%u%s", (unsigned)of->filters, few ? "_few" : "");
    gr_step *step = gr_conv_launch(self, &job, form, &params, sizeof params, (gr_conv_grid){.x = blocks});
    step->shared_bytes = (uint32_t)bytes;
    step->pdl = true;
}
