/* Depthwise convolutions: groups of one channel. No data is shared between filters, so that memory limits
   them: a thread computes a few neighbouring results of what it loads. Their kernels are no rungs: only
   `auto` selects them. */
#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "conv/internal.h"

enum { VEC = 4 }; /* channels that a thread loads at once, where they are aligned */

/* The kernels index rows, columns and results in 32 bits. */
static bool fits_32_bits(const gr_conv_axis *axis) {
    return axis->size < INT32_MAX && axis->out < INT32_MAX && axis->kernel < INT32_MAX &&
           (axis->out + GR_CONV_DEPTHWISE_TALL_ROWS) * axis->stride + axis->kernel * axis->dilation <
               INT32_MAX;
}

/* The precision does not matter: no other one is faster. With many filters per channel the threads load each
   element of x many times. */
bool gr_conv_prefers_depthwise(const gr_conv *self) {
    enum { FILTERS_NHWC = 4, FILTERS_NCHW = 16 };
    return self->variant == NULL && self->channels == 1 &&
           self->filters <= (self->layout == GR_CONV_NHWC ? FILTERS_NHWC : FILTERS_NCHW) &&
           gr_conv_output_count(self) < INT32_MAX && fits_32_bits(&self->height) &&
           fits_32_bits(&self->width);
}

/* Returns whether loads and stores of 4 channels at once are aligned. */
static bool takes_4_channels(const gr_conv *self) {
    const gr_conv_strides *x = &self->x.strides;
    return self->layout == GR_CONV_NHWC && self->filters == 1 && self->groups % VEC == 0 &&
           self->out_aligned && self->x.aligned && x->channel == 1 && x->outer % VEC == 0 &&
           x->row % VEC == 0 && x->column % VEC == 0;
}

/* Returns whether the taps of a filter are contiguous and those of 4 filters 16-byte aligned. */
static bool has_dense_filters(const gr_conv *self) {
    const gr_conv_strides *w = &self->w.strides;
    return self->w.aligned && w->column == 1 && w->row == (int64_t)self->width.kernel &&
           w->outer == (int64_t)(self->height.kernel * self->width.kernel);
}

/* ---- NHWC with 3, 5 or 7 columns of taps: a thread computes a tile of pixels ---- */

/* Returns whether distances of elements in x fit in 32 bits. */
static bool has_short_distances(const gr_conv *self) {
    const gr_conv_strides *x = &self->x.strides;
    const double rows = (double)self->height.size + (double)self->height.kernel,
                 columns = (double)self->width.size + (double)self->width.kernel;
    return fabs((double)x->outer) * (double)self->batch + fabs((double)x->row) * rows +
               fabs((double)x->column) * columns + fabs((double)x->channel) * (double)self->groups <
           INT32_MAX;
}

/* Returns whether there is a kernel for these taps. */
static bool has_tile(const gr_conv *self) {
    enum { MIN_COLUMNS = 3, MAX_COLUMNS = 7, MAX_STRIDE = 2 };
    const gr_conv_axis *height = &self->height, *width = &self->width;
    return self->layout == GR_CONV_NHWC && self->dtype != GR_DTYPE_f64 && width->kernel >= MIN_COLUMNS &&
           width->kernel <= MAX_COLUMNS && width->kernel % 2 == 1 && height->kernel <= MAX_COLUMNS &&
           width->stride == height->stride && width->stride <= MAX_STRIDE && width->dilation == 1 &&
           height->dilation == 1 && has_short_distances(self);
}

static uint64_t columns_of_tile(const gr_conv *self) {
    return self->width.stride == 1 ? GR_CONV_DEPTHWISE_TILE_COLUMNS : GR_CONV_DEPTHWISE_TILE_COLUMNS_STRIDE_2;
}

/* Returns the filters per thread; 0 if the kernels for any taps, or for 3 x 3 taps and 4 channels at once,
   are faster (H200: 32 images of 32 x 112 x 112 31 us instead of 36 us). */
