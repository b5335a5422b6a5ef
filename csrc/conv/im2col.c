/* im2col (c1): writes the matrix of all elements that taps read, a line per pixel (NHWC) or per tap (NCHW),
   and multiplies it with the filters by the best kernel for matrix multiplication. The same kernel copies x
   and w to the dense layout that other rungs require. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "conv/internal.h"

enum {
    ALIGNMENT = 16,            /* bytes, of lines of the matrix, as TMA requires */
    BLOCK_ELEMENTS = 8192,     /* per thread block, at most */
    MIN_BLOCK_ELEMENTS = 1024, /* per thread block of small matrices: those of one batch of loads */
    BLOCKS = 4 * 132, /* four per SM of the reference device, below which blocks get fewer elements */
};

/* Merges axes, the slowest first, into one and sets its stride (elements); false if it has none. */
static bool merge_axes(const uint64_t *sizes, const int64_t *strides, int count, int64_t *stride) {
    uint64_t length = 1;
    *stride = 1;
    for (int i = count; i-- > 0;) {
        if (sizes[i] == 1)
            continue;
        if (length == 1)
            *stride = strides[i];
        else if (strides[i] != *stride * (int64_t)length)
            return false;
        length *= sizes[i];
    }
    return true;
}

/* ---- im2col ---- */

/* Treats 16 bytes of neighbouring channels as one element if all are aligned, which needs fewer index
   computations. Returns the bytes of an element. */
static size_t vectorize_channels(gr_conv_im2col_params *params, gr_conv_layout layout, bool aligned,
                                 size_t item_bytes) {
    gr_conv_params *conv = &params->conv;
    gr_conv_strides *x = &conv->of_x;
    const int64_t many = ALIGNMENT / (int64_t)item_bytes;
    if (layout != GR_CONV_NHWC || !aligned || x->channel != 1 || (int64_t)conv->channels % many != 0 ||
        x->outer % many != 0 || x->row % many != 0 || x->column % many != 0 ||
        (int64_t)params->pitch % many != 0)
        return item_bytes;
    conv->channels /= (uint64_t)many;
    x->outer /= many;
    x->row /= many;
    x->column /= many;
    params->pitch /= (uint64_t)many;
    return ALIGNMENT;
}

static uint64_t taps_of(const gr_conv_params *conv) {
    return conv->height.kernel * conv->width.kernel * conv->channels;
}

/* Returns the lines per block. A thread waits for one batch of loads after the other, so that blocks of small
   matrices have few elements (H200: 63 lines of 1,122 elements took 16 blocks). */
static uint64_t lines_per_block(uint64_t lines, uint64_t length) {
    const uint64_t part = gr_min(length, GR_CONV_IM2COL_MAX_LENGTH);
    const double all = (double)lines * (double)length / BLOCKS; /* elements of each of BLOCKS blocks */
    const uint64_t elements = all >= BLOCK_ELEMENTS       ? BLOCK_ELEMENTS
                              : all >= MIN_BLOCK_ELEMENTS ? (uint64_t)all
                                                          : MIN_BLOCK_ELEMENTS;
    return gr_min(gr_ceil_div(elements, part), GR_CONV_IM2COL_MAX_LINES);
}

/* Returns the elements from line to line of the matrix. */
static uint64_t pitch_of(const gr_conv *self, uint64_t length) {
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    return gr_ceil_div(length * item_bytes, ALIGNMENT) * ALIGNMENT / item_bytes;
}

/* Appends the im2col of buffer `from` to buffer *to; if *to is `from`, allocates a temporary. Sets `pitch`
   and `lines` of *given. `aligned`: x is 16-byte aligned. Fails if the matrix exceeds any memory. */
