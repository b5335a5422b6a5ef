/* Pointwise convolutions (1 x 1) with few filters, and convolutions with few results. Their kernels are no
   rungs: only `auto` selects them. */
#include <math.h>

#include "base/limits.h"
#include "conv/internal.h"

/* ---- pointwise with at most 4 filters (small K): tiles of a matrix multiplication would be mostly empty;
   here a thread computes all filters of its pixels, and the filters are in shared memory ---- */

enum { MAX_FILTERS = 4, MAX_CHANNELS = 2048, VEC16 = 16 /* bytes */ };

/* Returns whether the 16-byte loads of the kernel are aligned: of channels in NHWC, of pixels in NCHW. */
static bool is_aligned_to_16_bytes(const gr_conv *self) {
    const gr_conv_strides *x = &self->x.strides;
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    if (!self->x.aligned || !self->out_aligned)
        return false;
    if (self->layout == GR_CONV_NHWC)
        return x->channel == 1 && (int64_t)self->channels * item % VEC16 == 0 &&
               x->column * item % VEC16 == 0;
    const int64_t each = GR_CONV_POINTWISE_PIXELS;
    return x->column == 1 && self->height.out * self->width.out % GR_CONV_POINTWISE_PIXELS == 0 &&
           x->channel % each == 0 && x->outer % each == 0 && self->batch <= GR_MAX_GRID_YZ;
}

/* The kernel accumulates in float32, so that float64 is excluded; its products are float32's in any
   precision. */
bool gr_conv_prefers_pointwise(const gr_conv *self) {
    return self->variant == NULL && self->dtype != GR_DTYPE_f64 && self->groups == 1 &&
           self->filters <= MAX_FILTERS && self->channels > 0 && self->channels <= MAX_CHANNELS &&
           gr_conv_is_gemm(self) && is_aligned_to_16_bytes(self);
}

void gr_conv_pointwise(const gr_conv *self, gr_conv_job job) {
    enum { FEW = 2 };
    static const gr_conv_variant variant = {.rung = {.name = "conv_narrow", .file = "conv_narrow"},
                                            .threads = GR_CONV_POINTWISE_THREADS};
    static const char *const forms[GR_CONV_LAYOUTS][2] = {{"_nhwc_4", "_nhwc_2"}, {"_nchw_4", "_nchw_2"}};
    const gr_conv_params params = gr_conv_make_params(self);
    const bool nhwc = self->layout == GR_CONV_NHWC, few = self->filters <= FEW;
    const uint64_t pixels = self->height.out * self->width.out;
    const uint64_t each = GR_CONV_POINTWISE_THREADS * GR_CONV_POINTWISE_PIXELS; /* pixels per block */
    const gr_conv_grid grid = {
        .x = nhwc ? gr_ceil_div(self->batch * pixels, each / GR_CONV_POINTWISE_LANES)
                  : gr_ceil_div(pixels, each),
        .y = nhwc ? 0 : self->batch,
    };
    job.variant = &variant;
    gr_step *step = gr_conv_launch(self, &job, forms[self->layout][few], &params, sizeof params, grid);
    step->kernel.owner = "conv";
    step->shared_bytes = (uint32_t)(self->channels * (few ? FEW : MAX_FILTERS) * sizeof(float));
    step->pdl = true;
}

/* ---- few results, or few filters per group ---- */

/* Returns whether offsets of elements within an image or a filter fit in 32 bits. */
static bool has_short_strides(const gr_conv_strides *strides, uint64_t height, uint64_t width,
                              uint64_t channels) {
    return fabs((double)strides->row) * (double)height + fabs((double)strides->column) * (double)width +
               fabs((double)strides->channel) * (double)channels <
           INT32_MAX;
}

bool gr_conv_has_short_offsets(const gr_conv *self) {
    return has_short_strides(&self->x.strides,
                             self->height.size + self->height.kernel * self->height.dilation,
                             self->width.size + self->width.kernel * self->width.dilation, self->channels) &&
           has_short_strides(&self->w.strides, self->height.kernel, self->width.kernel, self->channels);
}

bool gr_conv_small_supports(const gr_conv *self) {
    return gr_conv_has_short_offsets(self) && self->dtype != GR_DTYPE_f64 && self->channels > 0 &&
           gr_conv_fits_32_bits(self) && gr_conv_pixels(self) < INT32_MAX;
}

bool gr_conv_small_is_measured(const gr_conv *self) {
    enum { MAX_RESULTS = 1 << 22 };
    return gr_conv_output_count(self) <= MAX_RESULTS;
}