static uint64_t filters_of_tile(const gr_conv *self) {
    enum { THREE = 3, THREADS_PER_SM = 256 /* that hide the latency of memory */ };
    if (!has_tile(self))
        return 0;
    if (!takes_4_channels(self))
        return 1;
    if (self->width.kernel == THREE)
        return 0;
    const uint64_t results = VEC * (uint64_t)GR_CONV_DEPTHWISE_TILE_ROWS * columns_of_tile(self);
    const uint64_t enough = (uint64_t)gr_reference_device.multiprocessors * THREADS_PER_SM;
    return gr_conv_output_count(self) / results >= enough ? VEC : 1;
}

/* Returns the elements of x that all tiles of an image read, and the results that their threads compute,
   those outside of the image included. */
static uint64_t work_of_tiles(const gr_conv *self, uint64_t across, uint64_t down, uint64_t columns,
                              uint64_t rows) {
    const uint64_t tiles = gr_ceil_div(across, columns) * gr_ceil_div(down, rows);
    const uint64_t width = columns * columns_of_tile(self),
                   height = rows * (uint64_t)GR_CONV_DEPTHWISE_TILE_ROWS;
    return tiles * (width * height +
                    gr_conv_extent_read(&self->width, width) * gr_conv_extent_read(&self->height, height));
}

/* Divides the threads of a block between filters and pixels: into tiles with the least work. */
static void divide_threads(const gr_conv *self, uint64_t filters, gr_conv_depthwise_params *params) {
    enum { THREADS = GR_CONV_DEPTHWISE_THREADS, LANES = 32, LANES_4 = 16 };
    const uint64_t all = self->groups * self->filters, vecs = all / filters;
    const uint64_t across = gr_ceil_div(self->width.out, columns_of_tile(self)),
                   down = gr_ceil_div(self->height.out, (uint64_t)GR_CONV_DEPTHWISE_TILE_ROWS);
    uint64_t lanes = filters == 1 ? LANES : LANES_4;
    if (across * down < THREADS / lanes) /* small images */
        lanes = gr_min(THREADS / (across * down), LANES);
    lanes = gr_ceil_div(vecs, gr_ceil_div(vecs, lanes));
    const uint64_t pixels = THREADS / lanes;
    uint64_t rows = 1, columns = 1, least = UINT64_MAX;
    for (uint64_t power = 1, some = 0; some < gr_min(pixels, across); power *= 2) {
        some = gr_min(power, gr_min(pixels, across));
        const uint64_t more = gr_min(pixels / some, down),
                       work = work_of_tiles(self, across, down, some, more);
        if (work >= least)
            continue;
        columns = some;
        rows = more;
        least = work;
    }
    params->lanes = (uint32_t)lanes;
    params->chunks = (uint32_t)gr_ceil_div(vecs, lanes);
    params->rows = (uint32_t)rows;
    params->columns = (uint32_t)columns;
    params->tiles_x = (uint32_t)gr_ceil_div(across, columns);
    params->tiles_y = (uint32_t)gr_ceil_div(down, rows);
    params->tiles = (uint32_t)self->batch * params->tiles_x * params->tiles_y;
    params->pitch = (uint32_t)(filters * (lanes | 1)); /* odd, so that fewer banks conflict */
}

/* Returns blocks per SM: the resident ones of kernels with one filter per thread, by their registers; twice
   as many with up to 5 columns of taps (H200: 8 images of 590 x 35 x 132, 3 x 3, 68 us instead of 87 us). */
static uint64_t blocks_per_sm(const gr_conv *self, uint64_t filters) {
    enum { ALL = 8, OF_3 = 7, OF_7 = 7, OF_7_STRIDE_2 = 5, THREE = 3, SEVEN = 7, TWICE = 2 };
    if (filters > 1)
        return ALL;
    return self->width.kernel == THREE   ? TWICE * OF_3
           : self->width.kernel != SEVEN ? TWICE * ALL
           : self->width.stride == 1     ? OF_7
                                         : OF_7_STRIDE_2;
}

