/* Implicit GEMM by TMA (c8, c9): tensor maps describe x and w to the Tensor Memory Accelerator, which copies
   boxes of x, with zeros for the padding, and filters of a tap to shared memory, where wgmma reads them.
   tma_boxes.c chooses the boxes; this file encodes the tensor maps and the list of taps. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/internal.h"

enum {
    LINE = 128, /* bytes of channels per pixel in shared memory: the span of the 128-byte swizzle */
    ALIGNMENT = 16,
};

/* Returns whether a tensor map can traverse the axis: elementStrides are at most 8. */
static bool fits_tensor_map(const gr_conv_axis *axis) {
    enum { MAX_STRIDE = 8 };
    return axis->stride <= MAX_STRIDE && axis->size > 0 &&
           (axis->kernel - 1) * axis->dilation + axis->size < INT32_MAX / 2;
}

bool gr_conv_pads_channels(const gr_conv *self) {
    return self->channels * gr_dtypes[self->dtype].item_bytes % ALIGNMENT != 0;
}

/* Returns the elements from a pixel to the next, of one group. Copies of many channels are aligned to more
   bytes, so that blocks write whole sectors of memory. */
static uint64_t pitch_of(const gr_conv *self) {
    enum { MANY = 256 /* bytes */, SECTORS = 64 };
    const uint64_t item = gr_dtypes[self->dtype].item_bytes;
    if (!gr_conv_pads_channels(self))
        return self->channels;
    const uint64_t each = (self->channels * item >= MANY ? SECTORS : ALIGNMENT) / item;
    return gr_ceil_div(self->channels, each) * each;
}

bool gr_conv_implicit_gemm_tma_supports(const gr_conv *self) {
    return fits_tensor_map(&self->height) && fits_tensor_map(&self->width) && self->channels > 0 &&
           gr_conv_taps(self) <= GR_CONV_MAX_TAPS && (!gr_conv_pads_channels(self) || self->groups == 1) &&
           self->batch * self->height.size * self->width.size < INT32_MAX / 2 &&
           self->groups * self->filters < INT32_MAX / 2;
}

/* If the convolution is a GEMM (1 x 1), merges the pixels of an image (NCHW), or of all images (NHWC), to one
   row. */
static gr_conv as_rows(const gr_conv *self) {
    gr_conv it = *self;
    if (!gr_conv_is_gemm(self))
        return it;
    uint64_t pixels = self->height.size * self->width.size;
    if (self->layout == GR_CONV_NHWC) {
        pixels *= self->batch;
        it.batch = 1;
    }
    it.height.size = it.height.out = 1;
    it.width.size = it.width.out = pixels;
    return it;
}

/* Returns whether TMA can load NCHW as it is: a GEMM whose strides are multiples of 16 bytes. */
static bool loads_nchw_x(const gr_conv *self) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const gr_conv_strides *x = &self->x.strides;
    const uint64_t pixels = self->height.size * self->width.size;
    return self->layout == GR_CONV_NCHW && !gr_conv_pads_channels(self) && gr_conv_is_gemm(self) &&
           self->x.aligned && self->out_aligned && pixels * item % ALIGNMENT == 0 &&
           (pixels == 1 || (self->width.size > 1 ? x->column : x->row) == 1) && x->channel > 0 &&
           x->outer >= 0 && ((uint64_t)x->channel | (uint64_t)x->outer) * item % ALIGNMENT == 0 &&
           (self->groups == 1 || self->channels * item % LINE == 0);
}

static gr_tensor_type type_of(gr_dtype dtype) {
    return dtype == GR_DTYPE_f16 ? GR_TENSOR_F16 : dtype == GR_DTYPE_bf16 ? GR_TENSOR_BF16 : GR_TENSOR_TF32;
}

/* Returns the elements of x that a box of `pixels` spans along an axis. */
static uint32_t span_of(uint32_t pixels, const gr_conv_axis *axis) {
    return (pixels - 1) * (uint32_t)axis->stride + 1;
}

static gr_tensor map_of_x(const gr_conv *self, const gr_conv_tma_params *params) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, group = pitch_of(self) * item;
    const uint64_t pixel = group * self->groups, row = pixel * self->width.size;
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 5,
        .sizes = {self->channels, self->groups, self->width.size, self->height.size, self->batch},
        .strides = {group, pixel, row, row * self->height.size},
        .box = {(uint32_t)(LINE / item), 1, span_of(params->pitch, &self->width),
                span_of(params->plane / params->pitch, &self->height), params->box_images},
        .steps = {1, 1, (uint32_t)self->width.stride, (uint32_t)self->height.stride, 1},
    };
}

static gr_tensor map_of_nchw_x(const gr_conv *self) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes;
    const uint64_t channels = self->groups * self->channels,
                   channel = (uint64_t)self->x.strides.channel * item;
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 3,
        .sizes = {self->width.size, channels, self->batch},
        .strides = {channel, self->batch > 1 ? (uint64_t)self->x.strides.outer * item : channel * channels},
        .box = {(uint32_t)(LINE / item), (uint32_t)(LINE / item), 1},
    };
}

static gr_tensor map_of_w(const gr_conv *self, uint32_t filters) {
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, tap = pitch_of(self) * item;
    const uint64_t taps = gr_conv_taps(self);
    return (gr_tensor){
        .type = type_of(self->dtype),
        .swizzle = GR_SWIZZLE_128,
        .rank = 3,
        .sizes = {self->channels, taps, self->groups * self->filters},
        .strides = {tap, tap * taps},
        .box = {(uint32_t)(LINE / item), 1, filters},
    };
}

