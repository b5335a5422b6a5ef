#include "conv/few.h"

#include "base/limits.h"
#include "conv/columns.h"
#include "conv/cores.h"

enum {
    PIECE = 16,        /* bytes */
    SIXTEEN = 16,      /* pixels of a product */
    MOST_SIXTEENS = 8, /* of a tile */
    MOST_ROWS = 8,
    FEWEST_ROWS = 2, /* where tiles are few */
    SEVERAL = 3,
    BLOCKS = 2,  /* of a multiprocessor */
    NARROW = 32, /* filters of a block */
    WIDE = 64,
    GOOD = 113 << 10,  /* bytes of shared memory, so that two blocks have room */
    SHORT = 1 << 16,   /* elements of a row that a tile sees are fewer */
    MOST_PARTS = 65535 /* blocks along y */
};

/* Elements of x, along an axis, that so many results see. */
static uint64_t seen(const gr_conv_axis *axis, uint64_t results) {
    return (results - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

static uint64_t filters_of_block(const gr_conv *self) {
    return self->filters <= NARROW ? NARROW : WIDE;
}

/* Words of a fragment begin at words: of halves, pixels that a product sees are an even number apart. */
static uint64_t pitch_of(const gr_conv *self) {
    const uint64_t words = 4 / gr_dtypes[self->dtype].item_bytes;
    return self->channels * self->along.stride % words == 0 ? self->channels : self->channels + 1;
}

/* Columns of a tile, in sixteens, that leave the fewest idle, and of such the most. */
static uint64_t choose_sixteens(uint64_t columns) {
    const uint64_t all = gr_ceil_div(columns, SIXTEEN);
    uint64_t best = 1;
    for (uint64_t some = 2; some <= MOST_SIXTEENS; ++some)
        if (gr_ceil_div(all, some) * some <= gr_ceil_div(all, best) * best + all / 16)
            best = some;
    return best;
}

/* Sets all that follows from the rows of a tile; the bytes that it takes. */
static uint64_t settle(const gr_conv *self, uint64_t rows, gr_conv_few_params *params) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, kernel = self->along.kernel;
    params->block_rows = rows;
    params->down = gr_ceil_div(self->down.out, rows);
    params->tiles = self->batch * params->across * params->down;
    params->rows = seen(&self->down, rows);
    params->columns = seen(&self->along, params->sixteens * SIXTEEN);
    params->pieces = gr_ceil_div(kernel * params->pitch * item, PIECE);
    params->row = gr_ceil_div((params->columns - kernel) * params->pitch * item, PIECE) * PIECE +
                  (params->pieces + 1) * PIECE;
    params->steps = gr_ceil_div(self->down.kernel * params->pieces, 2);
    return params->rows * params->row + params->steps * (2 * filters_of_block(self) * PIECE + PIECE);
}

/* Of the most rows that leave room for two blocks, and that give each of these blocks several tiles. */
static uint64_t choose_tile(const gr_conv *self, gr_conv_few_params *params) {
    params->pitch = pitch_of(self);
    params->sixteens = choose_sixteens(self->along.out);
    params->across = gr_ceil_div(self->along.out, params->sixteens * SIXTEEN);
    const uint64_t several = SEVERAL * BLOCKS * gr_reference_limits.multiprocessors;
    for (uint64_t rows = MOST_ROWS;; rows /= 2) {
        const uint64_t bytes = settle(self, rows, params);
        if (rows == 1 || (bytes <= GOOD && (rows <= FEWEST_ROWS || params->tiles >= several)))
            return bytes;
    }
}

/* So few that pieces of them would be mostly empty; or, of float32, an uneven number, of which no four can be
   loaded at once (3 x 137 x 153 x 17: 37 to 40 us where c5 and c1 take 46 and more). */
static bool few_channels(const gr_conv *self) {
    enum { FEW = 6, UNEVEN = 32, TOGETHER = 4 };
    return self->channels > 0 &&
           (self->channels <= FEW ||
            (self->dtype == GR_DTYPE_f32 && self->channels <= UNEVEN && self->channels % TOGETHER > 0));
}

bool gr_conv_few_fit(const gr_conv *self) {
    enum { TAPS = 16 };
    gr_conv_few_params params = {.tiles = 0};
    return self->groups == 1 && few_channels(self) && self->along.dilation == 1 &&
           self->along.kernel <= TAPS && self->down.kernel <= TAPS && self->along.stride <= TAPS &&
           self->down.stride <= TAPS && self->down.dilation <= TAPS &&
           gr_ceil_div(self->filters, filters_of_block(self)) <= MOST_PARTS &&
           choose_tile(self, &params) <= GOOD && params.columns * params.pitch < SHORT &&
           params.tiles < INT32_MAX;
}

/* How many blocks share the tiles of a part of the filters. */
static uint64_t blocks_of(const gr_conv *self, const gr_conv_few_params *params) {
    const uint64_t parts = gr_ceil_div(self->filters, filters_of_block(self));
    const uint64_t most = gr_ceil_div(gr_reference_limits.multiprocessors * BLOCKS, parts);
    return params->tiles < most ? params->tiles : most;
}

/* The loads of a tile wait for one another by turns of its warps, those of the filters by turns. Results of
   NCHW go to as many planes as there are filters, four bytes or two at once, which is slower than all else
   where there is little to multiply. */
double gr_conv_few_time(const gr_conv *self, double moved) {
    enum { WARPS = 8, LOADED = 1024 /* bytes */, WORDS = 1024 };
    static const double LOAD = 0.8, FILTERS = 1.8;                               /* microseconds of a turn */
    static const double PRODUCTS = 70e6, SCATTERED = 0.165e6, MORE_NARROW = 1.7; /* in a microsecond */
    static const double HALVES = 2, SCATTERED_HALVES = 1.4;                      /* times as many */
    gr_conv_few_params params;
    choose_tile(self, &params);
    const uint64_t filters = filters_of_block(self), item = gr_dtypes[self->dtype].item_bytes;
    const bool halves = item < 4;
    const double parts = (double)gr_ceil_div(self->filters, filters);
    const double pixels = (double)(params.tiles * params.sixteens * SIXTEEN * params.block_rows);
    const double deep = (double)(params.steps * 2 * PIECE / item);
    const uint64_t loads =
        gr_ceil_div(params.tiles, blocks_of(self, &params)) *
        gr_ceil_div(params.rows * gr_ceil_div(self->channels * params.columns, LOADED / item), WARPS);
    const double time = moved + LOAD * (double)loads +
                        FILTERS * (double)gr_ceil_div(params.steps * 8 * filters, WORDS) +
                        parts * pixels * (double)filters * deep / (PRODUCTS * (halves ? HALVES : 1));
    const double scattered = (double)gr_conv_results(self) / SCATTERED / (halves ? SCATTERED_HALVES : 1) /
                             (filters == NARROW ? MORE_NARROW : 1);
    return self->layout == GR_CONV_NCHW && scattered > time ? scattered : time;
}

gr_status gr_conv_by_few(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                         const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    if (!gr_conv_few_fit(self)) {
        const gr_status status = gr_conv_find(self->dtype == GR_DTYPE_f32 ? "c5" : "c7", &variant, error);
        return status == GR_OK ? gr_conv_by_cores(self, variant, info, ends, program, error) : status;
    }
    gr_conv_few_params params = {.conv = gr_conv_describe(self),
                                 .channels_last = self->layout == GR_CONV_NHWC};
    const uint64_t bytes = choose_tile(self, &params), filters = filters_of_block(self);
    gr_step *step =
        gr_conv_launch(self, variant, filters == WIDE ? "_64" : "_32", &params, sizeof params, ends, program);
    step->shared_bytes = (uint32_t)bytes;
    step->overlap = true;
    return gr_conv_spread(step, blocks_of(self, &params), gr_ceil_div(self->filters, filters), 1,
                          variant->threads, error);
}
