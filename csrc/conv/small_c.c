/* Few channels (small C) on tensor cores (c5_few, c7_few). 16-byte vectors of channels would be mostly empty,
   so that k runs over a kernel row instead: in NHWC its taps and channels are contiguous, and mma.sync reads
   them from shared memory at any element. A thread block computes several tiles, one after the other. */
#include "base/limits.h"
#include "conv/internal.h"

enum {
    VEC16 = 16,        /* bytes of a vector of k */
    M16 = 16,          /* pixels per mma.sync (its m) */
    MAX_M16_TILES = 8, /* per tile, along a row */
    MAX_ROWS = 8,      /* of pixels per tile */
    MIN_ROWS = 2,      /* a tile keeps these if blocks have few tiles */
    SEVERAL = 3,       /* tiles per block that hide its loads */
    BLOCKS = 2,        /* per SM */
    FILTERS_32 = 32,   /* filters per block */
    FILTERS_64 = 64,
    TWO_BLOCKS_BYTES = 113 << 10, /* shared memory per block that leaves space for a second one */
    MAX_ROW_ELEMENTS = 1 << 16,   /* exclusive bound of the elements of x in a row of a tile */
};

static uint64_t filters_of_block(const gr_conv *self) {
    return self->filters <= FILTERS_32 ? FILTERS_32 : FILTERS_64;
}

/* Returns the elements from pixel to pixel in shared memory. Fragments are loaded by 4-byte words, so that
   2-byte elements need an even distance between the pixels of an mma.sync. */
static uint64_t pitch_of(const gr_conv *self) {
    const uint64_t words = 4 / gr_dtypes[self->dtype].item_bytes;
    return self->channels * self->width.stride % words == 0 ? self->channels : self->channels + 1;
}

/* Returns the largest width of a tile, in units of 16 columns, among those that waste the fewest columns. */
static uint64_t choose_m16_tiles(uint64_t columns) {
    const uint64_t all = gr_ceil_div(columns, M16);
    uint64_t best = 1;
    for (uint64_t some = 2; some <= MAX_M16_TILES; ++some)
        if (gr_ceil_div(all, some) * some <= gr_ceil_div(all, best) * best + all / 16)
            best = some;
    return best;
}

/* Sets the parameters that depend on the rows per tile. Returns the bytes of shared memory. */
static uint64_t set_rows(const gr_conv *self, uint64_t rows, gr_conv_small_c_params *params) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, kernel = self->width.kernel;
    params->block_rows = rows;
    params->tiles_y = gr_ceil_div(self->height.out, rows);
    params->tiles = self->batch * params->tiles_x * params->tiles_y;
    params->rows = gr_conv_extent_read(&self->height, rows);
    params->columns = gr_conv_extent_read(&self->width, params->m16_tiles * M16);
    params->row_vec16s = gr_ceil_div(kernel * params->pitch * item, VEC16);
    params->row_bytes = gr_ceil_div((params->columns - kernel) * params->pitch * item, VEC16) * VEC16 +
                        (params->row_vec16s + 1) * VEC16;
    params->k_steps = gr_ceil_div(self->height.kernel * params->row_vec16s, 2);
    return params->rows * params->row_bytes + params->k_steps * (2 * filters_of_block(self) * VEC16 + VEC16);
}

/* Chooses the largest number of rows with which two blocks fit on an SM and each has several tiles. Returns
   the bytes of shared memory. */
static uint64_t choose_tile(const gr_conv *self, gr_conv_small_c_params *params) {
    params->pitch = pitch_of(self);
    params->m16_tiles = choose_m16_tiles(self->width.out);
    params->tiles_x = gr_ceil_div(self->width.out, params->m16_tiles * M16);
    const uint64_t several = SEVERAL * BLOCKS * gr_reference_device.multiprocessors;
    for (uint64_t rows = MAX_ROWS;; rows /= 2) {
        const uint64_t bytes = set_rows(self, rows, params);
        if (rows == 1 || (bytes <= TWO_BLOCKS_BYTES && (rows <= MIN_ROWS || params->tiles >= several)))
            return bytes;
    }
}

