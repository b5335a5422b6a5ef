#include "conv/implicit_gemm_async.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/direct.h"

enum { RATES = 4, MIN_FILTERS = 32 /* filters of a block */ };

/* Pixels and filters of a block, its threads, how many a multiprocessor has room for, and percent of its
   multiply-adds that they do, being one, two, four or eight (as in matmul/tiles.def). */
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

/* Of blocks that a multiprocessor has at once, in units of one that had it all for itself. */
static double wave(const shape *of, uint64_t blocks) {
    int rate = 0;
    while (rate + 1 < RATES && blocks >= (uint64_t)2 << rate)
        ++rate;
    return (double)blocks * 100 / of->percent[rate];
}

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
    return gr_conv_fits_32_bits(self, variant) && self->batch * self->height.out * self->width.out <
                                                      INT32_MAX - 256; /* pixels, and a tile's beyond */
}

double gr_conv_implicit_gemm_async_time(const gr_conv *self) {
    static const double PACK_US = 2; /* microseconds */
    const shape *of = best(self);
    return (of->filters > MIN_FILTERS ? PACK_US : 0) + time_of(self, of);
}

/* Has the filters of each group lie side by side, those of a tap behind those of the one before. Of few it
   would take longer than it spares (a launch, some 3 us on an H200). */
static gr_status pack_filters(const gr_conv *self, const shape *of, uint64_t *pitch, uint32_t *buffer,
                              gr_program *program, gr_error *error) {
    enum { EACH = 4 };
    const uint64_t taps = self->height.kernel * self->width.kernel * self->channels;
    const uint64_t stack[GR_MATMUL_STACKS] = {self->groups, 1, 1, 1};
    const gr_matmul_shape packed = {taps, self->filters, gr_ceil_div(self->filters, EACH) * EACH};
    gr_matmul_view side = {
        .row = 1, .column = (int64_t)taps, .stack = {(int64_t)(self->filters * taps), 0, 0, 0}};
    *pitch = packed.pitch;
    return taps == 0 || of->filters <= MIN_FILTERS
               ? GR_OK
               : gr_matmul_pack_operand(&side, &packed, stack, gr_dtypes[self->dtype].item_bytes, buffer,
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
