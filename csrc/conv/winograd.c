/* Winograd's F(2 x 2, 3 x 3) (c2_winograd; Lavin and Gray, arXiv:1509.09308): tiles of 4 x 4 pixels and 3 x 3
   filters are transformed, multiplied as 16 matrices, and transformed back to 2 x 2 results, with 4
   multiply-adds per result instead of 9. */
#include "base/limits.h"
#include "conv/internal.h"

enum {
    TILE = 2,      /* rows and columns of results per tile */
    PRODUCTS = 16, /* matrices: one per element of a transformed tile of 4 x 4 */
    VEC4 = 4,      /* channels or filters per thread in NHWC */
    BLOCK = 16,    /* filters and channels per block of the filter transform */
};

static bool is_3x3(const gr_conv_axis *axis) {
    enum { TAPS = 3 };
    return axis->kernel == TAPS && axis->stride == 1 && axis->dilation == 1;
}

static uint64_t tiles_of(const gr_conv *self) {
    return self->batch * gr_ceil_div(self->height.out, TILE) * gr_ceil_div(self->width.out, TILE);
}

/* The kernels index threads, and the elements of one of the 16 matrices, in 32 bits. */
static bool supports(const gr_conv *self) {
    const uint64_t max_depth = self->channels > self->filters ? self->channels : self->filters;
    uint64_t max_elements;
    return is_3x3(&self->height) && is_3x3(&self->width) && self->groups == 1 && self->channels > 0 &&
           !__builtin_mul_overflow(tiles_of(self), max_depth, &max_elements) && max_elements < INT32_MAX &&
           (self->layout == GR_CONV_NCHW ||
            (self->channels % VEC4 == 0 && self->filters % VEC4 == 0 && self->out_aligned));
}

/* Appends a launch of a transform with `threads` threads. */
static gr_status transform(const gr_conv *self, const gr_conv_variant *variant, const char *form,
                           uint64_t threads, const gr_conv_operands *operands, gr_program *program,
                           gr_error *error) {
    const gr_conv_tiles_params params = {.conv = gr_conv_make_params(self),
                                         .filter_tiles = tiles_of(self),
                                         .tiles_x = gr_ceil_div(self->width.out, TILE),
                                         .tiles_y = gr_ceil_div(self->height.out, TILE)};
    gr_step *step = gr_conv_launch(self, variant, form, &params, sizeof params, operands, program);
    return gr_conv_set_grid(step, gr_ceil_div(threads, variant->threads), 1, 1, variant->threads, error);
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
    product.a = (gr_matmul_view){.row = (int64_t)product.k,
                                 .column = 1,
                                 .stack = {(int64_t)(product.m * product.k), 0, 0, 0},
                                 .aligned = true};
    product.b = (gr_matmul_view){.row = (int64_t)product.n,
                                 .column = 1,
                                 .stack = {(int64_t)(product.k * product.n), 0, 0, 0},
                                 .aligned = true};
    return product;
}

gr_status gr_conv_winograd(const gr_conv *self, const gr_conv_variant *variant, const gr_device_info *info,
                           const gr_conv_operands *operands, gr_program *program, gr_error *error) {
    if (!supports(self)) {
        const gr_status status = gr_conv_find("c2_ring", &variant, error);
        return status == GR_OK ? gr_conv_implicit_gemm_async(self, variant, info, operands, program, error)
                               : status;
    }
    const bool nhwc = self->layout == GR_CONV_NHWC;
    const uint64_t tiles = tiles_of(self), channels = self->channels, filters = self->filters;
    const size_t item = PRODUCTS * gr_dtypes[self->dtype].item_bytes;
    const uint32_t transformed_x =
                       gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(tiles * channels) * item),
                   transformed_w =
                       gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(channels * filters) * item),
                   products =
                       gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)(tiles * filters) * item);
    const gr_conv_operands to_x = {operands->x, operands->w, transformed_x},
                           to_w = {operands->x, operands->w, transformed_w},
                           to_out = {products, operands->w, operands->out};
    const uint64_t each = nhwc ? VEC4 : 1;
    const uint64_t filter_blocks = gr_ceil_div(channels, BLOCK) * gr_ceil_div(filters, BLOCK);
    gr_status status =
        transform(self, variant, nhwc ? "_filters_nhwc" : "_filters_nchw",
                  nhwc ? filter_blocks * BLOCK * BLOCK : channels * filters, &to_w, program, error);
    if (status == GR_OK)
        status = transform(self, variant, nhwc ? "_pictures_nhwc" : "_pictures_nchw", tiles * channels / each,
                           &to_x, program, error);
    const gr_matmul product = product_of(self);
    const gr_matmul_operands matrices = {nhwc ? transformed_x : transformed_w,
                                         nhwc ? transformed_w : transformed_x, products};
    if (status == GR_OK)
        status = gr_matmul_append(&product, info, &matrices, program, error);
    if (status == GR_OK)
        status = transform(self, variant, nhwc ? "_results_nhwc" : "_results_nchw", tiles * filters / each,
                           &to_out, program, error);
    return status;
}
