#include "conv/taps.h"

#include <stddef.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/columns.h"
#include "conv/cores.h"

enum { PIXELS = 128, LINE = 128, ALIGNMENT = 16, STAGES = 3 }; /* of a box; bytes of its rows; of strides */

bool gr_conv_taps_fit(const gr_conv *self) {
    return self->groups == 1 && self->down.stride == 1 && self->along.stride == 1 && self->channels > 0 &&
           self->down.size > 0 && self->along.size > 0 &&
           self->channels * gr_dtypes[self->dtype].item_bytes % ALIGNMENT == 0;
}

/* The box that covers the results with the least to spare, of the longest rows. */
static uint64_t choose_box(const gr_conv *self, gr_conv_maps *params) {
    uint64_t least = UINT64_MAX;
    for (uint64_t columns = PIXELS; columns > 0; columns /= 2)
        for (uint64_t rows = PIXELS / columns; rows > 0; rows /= 2) {
            const uint64_t pictures = PIXELS / columns / rows;
            const uint64_t across = gr_ceil_div(self->along.out, columns),
                           down = gr_ceil_div(self->down.out, rows);
            const uint64_t boxes = across * down * gr_ceil_div(self->batch, pictures);
            if (boxes >= least)
                continue;
            least = boxes;
            params->across = across;
            params->down = down;
            params->box_columns = columns;
            params->box_rows = rows;
            params->box_pictures = pictures;
        }
    return least;
}

static gr_tensor_type type_of(gr_dtype dtype) {
    return dtype == GR_DTYPE_f16 ? GR_TENSOR_F16 : dtype == GR_DTYPE_bf16 ? GR_TENSOR_BF16 : GR_TENSOR_TF32;
}

static gr_tensor map_of_x(const gr_conv *self, const gr_conv_maps *params) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, pixel = self->channels * item;
    const uint64_t row = pixel * self->along.size;
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 4,
        .sizes = {self->channels, self->along.size, self->down.size, self->batch},
        .strides = {pixel, row, row * self->down.size},
        .box = {(uint32_t)(LINE / item), (uint32_t)params->box_columns, (uint32_t)params->box_rows,
                (uint32_t)params->box_pictures},
    };
}

static gr_tensor map_of_w(const gr_conv *self, uint32_t filters) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, tap = self->channels * item;
    const uint64_t taps = self->down.kernel * self->along.kernel;
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 3,
        .sizes = {self->channels, taps, self->filters},
        .strides = {tap, tap * taps},
        .box = {(uint32_t)(LINE / item), 1, filters},
    };
}

gr_status gr_conv_by_taps(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                          const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    enum { WIDE = 128, NARROW = 64 };
    if (!gr_conv_taps_fit(self)) {
        const gr_status status = gr_conv_find(self->dtype == GR_DTYPE_f32 ? "c5" : "c7", &variant, error);
        return status == GR_OK ? gr_conv_by_cores(self, variant, info, ends, program, error) : status;
    }
    gr_conv plain = *self;
    gr_conv_ends at = *ends;
    plain.layout = GR_CONV_NHWC; /* in which NCHW is copied first */
    const gr_status status =
        self->layout == GR_CONV_NHWC ? GR_OK : gr_conv_settle(&plain, &at, program, error);
    if (status != GR_OK)
        return status;
    gr_conv_maps params = {.conv = gr_conv_describe(&plain)};
    params.conv.of_out = gr_conv_describe(self).of_out;
    const uint64_t boxes = choose_box(self, &params);
    /* Narrow where that leaves no filters idle, or fills more multiprocessors. */
    const bool wide = self->filters % WIDE == 0
                          ? boxes * (self->filters / WIDE) >= gr_reference_limits.multiprocessors
                          : self->filters % WIDE > NARROW;
    const uint32_t filters = wide ? WIDE : NARROW;
    params.parts = gr_ceil_div(self->filters, filters);
    char form[16];
    snprintf(form, sizeof form, "_%u", (unsigned)filters);
    gr_step *step = gr_conv_launch(self, variant, form, &params, sizeof params, &at, program);
    const gr_tensor x = map_of_x(self, &params), w = map_of_w(self, filters);
    gr_program_map(program, offsetof(gr_conv_maps, x), at.x, &x);
    gr_program_map(program, offsetof(gr_conv_maps, w), at.w, &w);
    step->shared_bytes = STAGES * (LINE * (PIXELS + filters) + 16);
    step->overlap = step->one_param = true;
    return gr_conv_spread(step, params.parts * boxes, 1, 1, variant->threads, error);
}
