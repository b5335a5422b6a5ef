#include "conv/cores.h"

#include <stdio.h>

#include "base/limits.h"
#include "conv/columns.h"

enum {
    PIECE = 16, /* bytes */
    LINE = 128, /* of shared memory: bytes that lie in different banks */
    ENTRY = 16, /* bytes, of a step in a table */
    EIGHT = 8,
    TILE = 64,         /* pixels of a product */
    MOST_DOWN = 65535, /* blocks along y, and along z */
};

/* What a block of a kernel makes: so many filters, of so many times 64 pixels. */
typedef struct shape {
    uint32_t filters, tiles;
    uint32_t numbers; /* that each element is parted into */
} shape;

enum { SHAPES = 2 };

/* As the rungs' files have them. */
static const shape *choose_shape(const gr_conv *self, uint32_t numbers) {
    static const shape all[][SHAPES] = {{{24, 8, 1}, {64, 4, 1}}, {{24, 8, 2}, {32, 4, 2}}};
    enum { PIXELS_COST = 16 }; /* of taking the pixels, in filters */
    const shape *shapes = all[numbers - 1], *best = shapes;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < SHAPES; ++i) {
        const uint64_t cost =
            gr_ceil_div(self->filters, shapes[i].filters) * (shapes[i].filters + PIXELS_COST);
        if (cost < least) {
            least = cost;
            best = &shapes[i];
        }
    }
    return best;
}

