#include "conv/taps.h"

#include <stddef.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/boxes.h"
#include "conv/columns.h"
#include "conv/cores.h"
#include "conv/turn.h"

enum {
    LINE = 128, /* bytes of a pixel in shared memory */
    ALIGNMENT = 16,
};

/* Elements of x from one pixel of a box to the next, at most. */
static bool is_good(const gr_conv_axis *axis) {
    enum { MOST_STEP = 8 };
    return axis->stride <= MOST_STEP && axis->size > 0 &&
           (axis->kernel - 1) * axis->dilation + axis->size < INT32_MAX / 2;
}

bool gr_conv_taps_fit(const gr_conv *self) {
    return is_good(&self->down) && is_good(&self->along) && self->channels > 0 &&
           self->down.kernel * self->along.kernel <= GR_CONV_MOST_TAPS &&
           self->channels * gr_dtypes[self->dtype].item_bytes % ALIGNMENT == 0 &&
           self->batch * self->down.size * self->along.size < INT32_MAX / 2 &&
           self->groups * self->filters < INT32_MAX / 2;
}

/* Where each result sees one pixel, those of a picture, or of all, are one row. */
static gr_conv as_rows(const gr_conv *self) {
    gr_conv it = *self;
    if (!gr_conv_is_product(self))
        return it;
    uint64_t pixels = self->down.size * self->along.size;
    if (self->layout == GR_CONV_NHWC) {
        pixels *= self->batch;
        it.batch = 1;
    }
    it.down.size = it.down.out = 1;
    it.along.size = it.along.out = pixels;
    return it;
}

/* Whether the engine can bring the pixels channel by channel, as NCHW has them. */
static bool takes_planes(const gr_conv *self) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const gr_conv_steps *x = &self->x.steps;
    const uint64_t pixels = self->down.size * self->along.size;
    return self->layout == GR_CONV_NCHW && gr_conv_is_product(self) && self->x.aligned && self->out_aligned &&
           pixels * item % ALIGNMENT == 0 &&
           (pixels == 1 || (self->along.size > 1 ? x->along : x->down) == 1) && x->channel > 0 &&
           x->outer >= 0 && ((uint64_t)x->channel | (uint64_t)x->outer) * item % ALIGNMENT == 0 &&
           (self->groups == 1 || self->channels * item % LINE == 0);
}

static gr_tensor_type type_of(gr_dtype dtype) {
    return dtype == GR_DTYPE_f16 ? GR_TENSOR_F16 : dtype == GR_DTYPE_bf16 ? GR_TENSOR_BF16 : GR_TENSOR_TF32;
}

/* Elements of x in a box over which so many pixels lie. */
static uint32_t over(uint32_t pixels, const gr_conv_axis *axis) {
    return (pixels - 1) * (uint32_t)axis->stride + 1;
}

static gr_tensor map_of_x(const gr_conv *self, const gr_conv_maps *params) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, group = self->channels * item;
    const uint64_t pixel = group * self->groups, row = pixel * self->along.size;
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 5,
        .sizes = {self->channels, self->groups, self->along.size, self->down.size, self->batch},
        .strides = {group, pixel, row, row * self->down.size},
        .box = {(uint32_t)(LINE / item), 1, over(params->pitch, &self->along),
                over(params->plane / params->pitch, &self->down), params->box_pictures},
        .steps = {1, 1, (uint32_t)self->along.stride, (uint32_t)self->down.stride, 1},
    };
}

static gr_tensor map_of_planes(const gr_conv *self) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes;
    const uint64_t channels = self->groups * self->channels, channel = (uint64_t)self->x.steps.channel * item;
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 3,
        .sizes = {self->along.size, channels, self->batch},
        .strides = {channel, self->batch > 1 ? (uint64_t)self->x.steps.outer * item : channel * channels},
        .box = {(uint32_t)(LINE / item), (uint32_t)(LINE / item), 1},
    };
}

static gr_tensor map_of_w(const gr_conv *self, uint32_t filters) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, tap = self->channels * item;
    const uint64_t taps = self->down.kernel * self->along.kernel;
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 3,
        .sizes = {self->channels, taps, self->groups * self->filters},
        .strides = {tap, tap * taps},
        .box = {(uint32_t)(LINE / item), 1, filters},
    };
}

/* The taps of one box behind the other: along each axis, those that leave the same remainder by the stride;
   every one is by itself where they are apart. */