/* The tile of a block: pixels, filters, and indices of k at once; by layout, microseconds of a step along k,
   microseconds of a block and SM besides, and multiply-adds per microsecond and SM (H200, 141 drawn layers);
   the order of the sums. */
typedef struct small_tile {
    uint64_t pixels, filters, k;
    double step_us[GR_CONV_LAYOUTS], block_us[GR_CONV_LAYOUTS];
    double rate[GR_CONV_LAYOUTS], rate_of_halves[GR_CONV_LAYOUTS];
    gr_conv_order_kind order;
    const char *forms[GR_CONV_LAYOUTS];
} small_tile;

static uint64_t blocks_of_small(const gr_conv *self, const small_tile *tile) {
    return gr_ceil_div(self->filters, tile->filters) * self->groups *
           gr_ceil_div(gr_conv_pixels(self), tile->pixels);
}

/* A step waits for its elements, however few blocks there are; the blocks of an SM share its arithmetic.
   Measured on an H200: 4 x 10 x 21 pixels, 1 filter of 7 x 7 x 19, 8 steps, 12.9 us. */
static double time_of_small(const gr_conv *self, const small_tile *tile) {
    static const double START_US = 2.1;
    const gr_conv_layout layout = self->layout;
    const double rate = self->dtype == GR_DTYPE_f32 ? tile->rate[layout] : tile->rate_of_halves[layout];
    const double length = (double)gr_conv_filter_length(self), part = length / (double)tile->k;
    const double per_sm = ceil((double)blocks_of_small(self, tile) / gr_reference_device.multiprocessors);
    return START_US +
           fmax((part < 1 ? part : ceil(part)) * tile->step_us[layout],
                per_sm * (length * (double)(tile->pixels * tile->filters) / rate + tile->block_us[layout]));
}

/* Returns the tile of an order with the smallest estimated time. */
static const small_tile *tile_of_small(const gr_conv *self, gr_conv_order order) {
    static const small_tile tiles[] = {
        {
            .pixels = 128,
            .filters = 8,
            .k = 32,
            .step_us = {1.3, 2.5},
            .block_us = {0.33, 0.38},
            .rate = {0.031e6, 0.033e6},
            .rate_of_halves = {0.029e6, 0.03e6},
            .order = GR_CONV_ORDER_FMA,
            .forms = {"_nhwc_128x8", "_nchw_128x8"},
        },
        {
            .pixels = 32,
            .filters = 32,
            .k = 64,
            .step_us = {1.55, 2.3},
            .block_us = {0.19, 0.29},
            .rate = {0.057e6, 0.05e6},
            .rate_of_halves = {0.05e6, 0.05e6},
            .order = GR_CONV_ORDER_FMA,
            .forms = {"_nhwc_32x32", "_nchw_32x32"},
        },
        {
            .pixels = 16,
            .filters = 16,
            .k = 128,
            .step_us = {1.3, 2.2},
            .block_us = {0.18, 0.25},
            .rate = {0.04e6, 0.0445e6},
            .rate_of_halves = {0.031e6, 0.0456e6},
            .order = GR_CONV_ORDER_SHARED,
            .forms = {"_nhwc_16x16", "_nchw_16x16"},
        },
    };
    const small_tile *best = NULL;
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; ++i)
        if ((order.kind == GR_CONV_ORDER_ANY || order.kind == tiles[i].order) &&
            (best == NULL || time_of_small(self, &tiles[i]) < time_of_small(self, best)))
            best = &tiles[i];
    return best;
}

double gr_conv_small_time(const gr_conv *self, gr_conv_order order) {
    return time_of_small(self, tile_of_small(self, order));
}

void gr_conv_small(const gr_conv *self, gr_conv_job job) {
    static const gr_conv_variant variant = {.rung = {.name = "conv_small", .file = "conv_small"},
                                            .threads = GR_CONV_SMALL_THREADS};
    const small_tile *tile = tile_of_small(self, job.order);
    const gr_conv_small_params params = {.conv = gr_conv_make_params(self),
                                         .filter_tiles = (uint32_t)gr_ceil_div(self->filters, tile->filters)};
    job.variant = &variant;
    gr_step *step = gr_conv_launch(self, &job, tile->forms[self->layout], &params, sizeof params,
                                   (gr_conv_grid){.x = blocks_of_small(self, tile)});
    step->kernel.owner = "conv";
    step->pdl = true;
}
