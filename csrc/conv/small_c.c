#include "conv/small_c.h"

#include "base/limits.h"
#include "conv/im2col.h"
#include "conv/tensor_cores.h"

enum {
    VEC16 = 16,        /* bytes */
    M16 = 16,          /* pixels of a product */
    MAX_M16_TILES = 8, /* of a tile */
    MAX_ROWS = 8,
    MIN_ROWS = 2, /* where tiles are few */
    SEVERAL = 3,
    BLOCKS = 2,      /* of a multiprocessor */
    FILTERS_32 = 32, /* filters of a block */
    FILTERS_64 = 64,
    TWO_BLOCKS_BYTES = 113 << 10, /* bytes of shared memory, so that two blocks have room */
    MAX_ROW_ELEMENTS = 1 << 16,   /* elements of a row that a tile sees are fewer */
    MAX_BLOCKS_Y = 65535          /* blocks along y */
};

/* Elements of x, along an axis, that so many results see. */
static uint64_t extent_read(const gr_conv_axis *axis, uint64_t results) {
    return (results - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

static uint64_t filters_of_block(const gr_conv *self) {
    return self->filters <= FILTERS_32 ? FILTERS_32 : FILTERS_64;
}

/* Words of a fragment begin at words: of halves, pixels that a product sees are an even number apart. */
static uint64_t pitch_of(const gr_conv *self) {
    const uint64_t words = 4 / gr_dtypes[self->dtype].item_bytes;
    return self->channels * self->width.stride % words == 0 ? self->channels : self->channels + 1;
}

/* Columns of a tile, in sixteens, that leave the fewest idle, and of such the most. */
static uint64_t choose_m16_tiles(uint64_t columns) {
    const uint64_t all = gr_ceil_div(columns, M16);
    uint64_t best = 1;
    for (uint64_t some = 2; some <= MAX_M16_TILES; ++some)
        if (gr_ceil_div(all, some) * some <= gr_ceil_div(all, best) * best + all / 16)
            best = some;
    return best;
}

/* Sets all that follows from the rows of a tile; the bytes that it takes. */
static uint64_t set_rows(const gr_conv *self, uint64_t rows, gr_conv_small_c_params *params) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, kernel = self->width.kernel;
    params->block_rows = rows;
    params->tiles_y = gr_ceil_div(self->height.out, rows);
    params->tiles = self->batch * params->tiles_x * params->tiles_y;
    params->rows = extent_read(&self->height, rows);
    params->columns = extent_read(&self->width, params->m16_tiles * M16);
    params->row_vec16s = gr_ceil_div(kernel * params->pitch * item, VEC16);
    params->row_bytes = gr_ceil_div((params->columns - kernel) * params->pitch * item, VEC16) * VEC16 +
                        (params->row_vec16s + 1) * VEC16;
    params->k_steps = gr_ceil_div(self->height.kernel * params->row_vec16s, 2);
    return params->rows * params->row_bytes + params->k_steps * (2 * filters_of_block(self) * VEC16 + VEC16);
}

/* Of the most rows that leave room for two blocks, and that give each of these blocks several tiles. */
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

/* So few that pieces of them would be mostly empty; or, of float32, an uneven number, of which no four can be
   loaded at once (3 x 137 x 153 x 17: 37 to 40 us where c5 and c1 take 46 and more). */
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
           gr_ceil_div(self->filters, filters_of_block(self)) <= MAX_BLOCKS_Y &&
           choose_tile(self, &params) <= TWO_BLOCKS_BYTES &&
           params.columns * params.pitch < MAX_ROW_ELEMENTS && params.tiles < INT32_MAX;
}

/* How many blocks share the tiles of a part of the filters. */
static uint64_t blocks_of(const gr_conv *self, const gr_conv_small_c_params *params) {
    const uint64_t filter_tiles = gr_ceil_div(self->filters, filters_of_block(self));
    const uint64_t max_blocks = gr_ceil_div(gr_reference_device.multiprocessors * BLOCKS, filter_tiles);
    return params->tiles < max_blocks ? params->tiles : max_blocks;
}

/* The loads of a tile wait for one another by turns of its warps, those of the filters by turns. Results of
   NCHW go to as many planes as there are filters, four bytes or two at once, which is slower than all else
   where there is little to multiply. */
double gr_conv_small_c_time(const gr_conv *self, double moved) {
    enum { WARPS = 8, LOADED = 1024 /* bytes */, WORDS = 1024 };
    static const double LOAD = 0.8, FILTERS = 1.8; /* microseconds of a turn */
    static const double PRODUCTS = 70e6, SCATTERED = 0.165e6, FILTERS_32_RATE = 1.7; /* in a microsecond */
    static const double HALVES = 2, SCATTERED_HALVES = 1.4;                          /* times as many */
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

gr_status gr_conv_small_c(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                          const gr_conv_operands *operands, gr_program *program, gr_error *error) {
    if (!gr_conv_small_c_supports(self)) {
        const gr_status status = gr_conv_find(self->dtype == GR_DTYPE_f32 ? "c5" : "c7", &variant, error);
        return status == GR_OK ? gr_conv_tensor_cores(self, variant, info, operands, program, error) : status;
    }
    gr_conv_small_c_params params = {.conv = gr_conv_make_params(self),
                                     .channels_last = self->layout == GR_CONV_NHWC};
    const uint64_t bytes = choose_tile(self, &params), filters = filters_of_block(self);
    gr_step *step = gr_conv_launch(self, variant, filters == FILTERS_64 ? "_64" : "_32", &params,
                                   sizeof params, operands, program);
    step->shared_bytes = (uint32_t)bytes;
    step->pdl = true;
    return gr_conv_set_grid(step, blocks_of(self, &params), gr_ceil_div(self->filters, filters), 1,
                            variant->threads, error);
}