static void append_tiles(const gr_conv *self, uint64_t filters, gr_conv_job job) {
    static const gr_conv_variant variant = {
        .rung = {.name = "conv_depthwise_nhwc", .file = "conv_depthwise_nhwc"},
        .threads = GR_CONV_DEPTHWISE_THREADS};
    gr_conv_depthwise_params params = {.conv = gr_conv_make_params(self)};
    divide_threads(self, filters, &params);
    const uint64_t max_blocks = gr_ceil_div(
        (uint64_t)gr_reference_device.multiprocessors * blocks_per_sm(self, filters), params.chunks);
    const uint64_t blocks = gr_ceil_div(params.tiles, gr_ceil_div(params.tiles, max_blocks));
    char form[24];
    snprintf(form, sizeof form, "_%u_%u_%u", (unsigned)filters, (unsigned)self->width.kernel,
             (unsigned)self->width.stride);
    job.variant = &variant;
    gr_step *step =
        gr_conv_launch(self, &job, form, &params, sizeof params, (gr_conv_grid){.x = blocks * params.chunks});
    step->kernel.owner = "conv";
    step->shared_bytes = (uint32_t)(params.pitch * gr_conv_taps(self) * sizeof(float));
    step->pdl = true;
}

/* ---- any taps ---- */

/* The results per thread, and the suffix of the kernel's name. */
typedef struct thread_tile {
    uint64_t rows, columns, filters;
    const char *form;
} thread_tile;

/* Returns threads that compute `rows` x `columns` results each. */
static uint64_t count_threads(const gr_conv *self, uint64_t rows, uint64_t columns) {
    return self->batch * gr_ceil_div(self->height.out, rows) * gr_ceil_div(self->width.out, columns) *
           self->groups * self->filters;
}

/* Returns the tile of a thread for 3 x 3 taps in NCHW, with strides of 1. Two columns take fewer loads per
   result, but the lanes of a warp then read more lines of memory, unless rows are long (H200: 32 images of
   512 x 14 x 14 in float32, 9.2 us with one column and 13.8 us with two; of 32 x 112 x 112, 32.9 us and 30.4
   us). */
static thread_tile three_tile_of(const gr_conv *self) {
    enum { LONG = 48 };
    static const thread_tile one = {7, 1, 1, "_nchw_three_7x1"}, two = {7, 2, 1, "_nchw_three_7x2"};
    return self->width.out < LONG && self->x.strides.column == 1 ? one : two;
}

/* Returns the tile of a thread for three, five or seven rows of taps in NCHW; form NULL: there is none. All
   tiles add up the taps of a column after those of the column before. With two columns, which take fewer
   loads, there must be threads enough. */
static thread_tile tall_tile_of(const gr_conv *self) {
    enum { THREE = 3, FIVE = 5, SEVEN = 7, STRIDES = 2, THREADS_PER_SM = 256 };
    static const char *const forms[][STRIDES] = {
        {"_nchw_low", NULL}, {"_nchw_five_1", "_nchw_five_2"}, {"_nchw_seven_1", "_nchw_seven_2"}};
    const gr_conv_axis *height = &self->height, *width = &self->width;
    const uint64_t taps = height->kernel, rows = GR_CONV_DEPTHWISE_TALL_ROWS;
    if (self->layout != GR_CONV_NCHW || (taps != THREE && taps != FIVE && taps != SEVEN) ||
        height->dilation != 1 || height->stride > STRIDES)
        return (thread_tile){.form = NULL};
    const uint64_t enough = (uint64_t)gr_reference_device.multiprocessors * THREADS_PER_SM;
    if (taps != THREE && height->stride == 1 && width->stride == 1 && width->dilation == 1 &&
        count_threads(self, rows, 2) >= enough)
        return (thread_tile){rows, 2, 1, taps == FIVE ? "_nchw_five_two" : "_nchw_seven_two"};
    const int row = taps == THREE ? 0 : taps == FIVE ? 1 : 2;
    return (thread_tile){.rows = height->stride == 1 && taps != THREE ? rows
                                                                      : GR_CONV_DEPTHWISE_TALL_ROWS_STRIDE_2,
                         .columns = 1,
                         .filters = 1,
                         .form = forms[row][height->stride - 1]};
}

/* Returns the tile of a thread. In each row of the table special kernels for 3 x 3 taps with strides of 1 and
   2 follow the kernel for any taps; with strides of 1 NCHW has those of three_tile_of. */