static void append_im2col(gr_conv_im2col_params *given, const gr_conv *self, bool aligned, uint32_t from,
                          uint32_t *to, gr_program *program) {
    const size_t item_bytes = gr_dtypes[self->dtype].item_bytes;
    const bool nhwc = self->layout == GR_CONV_NHWC;
    const uint64_t pixels = given->conv.height.out * given->conv.width.out;
    const uint64_t length = nhwc ? taps_of(&given->conv) : pixels;
    size_t bytes;
    if (given->pitch == 0)
        given->pitch = pitch_of(self, length);
    if (__builtin_mul_overflow(given->conv.batch * given->conv.groups, nhwc ? pixels : taps_of(&given->conv),
                               &given->lines) ||
        __builtin_mul_overflow(given->lines, given->pitch, &bytes) ||
        __builtin_mul_overflow(bytes, item_bytes, &bytes)) {
        gr_program_fail(program, GR_ERR_MEMORY, "x, w: the im2col matrix exceeds any memory");
        return;
    }
    gr_conv_im2col_params params = *given;
    const size_t each_bytes = vectorize_channels(&params, self->layout, aligned, item_bytes);
    const bool vec4 = !nhwc && item_bytes <= 4 && params.conv.width.out % 4 == 0 && params.pitch % 4 == 0;
    params.length = nhwc ? taps_of(&params.conv) : vec4 ? pixels / 4 : pixels;
    params.lines_per_block = lines_per_block(params.lines, params.length);
    char form[16];
    snprintf(form, sizeof form, vec4 ? "_b%zux4" : "_b%zu", each_bytes);
    if (*to == from)
        *to = gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    gr_program_relocate(program, offsetof(gr_conv_params, x), from);
    gr_program_relocate(program, offsetof(gr_conv_params, out), *to);
    step->kernel.owner = "c1";
    GR_KERNEL_NAME(step->kernel.file, "c1_columns");
    GR_KERNEL_NAME(step->kernel.entry, nhwc ? "c1_nhwc" : "c1_nchw", form);
    gr_conv_set_grid(program, step,
                     (gr_conv_grid){.x = gr_ceil_div(params.lines, params.lines_per_block),
                                    .y = gr_ceil_div(params.length, GR_CONV_IM2COL_MAX_LENGTH)},
                     GR_CONV_IM2COL_THREADS);
}

/* Returns an axis with one tap, a stride of 1 and no padding: im2col then copies. */
static gr_conv_axis whole(uint64_t size) {
    return (gr_conv_axis){.size = size, .kernel = 1, .out = size, .stride = 1, .dilation = 1};
}

/* Appends a copy of x or w to C order of the layout, with `pitch` elements from one pixel of NHWC to the
 * next. */
static void pack(const gr_conv_array *of, const gr_conv *self, uint64_t pitch, gr_program *program) {
    const bool nhwc = self->layout == GR_CONV_NHWC, aligned = of->view->aligned;
    gr_conv_im2col_params params = {.conv = {.batch = of->outer,
                                             .groups = 1,
                                             .channels = of->channels,
                                             .height = whole(of->height),
                                             .width = whole(of->width),
                                             .of_x = of->view->strides},
                                    .pitch = nhwc ? pitch : of->height * of->width};
    gr_conv_array padded = *of;
    padded.channels = nhwc ? pitch : of->channels;
    *of->view = gr_conv_dense_view(&padded, self->layout);
    append_im2col(&params, self, aligned, *of->buffer, of->buffer, program);
}

void gr_conv_make_dense(gr_conv *self, gr_conv_job *job) {
    const gr_conv_array arrays[] = {gr_conv_array_of_x(self, job), gr_conv_array_of_w(self, job)};
    for (int i = 0; i < 2; ++i)
        if (gr_conv_array_count(&arrays[i]) > 0 && !gr_conv_is_dense(&arrays[i], self->layout))
            pack(&arrays[i], self, arrays[i].channels, job->program);
}

void gr_conv_make_padded(gr_conv *self, uint64_t pitch, bool of_x, bool of_w, gr_conv_job *job) {
    const gr_conv_array x = gr_conv_array_of_x(self, job), w = gr_conv_array_of_w(self, job);
    if (of_x)
        pack(&x, self, pitch, job->program);
    if (of_w)
        pack(&w, self, pitch, job->program);
}