/* Lists the taps in the order of the boxes that taps can share: if their offsets are equal modulo the stride
   on both axes. With `box_per_tap` the order is the same, and each has a box of its own. */
static void list_taps(const gr_conv *self, bool box_per_tap, gr_conv_tma_params *params) {
    const uint64_t height = self->height.stride, width = self->width.stride;
    for (uint64_t box = 0; box < height * width; ++box) {
        const uint32_t begin = params->taps;
        for (uint64_t i = 0; i < self->height.kernel; ++i)
            for (uint64_t j = 0; j < self->width.kernel; ++j) {
                const uint64_t y = i * self->height.dilation, x = j * self->width.dilation;
                const bool here = box == y % height * width + x % width;
                if (!here)
                    continue;
                gr_conv_tap *tap = &params->tap[params->taps++];
                tap->index = (uint16_t)(i * self->width.kernel + j);
                tap->dy = (int32_t)(box_per_tap ? y : y % height);
                tap->dx = (int32_t)(box_per_tap ? x : x % width);
                tap->box_offset = box_per_tap ? 0 : (uint32_t)(y / height * params->pitch + x / width) * LINE;
                tap->first = tap->last = box_per_tap;
            }
        if (params->taps > begin) {
            params->tap[begin].first = 1;
            params->tap[params->taps - 1].last = 1;
        }
    }
}

bool gr_conv_needs_nhwc_transpose(const gr_conv *self) {
    return self->layout == GR_CONV_NCHW && !loads_nchw_x(self);
}

/* Returns the bytes of dynamic shared memory: the pipelines, and results that are staged on them or behind
   them. */
static uint32_t shared_bytes_of(const gr_conv_tma_tiling *boxes) {
    enum { ENTRY = 16 }; /* bytes, of the mbarriers of a stage or of a tap */
    const gr_conv_tma_params *maps = &boxes->maps;
    const uint32_t rings = maps->x_stages * maps->x_stage_bytes + maps->w_stages * boxes->filters * LINE +
                           (maps->x_stages + maps->w_stages + GR_CONV_MAX_TAPS) * ENTRY;
    const uint32_t sums = boxes->slices > 1 ? boxes->tiles * 64 * boxes->filters * 4
                                            : maps->output_offset + GR_CONV_OUTPUT_STAGING_BYTES;
    return rings > sums ? rings : sums;
}

double gr_conv_implicit_gemm_tma_time(const gr_conv *self, uint32_t parts) {
    const gr_conv rows = as_rows(self);
    const gr_conv_tma_tiling boxes = gr_conv_choose_tma_tiling(&rows, loads_nchw_x(self), parts);
    return boxes.tiles == 0 ? HUGE_VAL : boxes.time;
}

uint32_t gr_conv_implicit_gemm_tma_parts(const gr_conv *self) {
    const gr_conv rows = as_rows(self);
    return gr_conv_choose_tma_tiling(&rows, loads_nchw_x(self), 0).slices;
}

/* Chunks of channels are added up one after the other, and the taps within a chunk. */
bool gr_conv_implicit_gemm_tma_is_in_order_of_k(const gr_conv *self) {
    enum { K_STEP = 32 /* bytes */ };
    const uint64_t bytes = self->channels * gr_dtypes[self->dtype].item_bytes;
    return gr_conv_taps(self) == 1 || (self->layout == GR_CONV_NHWC && bytes <= LINE && bytes % K_STEP == 0 &&
                                       self->height.stride == 1 && self->width.stride == 1);
}

void gr_conv_implicit_gemm_tma(const gr_conv *self, gr_conv_job job) {
    gr_conv plain = *self;
    const bool x_is_nchw = loads_nchw_x(self);
    plain.layout = GR_CONV_NHWC; /* to which NCHW is transposed first */
    gr_conv_make_nhwc(&plain, x_is_nchw, pitch_of(self), &job);
    plain.layout = self->layout;
    plain = as_rows(&plain);
    const gr_conv_tma_tiling boxes = gr_conv_choose_tma_tiling(&plain, x_is_nchw, job.parts);
    gr_conv_tma_params params = boxes.maps;
    params.box_count = (uint32_t)boxes.blocks;
    params.conv = gr_conv_make_params(&plain);
    list_taps(&plain, boxes.box_per_tap, &params);
    enum { MIN_FILTERS = 64 }; /* of a tile, whose kernel can take several parts in any case */
    char form[24];
    snprintf(form, sizeof form, "_%ux%u%s", (unsigned)boxes.tiles * 64, (unsigned)boxes.filters,
             x_is_nchw                                          ? "_planes"
             : params.rounds > 1 && boxes.filters > MIN_FILTERS ? "_parts"
                                                                : "");
    const uint64_t max_blocks = (uint64_t)gr_reference_device.multiprocessors * boxes.blocks_per_sm;
    const gr_conv_grid grid = {.x = boxes.persistent ? max_blocks : boxes.blocks * boxes.slices};
    gr_step *step = gr_conv_launch(self, &job, form, &params, sizeof params, grid);
    const gr_tensor x = x_is_nchw ? map_of_nchw_x(&plain) : map_of_x(&plain, &params),
                    w = map_of_w(&plain, boxes.filters);
    gr_program_map(job.program, offsetof(gr_conv_tma_params, x), job.x, &x);
    gr_program_map(job.program, offsetof(gr_conv_tma_params, w), job.w, &w);
    step->shared_bytes = shared_bytes_of(&boxes);
    step->cluster[0] = boxes.slices;
    step->pdl = step->one_param = true;
}