static void list_taps(const gr_conv *self, bool apart, gr_conv_maps *params) {
    const uint64_t down = apart ? self->down.kernel : self->down.stride,
                   along = apart ? self->along.kernel : self->along.stride;
    for (uint64_t box = 0; box < down * along; ++box) {
        const uint32_t begin = params->taps;
        for (uint64_t i = 0; i < self->down.kernel; ++i)
            for (uint64_t j = 0; j < self->along.kernel; ++j) {
                const uint64_t y = i * self->down.dilation, x = j * self->along.dilation;
                const bool here = apart ? box == i * along + j : box == y % down * along + x % along;
                if (!here)
                    continue;
                gr_conv_tap *tap = &params->tap[params->taps++];
                tap->number = (uint16_t)(i * self->along.kernel + j);
                tap->down = (int32_t)(apart ? y : y % down);
                tap->along = (int32_t)(apart ? x : x % along);
                tap->shift = apart ? 0 : (uint32_t)(y / down * params->pitch + x / along) * LINE;
            }
        if (params->taps > begin) {
            params->tap[begin].first = 1;
            params->tap[params->taps - 1].last = 1;
        }
    }
}

bool gr_conv_taps_turn(const gr_conv *self) {
    return self->layout == GR_CONV_NCHW && !takes_planes(self);
}

/* Bytes of shared memory: the rings, in whose place results are put together then, or behind them. */
static uint32_t room_of(const gr_conv_boxes *boxes) {
    enum { ENTRY = 16 }; /* of a stage's barriers, or a tap */
    const gr_conv_maps *maps = &boxes->maps;
    const uint32_t rings = maps->x_stages * maps->x_bytes + maps->w_stages * boxes->filters * LINE +
                           (maps->x_stages + maps->w_stages + GR_CONV_MOST_TAPS) * ENTRY;
    const uint32_t sums =
        boxes->slices > 1 ? boxes->tiles * 64 * boxes->filters * 4 : maps->room + GR_CONV_RESULTS_ROOM;
    return rings > sums ? rings : sums;
}

double gr_conv_taps_time(const gr_conv *self) {
    const gr_conv rows = as_rows(self);
    return gr_conv_boxes_choose(&rows, takes_planes(self)).time;
}

gr_status gr_conv_by_taps(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                          const gr_conv_ends *ends, gr_program *program, gr_error *error) {
    gr_conv plain = *self;
    gr_conv_ends at = *ends;
    gr_status status = GR_OK;
    if (!gr_conv_taps_fit(self)) {
        status = gr_conv_settle(&plain, &at, program, error);
        if (status == GR_OK)
            status = gr_conv_find(self->dtype == GR_DTYPE_f32 ? "c5" : "c7", &variant, error);
        return status == GR_OK ? gr_conv_by_cores(&plain, variant, info, &at, program, error) : status;
    }
    const bool planes = takes_planes(self);
    plain.layout = GR_CONV_NHWC; /* to which NCHW is turned first */
    status = gr_conv_turn_settle(&plain, planes, &at, program, error);
    if (status != GR_OK)
        return status;
    plain.layout = self->layout;
    plain = as_rows(&plain);
    const gr_conv_boxes boxes = gr_conv_boxes_choose(&plain, planes);
    gr_conv_maps params = boxes.maps;
    params.boxes = (uint32_t)boxes.blocks;
    params.conv = gr_conv_describe(&plain);
    params.conv.of_out =
        gr_conv_dense(self->layout, plain.down.out, plain.along.out, self->groups * self->filters);
    list_taps(&plain, boxes.apart, &params);
    char form[24];
    snprintf(form, sizeof form, "_%ux%u%s", (unsigned)boxes.tiles * 64, (unsigned)boxes.filters,
             planes ? "_planes" : "");
    gr_step *step = gr_conv_launch(self, variant, form, &params, sizeof params, &at, program);
    const gr_tensor x = planes ? map_of_planes(&plain) : map_of_x(&plain, &params),
                    w = map_of_w(&plain, boxes.filters);
    gr_program_map(program, offsetof(gr_conv_maps, x), at.x, &x);
    gr_program_map(program, offsetof(gr_conv_maps, w), at.w, &w);
    step->shared_bytes = room_of(&boxes);
    step->cluster[0] = boxes.slices;
    step->overlap = step->one_param = true;
    const uint64_t most = (uint64_t)gr_reference_limits.multiprocessors * boxes.room;
    const uint64_t blocks = boxes.resident ? most : boxes.blocks * boxes.slices;
    return gr_conv_spread(step, blocks, 1, 1, variant->threads, error);
}