/* Elements of x, along an axis, that so many results see. */
static uint64_t seen(const gr_conv_axis *axis, uint64_t results) {
    return (results - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

/* The rectangle of a block that covers the results with the least to spare. */
static void choose_block(const gr_conv *self, const shape *of, gr_conv_cores_params *params) {
    uint64_t least = UINT64_MAX;
    for (uint64_t tall = 0; tall < 2; ++tall)
        for (uint64_t across = tall ? 4 : 2; across > 0; across /= 2) {
            const uint64_t wide = tall ? EIGHT : TILE, high = TILE / wide;
            const uint64_t columns = across * wide, rows = of->tiles / across * high;
            const uint64_t blocks = gr_ceil_div(self->along.out, columns) * gr_ceil_div(self->down.out, rows);
            if (blocks >= least)
                continue;
            least = blocks;
            params->tall = tall;
            params->block_columns = columns;
            params->block_rows = rows;
        }
    params->across = gr_ceil_div(self->along.out, params->block_columns);
    params->down = gr_ceil_div(self->down.out, params->block_rows);
    params->rows = seen(&self->down, params->block_rows);
    params->pitch = gr_ceil_div(seen(&self->along, params->block_columns), self->along.stride);
    params->columns = params->pitch * self->along.stride;
}

/* Sets how much is there at once; the bytes that this takes. */
static uint64_t settle(const gr_conv *self, const shape *of, uint64_t pieces, gr_conv_cores_params *params) {
    const uint64_t taps = self->down.kernel * self->along.kernel, numbers = of->numbers;
    const uint64_t zeros = taps * pieces % 2; /* a plane that makes their number even */
    params->pieces = pieces;
    params->steps = gr_ceil_div(taps * pieces, 2);
    params->plane =
        gr_ceil_div(params->rows * params->pitch * PIECE, LINE) * LINE + gr_ceil_div(EIGHT, pieces) * PIECE;
    return numbers * params->plane * (pieces * self->along.stride + zeros) +
           params->steps * (2 * numbers * of->filters * PIECE + ENTRY);
}

bool gr_conv_cores_know(const gr_conv *self) {
    enum { CHANNELS = 12, TAPS = 3 };
    const gr_conv_axis *axes[] = {&self->down, &self->along};
    for (int i = 0; i < 2; ++i)
        if (axes[i]->kernel != TAPS || axes[i]->stride != 1 || axes[i]->dilation != 1)
            return false;
    return self->groups == 1 && self->channels == CHANNELS;
}

enum { TWELVE_FILTERS = 24, TWELVE_ROWS = 4, TWELVE_COLUMNS = 128 }; /* of a block of its kernels */

/* Whether blocks of those kernels are what to take, and have a place in the grid; of NCHW they load pairs of
   columns. */
static bool is_for_twelve(const gr_conv *self, const shape *of, const gr_conv_cores_params *params) {
    return gr_conv_cores_know(self) && of->filters == TWELVE_FILTERS && !params->tall &&
           params->block_columns == TWELVE_COLUMNS && params->down <= MOST_DOWN && self->batch <= MOST_DOWN &&
           (self->layout == GR_CONV_NHWC || self->along.size % 2 == 0);
}

static gr_status by_twelve(const gr_conv *self, const gr_conv_variant *variant, const shape *of,
                           const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    enum { THREADS = 256, CHANNELS = 12, TAPS = 9, SEEN_ROWS = TWELVE_ROWS + 2, ROWS_BYTES = 47872 };
    const bool nhwc = self->layout == GR_CONV_NHWC;
    const uint64_t pieces = gr_ceil_div(CHANNELS * gr_dtypes[self->dtype].item_bytes, PIECE);
    const uint64_t row = (TWELVE_COLUMNS + (nhwc ? 2 : 4)) * PIECE;
    const uint64_t plane = gr_ceil_div(SEEN_ROWS * row, LINE) * LINE + gr_ceil_div(EIGHT, pieces) * PIECE;
    const uint64_t chunks = gr_ceil_div(TAPS * pieces, 2) * 2;
    const gr_conv_tiles_params params = {.conv = gr_conv_describe(self),
                                         .parts = gr_ceil_div(self->filters, TWELVE_FILTERS),
                                         .filters = TWELVE_FILTERS};
    gr_step *step = gr_conv_launch(self, variant, nhwc ? "_twelve_nhwc" : "_twelve_nchw", &params,
                                   sizeof params, ends, program);
    if (nhwc && variant->precision == GR_PRECISION_TF32)
        step->shared_bytes = ROWS_BYTES; /* rows as they lie, filters, barriers */
    else
        step->shared_bytes = (uint32_t)(of->numbers * pieces * plane + TILE * PIECE +
                                        chunks * of->numbers * TWELVE_FILTERS * PIECE);
    step->overlap = true;
    return gr_conv_spread(step, params.parts * gr_ceil_div(self->along.out, TWELVE_COLUMNS),
                          gr_ceil_div(self->down.out, TWELVE_ROWS), self->batch, THREADS, error);
}

gr_status gr_conv_by_cores(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                           const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    enum { GOOD = 113 << 10 }; /* bytes, so that two blocks have room */
    const uint64_t length = PIECE / gr_dtypes[self->dtype].item_bytes,
                   all = gr_ceil_div(self->channels, length);
    const shape *of = choose_shape(self, variant->precision == GR_PRECISION_TF32X3 ? 2 : 1);
    const uint64_t good = of->numbers == 2 ? info->can.shared_per_block : GOOD;
    gr_conv_cores_params params = {.conv = gr_conv_describe(self),
                                   .channels_last = self->layout == GR_CONV_NHWC,
                                   .parts = gr_ceil_div(self->filters, of->filters)};
    choose_block(self, of, &params);
    if (is_for_twelve(self, of, &params))
        return by_twelve(self, variant, of, ends, program, error);
    const uint64_t most = info->can.shared_per_block; /* more pixels than bytes cannot be there */
    if (params.rows > most || params.columns > most || self->down.kernel * self->along.kernel > most ||
        settle(self, of, 1, &params) > most)
        return gr_conv_by_columns(self, variant, info, ends, program, error);
    uint64_t pieces = 1;
    while (pieces < all && settle(self, of, pieces + 1, &params) <= good)
        ++pieces;
    if (all > 0)
        pieces = gr_ceil_div(all, gr_ceil_div(all, pieces)); /* evenly */
    const uint64_t bytes = settle(self, of, pieces, &params);
    char form[16];
    snprintf(form, sizeof form, "_%u", (unsigned)of->filters);
    gr_step *step = gr_conv_launch(self, variant, form, &params, sizeof params, ends, program);
    step->shared_bytes = (uint32_t)bytes;
    step->overlap = true;
    return gr_conv_spread(step, params.parts * self->groups * params.across * params.down * self->batch, 1, 1,
                          variant->threads, error);
}