/* Returns whether vectors of channels would be mostly empty or, in float32, could not be loaded by 16 bytes
   (3 x 137 x 153 x 17: 37 to 40 us on an H200; c5 and c1 take 46 and more). */
static bool has_small_c(const gr_conv *self) {
    enum { FEW = 6, UNEVEN = 32, TOGETHER = 4 };
    return self->channels > 0 &&
           (self->channels <= FEW ||
            (self->dtype == GR_DTYPE_f32 && self->channels <= UNEVEN && self->channels % TOGETHER > 0));
}

bool gr_conv_small_c_supports(const gr_conv *self) {
    enum { TAPS = 16 };
    gr_conv_small_c_params params = {.tiles = 0};
    return self->groups == 1 && has_small_c(self) && self->width.dilation == 1 &&
           self->width.kernel <= TAPS && self->height.kernel <= TAPS && self->width.stride <= TAPS &&
           self->height.stride <= TAPS && self->height.dilation <= TAPS &&
           gr_ceil_div(self->filters, filters_of_block(self)) <= GR_MAX_GRID_YZ &&
           choose_tile(self, &params) <= TWO_BLOCKS_BYTES &&
           params.columns * params.pitch < MAX_ROW_ELEMENTS && params.tiles < INT32_MAX;
}

/* Returns how many blocks share the tiles of one filter tile. */
static uint64_t blocks_of(const gr_conv *self, const gr_conv_small_c_params *params) {
    const uint64_t filter_tiles = gr_ceil_div(self->filters, filters_of_block(self));
    return gr_min(params->tiles, gr_ceil_div(gr_reference_device.multiprocessors * BLOCKS, filter_tiles));
}

/* Loads of x and of filters are serialized, one round of the warps after the other. NCHW results are
   scattered over filter planes, 4 or 2 bytes per store, which dominates if k is short. */
double gr_conv_small_c_time(const gr_conv *self, double moved) {
    enum { WARPS = 8, LOADED = 1024 /* bytes */, WORDS = 1024 };
    static const double LOAD = 0.8, FILTERS = 1.8; /* microseconds per round */
    static const double PRODUCTS = 70e6, SCATTERED = 0.165e6, FILTERS_32_RATE = 1.7; /* per microsecond */
    static const double HALVES = 2, SCATTERED_HALVES = 1.4; /* factors for 2-byte elements */
    gr_conv_small_c_params params;
    choose_tile(self, &params);
    const uint64_t filters = filters_of_block(self), item = gr_dtypes[self->dtype].item_bytes;
    const bool halves = item < 4;
    const double filter_tiles = (double)gr_ceil_div(self->filters, filters);
    const double pixels = (double)(params.tiles * params.m16_tiles * M16 * params.block_rows);
    const double k = (double)(params.k_steps * 2 * VEC16 / item);
    const uint64_t loads =
        gr_ceil_div(params.tiles, blocks_of(self, &params)) *
        gr_ceil_div(params.rows * gr_ceil_div(self->channels * params.columns, LOADED / item), WARPS);
    const double time = moved + LOAD * (double)loads +
                        FILTERS * (double)gr_ceil_div(params.k_steps * 8 * filters, WORDS) +
                        filter_tiles * pixels * (double)filters * k / (PRODUCTS * (halves ? HALVES : 1));
    const double scattered = (double)gr_conv_output_count(self) / SCATTERED /
                             (halves ? SCATTERED_HALVES : 1) / (filters == FILTERS_32 ? FILTERS_32_RATE : 1);
    return self->layout == GR_CONV_NCHW && scattered > time ? scattered : time;
}

void gr_conv_small_c(const gr_conv *self, gr_conv_job job) {
    gr_conv_small_c_params params = {.conv = gr_conv_make_params(self),
                                     .channels_last = self->layout == GR_CONV_NHWC};
    const uint64_t bytes = choose_tile(self, &params), filters = filters_of_block(self);
    gr_step *step = gr_conv_launch(
        self, &job, filters == FILTERS_64 ? "_64" : "_32", &params, sizeof params,
        (gr_conv_grid){.x = blocks_of(self, &params), .y = gr_ceil_div(self->filters, filters)});
    step->shared_bytes = (uint32_t)bytes;
    step->pdl = true;
}