/* ---- the product ---- */

/* Returns the stride of w between taps and channels in the order of k; copies w if they have no common one.
 */
static int64_t prepare_filters(gr_conv *self, gr_conv_job *job) {
    const gr_conv_strides *w = &self->w.strides;
    const uint64_t height = self->height.kernel, width = self->width.kernel, channels = self->channels;
    const bool nhwc = self->layout == GR_CONV_NHWC;
    const uint64_t sizes[2][3] = {{height, width, channels}, {channels, height, width}};
    const int64_t strides[2][3] = {{w->row, w->column, w->channel}, {w->channel, w->row, w->column}};
    int64_t stride = 1;
    if (channels == 0 || merge_axes(sizes[!nhwc], strides[!nhwc], 3, &stride))
        return stride;
    const gr_conv_array of = gr_conv_array_of_w(self, job);
    pack(&of, self, of.channels, job->program);
    return 1;
}

/* Returns whether each result reads exactly its own pixel and pixels have a common stride: over all images in
   NHWC, within an image in NCHW. */
static bool find_pixel_stride(const gr_conv *self, int64_t *stride) {
    const gr_conv_axis *axes[] = {&self->height, &self->width};
    for (int i = 0; i < 2; ++i)
        if (axes[i]->kernel != 1 || axes[i]->stride != 1 || axes[i]->out != axes[i]->size)
            return false;
    const uint64_t sizes[] = {self->layout == GR_CONV_NHWC ? self->batch : 1, self->height.size,
                              self->width.size};
    const int64_t strides[] = {self->x.strides.outer, self->x.strides.row, self->x.strides.column};
    return merge_axes(sizes, strides, 3, stride);
}

bool gr_conv_is_gemm(const gr_conv *self) {
    int64_t stride;
    return find_pixel_stride(self, &stride);
}

/* The operand with the pixels: strides in elements between pixels, taps, groups and images. */
typedef struct pixels {
    int64_t pixel, tap, group, image;
    bool aligned;
} pixels;

/* Returns the pixels of x itself. */
static pixels pixels_of_x(const gr_conv *self) {
    const gr_conv_strides *x = &self->x.strides;
    return (pixels){.tap = x->channel,
                    .group = (int64_t)self->channels * x->channel,
                    .image = x->outer,
                    .aligned = self->x.aligned};
}

/* Returns the pixels of the matrix of im2col, of `lines` lines of an image. */
static pixels pixels_of_matrix(const gr_conv *self, uint64_t pitch, uint64_t lines) {
    const bool nhwc = self->layout == GR_CONV_NHWC;
    const int64_t group = (int64_t)(pitch * lines * (nhwc ? self->batch : 1));
    return (pixels){.pixel = nhwc ? (int64_t)pitch : 1,
                    .tap = nhwc ? 1 : (int64_t)pitch,
                    .group = group,
                    .image = group * (int64_t)self->groups,
                    .aligned = true};
}

/* Appends the im2col of x unless pixels have a common stride. */
static void prepare_pixels(const gr_conv *self, pixels *of, gr_conv_job *job) {
    *of = pixels_of_x(self);
    if (self->channels == 0 || find_pixel_stride(self, &of->pixel))
        return;
    gr_conv_im2col_params params = {.conv = gr_conv_make_params(self)};
    append_im2col(&params, self, self->x.aligned, job->x, &job->x, job->program);
    if (job->program->status == GR_OK)
        *of = pixels_of_matrix(self, params.pitch, params.lines / (self->groups * self->batch));
}

/* Interleaves results that are ordered by group and pixel to NHWC: an im2col with a kernel of 1 x groups. */
static void interleave_groups(const gr_conv *self, uint32_t from, uint32_t to, gr_program *program) {
    const uint64_t count = gr_conv_pixels(self);
    const gr_conv_axis kernel = {
        .size = self->groups, .kernel = self->groups, .out = 1, .stride = 1, .dilation = 1};
    gr_conv_im2col_params params = {.conv = {.batch = count,
                                             .groups = 1,
                                             .channels = self->filters,
                                             .height = whole(1),
                                             .width = kernel,
                                             .of_x = {.outer = (int64_t)self->filters,
                                                      .column = (int64_t)(count * self->filters),
                                                      .channel = 1}},
                                    .pitch = self->groups * self->filters};
    append_im2col(&params, self, self->out_aligned, from, &to, program);
}