static thread_tile thread_tile_of(const gr_conv *self) {
    enum { NCHW, NHWC, NHWC_4_CHANNELS };
    static const thread_tile tiles[][3] = {
        [NCHW] = {{GR_CONV_DEPTHWISE_OUTPUTS, 1, 1, "_nchw"},
                  {0},
                  {GR_CONV_DEPTHWISE_3X3_NCHW_ROWS_STRIDE_2, 1, 1, "_nchw_three_2"}},
        [NHWC] = {{1, GR_CONV_DEPTHWISE_OUTPUTS, 1, "_nhwc"}},
        [NHWC_4_CHANNELS] = {{1, GR_CONV_DEPTHWISE_OUTPUTS, 4, "_nhwc4"},
                             {GR_CONV_DEPTHWISE_3X3_ROWS, GR_CONV_DEPTHWISE_3X3_COLUMNS, 4, "_nhwc_three_1"},
                             {GR_CONV_DEPTHWISE_3X3_ROWS, GR_CONV_DEPTHWISE_3X3_COLUMNS_STRIDE_2, 4,
                              "_nhwc_three_2"}},
    };
    const int row = self->layout == GR_CONV_NCHW ? NCHW : takes_4_channels(self) ? NHWC_4_CHANNELS : NHWC;
    const uint64_t stride = gr_conv_stride_of_3x3(self);
    if (row == NCHW && stride == 1)
        return three_tile_of(self);
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

static void append_any(const gr_conv *given, gr_conv_job job) {
    static const gr_conv_variant variant = {.rung = {.name = "conv_depthwise", .file = "conv_depthwise"},
                                            .threads = GR_CONV_DEPTHWISE_THREADS};
    gr_conv plain = *given;
    const gr_conv *self = &plain;
    if (gr_conv_stride_of_3x3(self) == 0)
        transpose_filters(&plain, &job);
    const gr_conv_params params = gr_conv_make_params(self);
    const thread_tile each = thread_tile_of(self);
    const uint64_t threads = count_threads(self, each.rows, each.columns) / each.filters;
    job.variant = &variant;
    gr_step *step = gr_conv_launch(self, &job, each.form, &params, sizeof params,
                                   (gr_conv_grid){.x = gr_ceil_div(threads, variant.threads)});
    step->kernel.owner = "conv";
    step->pdl = true;
}

/* ---- 1 x 1 taps ---- */

/* Returns whether each result is an element of x, in the same place, multiplied by a filter. */
static bool is_scaled(const gr_conv *self) {
    gr_conv plain = *self;
    gr_conv_job ignored = {.x = 0};
    const gr_conv_array x = gr_conv_array_of_x(&plain, &ignored);
    return gr_conv_taps(self) == 1 && self->filters == 1 && self->height.stride == 1 &&
           self->width.stride == 1 && self->height.out == self->height.size &&
           self->width.out == self->width.size && self->height.padding == 0 && self->width.padding == 0 &&
           self->out_aligned && gr_conv_is_dense(&x, self->layout);
}

static void append_scaled(const gr_conv *self, gr_conv_job job) {
    static const gr_conv_variant variant = {.rung = {.name = "conv_depthwise", .file = "conv_depthwise"},
                                            .threads = GR_CONV_DEPTHWISE_THREADS};
    const uint64_t length = 16 / gr_dtypes[self->dtype].item_bytes,
                   vecs = gr_ceil_div(gr_conv_output_count(self), length);
    const gr_conv_params params = gr_conv_make_params(self);
    job.variant = &variant;
    gr_step *step = gr_conv_launch(
        self, &job, self->layout == GR_CONV_NHWC ? "_scale_nhwc" : "_scale_nchw", &params, sizeof params,
        (gr_conv_grid){.x = gr_ceil_div(vecs, variant.threads * GR_CONV_DEPTHWISE_SCALED_VECS)});
    step->kernel.owner = "conv";
    step->pdl = true;
}

void gr_conv_depthwise(const gr_conv *self, gr_conv_job job) {
    const uint64_t filters = filters_of_tile(self);
    if (is_scaled(self))
        append_scaled(self, job);
    else if (filters > 0)
        append_tiles(self, filters, job);
    else
        append_any(self, job);
}
