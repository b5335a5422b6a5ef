/* Winograd's F(2 x 2, 3 x 3) (c2_winograd; Lavin and Gray, arXiv:1509.09308): tiles of 4 x 4 pixels and 3 x 3
   filters are transformed, multiplied as 16 matrices, and transformed back to 2 x 2 results, with 4
   multiply-adds per result instead of 9. */
#include "base/limits.h"
#include "conv/internal.h"

enum {
    TILE = 2,      /* rows and columns of results per tile */
    PRODUCTS = 16, /* matrices: one per element of a transformed tile of 4 x 4 */
    VEC4 = 4,      /* channels or filters per thread in NHWC */
    BLOCK = GR_CONV_WINOGRAD_BLOCK,
};

static uint64_t tiles_of(const gr_conv *self) {
    return self->batch * gr_ceil_div(self->height.out, TILE) * gr_ceil_div(self->width.out, TILE);
}

/* The kernels index threads, and the elements of one of the 16 matrices, in 32 bits. */
bool gr_conv_winograd_supports(const gr_conv *self) {
    const uint64_t max_depth = gr_max(self->channels, self->filters);
    uint64_t max_elements;
    return gr_conv_stride_of_3x3(self) == 1 && self->groups == 1 && self->channels > 0 &&
           !__builtin_mul_overflow(tiles_of(self), max_depth, &max_elements) && max_elements < INT32_MAX &&
           (self->layout == GR_CONV_NCHW ||
            (self->channels % VEC4 == 0 && self->filters % VEC4 == 0 && self->out_aligned));
}

/* Appends a launch of a transform with `threads` threads. */
static void transform(const gr_conv *self, const char *form, uint64_t threads, gr_conv_job job) {
    const gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                         .filter_tiles = tiles_of(self),
                                         .tiles_x = gr_ceil_div(self->width.out, TILE),
                                         .tiles_y = gr_ceil_div(self->height.out, TILE)};
    gr_conv_launch(self, &job, form, &params, sizeof params,
                   (gr_conv_grid){.x = gr_ceil_div(threads, job.variant->threads)});
}

static gr_matmul_view dense_matrix(uint64_t rows, uint64_t columns) {
    return (gr_matmul_view){
        .row = (int64_t)columns, .column = 1, .stack = {(int64_t)(rows * columns), 0, 0, 0}, .aligned = true};
}

/* Describes the 16 products: tiles by filters in NHWC, filters by tiles in NCHW. */
static gr_matmul product_of(const gr_conv *self) {
    const uint64_t tiles = tiles_of(self), channels = self->channels, filters = self->filters;
    const bool nhwc = self->layout == GR_CONV_NHWC;
    gr_matmul product = {.precision = self->precision,
                         .dtype = self->dtype,
                         .m = nhwc ? tiles : filters,
                         .n = nhwc ? filters : tiles,
                         .k = channels,
                         .stack = {PRODUCTS, 1, 1, 1},
                         .out_aligned = true};
    product.a = dense_matrix(product.m, product.k);
    product.b = dense_matrix(product.k, product.n);
    return product;
}

void gr_conv_winograd(const gr_conv *self, gr_conv_job job) {
    const bool nhwc = self->layout == GR_CONV_NHWC;
    const uint64_t tiles = tiles_of(self), channels = self->channels, filters = self->filters;
    const size_t item = PRODUCTS * gr_dtypes[self->dtype].item_bytes;
    gr_conv_job to_x = job, to_w = job, to_out = job;
    to_x.out = gr_program_buffer(job.program, GR_BUFFER_TEMPORARY, (size_t)(tiles * channels) * item);
    to_w.out = gr_program_buffer(job.program, GR_BUFFER_TEMPORARY, (size_t)(channels * filters) * item);
    to_out.x = gr_program_buffer(job.program, GR_BUFFER_TEMPORARY, (size_t)(tiles * filters) * item);
    const uint64_t each = nhwc ? VEC4 : 1;
    const uint64_t filter_blocks = gr_ceil_div(channels, BLOCK) * gr_ceil_div(filters, BLOCK);
    transform(self, nhwc ? "_filters_nhwc" : "_filters_nchw",
              nhwc ? filter_blocks * BLOCK * BLOCK : channels * filters, to_w);
    transform(self, nhwc ? "_pictures_nhwc" : "_pictures_nchw", tiles * channels / each, to_x);
    const gr_matmul product = product_of(self);
    gr_matmul_append(&product, (gr_matmul_job){job.info, job.program, nhwc ? to_x.out : to_w.out,
                                               nhwc ? to_w.out : to_x.out, to_out.x});
    transform(self, nhwc ? "_results_nhwc" : "_results_nchw", tiles * filters / each, to_out);
}