/* Describes the product: pixels by filters in NHWC, filters by pixels in NCHW. */
static gr_matmul product_of(const gr_conv *self, const pixels *of, int64_t tap, bool has_one_part) {
    const uint64_t image_pixels = self->height.out * self->width.out;
    const int64_t filter = self->w.strides.outer, filters = (int64_t)self->filters * filter;
    gr_matmul product = {.precision = self->precision,
                         .dtype = self->dtype,
                         .k = gr_conv_filter_length(self),
                         .stack = {self->groups, 1, 1, 1},
                         .batch_invariant = true,
                         .has_one_part = has_one_part,
                         .out_aligned = self->out_aligned};
    if (self->layout == GR_CONV_NHWC) {
        product.m = self->batch * image_pixels;
        product.n = self->filters;
        product.a = (gr_matmul_view){of->pixel, of->tap, {of->group}, of->aligned};
        product.b = (gr_matmul_view){tap, filter, {filters}, self->w.aligned};
        return product;
    }
    product.m = self->filters;
    product.n = image_pixels;
    product.a = (gr_matmul_view){filter, tap, {filters}, self->w.aligned};
    product.b = (gr_matmul_view){of->tap, of->pixel, {of->group, of->image}, of->aligned};
    product.stack[1] = self->batch;
    return product;
}

gr_matmul_order gr_conv_im2col_order(const gr_conv *self, bool has_one_part, const gr_device_info *info) {
    const pixels none = {.pixel = 0};
    const gr_matmul product = product_of(self, &none, 1, has_one_part);
    return gr_matmul_order_of(&product, info);
}

double gr_conv_im2col_product_time(const gr_conv *self, bool has_one_part) {
    const uint64_t taps = gr_conv_filter_length(self), image_pixels = self->height.out * self->width.out,
                   length = self->layout == GR_CONV_NHWC ? taps : image_pixels;
    pixels of = pixels_of_x(self);
    if (!find_pixel_stride(self, &of.pixel))
        of = pixels_of_matrix(self, pitch_of(self, length),
                              self->layout == GR_CONV_NHWC ? image_pixels : taps);
    const gr_matmul product = product_of(self, &of, 1, has_one_part);
    return gr_matmul_estimate_time(&product);
}

/* The kernel indexes rows and columns of padded images in 32 bits. */
static bool fits_32_bits(const gr_conv_axis *axis) {
    return axis->size < INT32_MAX &&
           (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation < INT32_MAX;
}

bool gr_conv_im2col_supports(const gr_conv *self) {
    return fits_32_bits(&self->height) && fits_32_bits(&self->width);
}

void gr_conv_im2col(const gr_conv *self, gr_conv_job job) {
    const bool nhwc = self->layout == GR_CONV_NHWC, interleaves = nhwc && self->groups > 1;
    const uint32_t out = job.out;
    gr_conv plain = *self;
    pixels of;
    const int64_t tap = prepare_filters(&plain, &job);
    prepare_pixels(&plain, &of, &job);
    if (job.program->status != GR_OK)
        return;
    if (interleaves) {
        job.out = gr_program_buffer(job.program, GR_BUFFER_TEMPORARY,
                                    (size_t)gr_conv_output_count(self) * gr_dtypes[self->dtype].item_bytes);
        plain.out_aligned = true;
    }
    const gr_matmul product = product_of(&plain, &of, tap, job.parts == 1);
    gr_matmul_append(&product, (gr_matmul_job){job.info, job.program, nhwc ? job.x : job.w,
                                               nhwc ? job.w : job.x, job.out});
    if (interleaves)
        interleave_groups(self, job.out, out, job.program);
}
