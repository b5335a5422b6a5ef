/* Convolutions that only `auto` selects: depthwise (one channel per group) and pointwise (1 x 1) with few
   filters. Their kernels are no rungs. */
#include "base/limits.h"
#include "conv/internal.h"

/* ---- depthwise: no data is shared between filters, so that it is bound by memory: a thread computes a few
   neighbouring results of what it loads ---- */

/* The kernels index rows, columns and results in 32 bits. */
static bool fits_32_bits(const gr_conv_axis *axis) {
    return axis->size < INT32_MAX && axis->out < INT32_MAX && axis->kernel < INT32_MAX &&
           (axis->out + GR_CONV_DEPTHWISE_3X3_NCHW_ROWS) * axis->stride + axis->kernel * axis->dilation <
               INT32_MAX;
}

/* The precision does not matter: no other one is faster. With many filters per channel a thread would compute
   too few results of what it loads. */
bool gr_conv_prefers_depthwise(const gr_conv *self) {
    enum { FILTERS = 4 };
    return self->variant == NULL && self->channels == 1 && self->filters <= FILTERS &&
           gr_conv_output_count(self) < INT32_MAX && fits_32_bits(&self->height) &&
           fits_32_bits(&self->width);
}

/* Returns whether loads and stores of 4 channels at once are aligned. */
static bool takes_4_channels(const gr_conv *self) {
    const gr_conv_strides *x = &self->x.strides;
    return self->layout == GR_CONV_NHWC && self->filters == 1 && self->groups % 4 == 0 && self->out_aligned &&
           self->x.aligned && x->channel == 1 && x->outer % 4 == 0 && x->row % 4 == 0 && x->column % 4 == 0;
}

/* Returns whether the taps of a filter are contiguous and those of 4 filters 16-byte aligned. */
static bool has_dense_filters(const gr_conv *self) {
    const gr_conv_strides *w = &self->w.strides;
    return self->w.aligned && w->column == 1 && w->row == (int64_t)self->width.kernel &&
           w->outer == (int64_t)(self->height.kernel * self->width.kernel);
}

/* The results per thread, and the suffix of the kernel's name. */
typedef struct thread_tile {
    uint64_t rows, columns, filters;
    const char *form;
} thread_tile;

/* Returns the tile of a thread for five or seven rows of taps in NCHW; form NULL: there is none. */
static thread_tile tall_tile_of(const gr_conv *self) {
    enum { FIVE = 5, SEVEN = 7, STRIDES = 2 };
    static const char *const forms[][STRIDES] = {{"_nchw_five_1", "_nchw_five_2"},
                                                 {"_nchw_seven_1", "_nchw_seven_2"}};
    const gr_conv_axis *height = &self->height;
    const bool tall = (height->kernel == FIVE || height->kernel == SEVEN) && height->dilation == 1 &&
                      height->stride <= STRIDES && self->layout == GR_CONV_NCHW;
    return (thread_tile){
        .rows = height->stride == 1 ? GR_CONV_DEPTHWISE_TALL_ROWS : GR_CONV_DEPTHWISE_TALL_ROWS_STRIDE_2,
        .columns = 1,
        .filters = 1,
        .form = tall ? forms[height->kernel == SEVEN][height->stride - 1] : NULL,
    };
}

/* Returns the tile of a thread. In each row of the table special kernels for 3 x 3 taps with strides of 1 and
   2 follow the kernel for any taps. */
static thread_tile thread_tile_of(const gr_conv *self) {
    enum { NCHW, NHWC, NHWC_4_CHANNELS };
    static const thread_tile tiles[][3] = {
        [NCHW] = {{GR_CONV_DEPTHWISE_OUTPUTS, 1, 1, "_nchw"},
                  {GR_CONV_DEPTHWISE_3X3_NCHW_ROWS, 1, 1, "_nchw_three_1"},
                  {GR_CONV_DEPTHWISE_3X3_NCHW_ROWS_STRIDE_2, 1, 1, "_nchw_three_2"}},
        [NHWC] = {{1, GR_CONV_DEPTHWISE_OUTPUTS, 1, "_nhwc"}},
        [NHWC_4_CHANNELS] = {{1, GR_CONV_DEPTHWISE_OUTPUTS, 4, "_nhwc4"},
                             {GR_CONV_DEPTHWISE_3X3_ROWS, GR_CONV_DEPTHWISE_3X3_COLUMNS, 4, "_nhwc_three_1"},
                             {GR_CONV_DEPTHWISE_3X3_ROWS, GR_CONV_DEPTHWISE_3X3_COLUMNS_STRIDE_2, 4,
                              "_nhwc_three_2"}},
    };
    const int row = self->layout == GR_CONV_NCHW ? NCHW : takes_4_channels(self) ? NHWC_4_CHANNELS : NHWC;
    const uint64_t stride = gr_conv_stride_of_3x3(self);
    const thread_tile tall = tall_tile_of(self);
    if (tall.form != NULL)
        return tall;
    const bool special = stride <= 2 && (row == NCHW || (row == NHWC_4_CHANNELS && has_dense_filters(self)));
    return tiles[row][special ? stride : 0];
}

/* Copies the filters of an image in NHWC so that those of neighbouring channels are contiguous for each tap,
   from MIN_RESULTS results on, where the time of the copy does not count. */
static void transpose_filters(gr_conv *self, gr_conv_job *job) {
    enum { MIN_RESULTS = 1 << 19 };
    gr_conv_strides *w = &self->w.strides;
    const uint64_t taps = gr_conv_taps(self), filters = self->groups * self->filters;
    if (self->layout != GR_CONV_NHWC || w->outer == 1 || taps == 1 || !has_dense_filters(self) ||
        gr_conv_output_count(self) < MIN_RESULTS)
        return;
    gr_matmul_view view = {.row = w->column, .column = w->outer};
    const gr_matmul_shape shape = {taps, filters, filters};
    const uint64_t stack[GR_MATMUL_STACKS] = {1, 1, 1, 1};
    gr_matmul_pack_operand(&view, &shape, stack, gr_dtypes[self->dtype].item_bytes, &job->w, job->program);
    w->outer = 1;
    w->column = (int64_t)filters;
    w->row = (int64_t)(self->width.kernel * filters);
}

void gr_conv_depthwise(const gr_conv *given, gr_conv_job job) {
    static const gr_conv_variant variant = {.rung = {.name = "conv_depthwise", .file = "conv_depthwise"},
                                            .threads = GR_CONV_DEPTHWISE_THREADS};
    gr_conv plain = *given;
    const gr_conv *self = &plain;
    if (gr_conv_stride_of_3x3(self) == 0)
        transpose_filters(&plain, &job);
    const gr_conv_params params = gr_conv_make_params(self);
    const thread_tile each = thread_tile_of(self);
    const uint64_t threads = self->batch * gr_ceil_div(self->height.out, each.rows) *
                             gr_ceil_div(self->width.out, each.columns) * self->groups * self->filters /
                             each.filters;
    job.variant = &variant;
    gr_conv_launch(self, &job, each.form, &params, sizeof params,
                   (gr_conv_grid){.x = gr_ceil_div(threads, variant.threads)})
        ->kernel.owner = "conv";
}

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
}
