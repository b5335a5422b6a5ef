/* The cost model: estimates how long each rung takes on the reference device (an H200), so that plan.c can
   choose. The rates below were measured there; an estimate is a sum of launches, memory traffic and
   multiply-adds at these rates. */
#include <math.h>

#include "base/limits.h"
#include "conv/internal.h"

/* Measured on an H200: microseconds of a launch, bytes per microsecond of memory traffic, bytes and elements
   per microsecond that im2col writes, one by one and four at once. */
static const double LAUNCH_US = 3, BYTES = 4.5e6, IM2COL_BYTES = 3.6e6, IM2COL_ELEMENTS = 0.46e6,
                    IM2COL_FOURS = 0.69e6;
/* Microseconds of the launch of a product. */
static const double GEMM_START_US = 1.4;
/* Multiply-adds per microsecond of the kernels. */
static const double NAIVE[] = {[GR_CONV_NHWC] = 0.9e6, [GR_CONV_NCHW] = 1.1e6};
/* Of c2_ring: microseconds of the launches, and what it takes of the estimated times of the memory traffic
   and of the multiply-adds (H200, 408 calls of 5 us to 19 ms). */
static const double ASYNC_START_US = 2, ASYNC_BYTES = 1.4, ASYNC_PRODUCTS = 0.98;
/* How many times as long c2 and c3 take with 1 x 1 taps. */
static const double IMPLICIT_GEMM_OF_1X1 = 1.6, DIRECT_OF_1X1 = 1.8;
static const double IMPLICIT_GEMM = 4.8e6, DIRECT = 11e6, DIRECT_ROWS = 29e6;
static const double TENSOR_CORES = 30e6, TENSOR_CORES_TF32X3 = 15e6, TENSOR_CORES_HALVES = 50e6;
/* Microseconds per element of a filter that a thread of c0, and a block of c2, take one after the other,
   however few results there are (H100: 1,848 results of 6,272 elements 244 us; 143 blocks of 2,295 elements
   543 us). */
static const double NAIVE_ELEMENT_US = 0.039, IMPLICIT_GEMM_ELEMENT_US = 0.2;
/* Microseconds of the first products of c5 to c7, and of a round of loads of their threads, which no other
   work hides in small convolutions (H200: 6 images of 46 x 129 x 655, 9 filters of 1 x 1, 118 us in float16).
 */
static const double TENSOR_CORES_START_US = 1, TENSOR_CORES_LOAD_US = 0.5;
/* How many times as long c7 takes with a block for each SM or more (H200: 7 images of 16 x 118 x 100, 347
   filters of 3 x 3, stride 2, 53 us). */
static const double WAVES_OF_HALVES = 1.4;
/* Bytes per microsecond that copies to aligned rows read and write. */
static const double COPIED_BYTES = 3e6;
/* Bytes per microsecond of the transpose; results per microsecond of scattered stores in NCHW. */
static const double TRANSPOSED_BYTES = 2.4e6, SCATTERED = 0.25e6, SCATTERED_HALVES = 0.33e6;

static double round_up(uint64_t count, uint64_t to) {
    return (double)(gr_ceil_div(count, to) * to);
}

/* Returns multiply-adds per microsecond of the matrix-multiplication kernels. */
static double product_rate(const gr_conv *self) {
    static const double rates[GR_PRECISIONS] = {[GR_PRECISION_IEEE] = 21e6,
                                                [GR_PRECISION_TF32] = 150e6,
                                                [GR_PRECISION_TF32X3] = 50e6,
                                                [GR_PRECISION_F16X3] = 80e6};
    if (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16)
        return 250e6;
    return self->dtype == GR_DTYPE_f64 ? 9e6 : rates[self->precision];
}

static bool is_on_tensor_cores(const gr_conv *self) {
    return self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16 ||
           (self->dtype == GR_DTYPE_f32 && self->precision == GR_PRECISION_TF32);
}

/* Returns whether rows of the operand that x itself is are no multiples of 16 bytes: tensor cores then need
   copies, or take a tenth of their speed (H200: 2,048 x 49 x 512, 8 images, 31 us in float16). */
static bool is_unaligned_gemm(const gr_conv *self) {
    const uint64_t row =
        self->layout == GR_CONV_NHWC ? self->channels * self->groups : self->height.size * self->width.size;
    return gr_conv_is_gemm(self) && is_on_tensor_cores(self) &&
           row * gr_dtypes[self->dtype].item_bytes % 16 != 0;
}

/* Returns microseconds of the product after im2col. In IEEE float32 a long k hides the memory traffic and is
   slightly faster, and a short k reads the matrix at half the rate. With a short k tensor cores wait for the
   prologue and epilogue of tiles, as if k were `min_taps`. */
static double time_of_product(const gr_conv *self, double arithmetic, double bytes_time) {
    enum { SHORT = 64, LONG = 256, MIN_TAPS = 256, MIN_TAPS_HALVES = 1024 };
    static const double LONGER = 23. / 21; /* speedup */
    const bool halves = self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16;
    const double taps = (double)gr_conv_filter_length(self), min_taps = halves ? MIN_TAPS_HALVES : MIN_TAPS;
    if (self->precision == GR_PRECISION_IEEE && self->dtype == GR_DTYPE_f32)
        return taps >= LONG ? fmax(arithmetic / LONGER, bytes_time)
                            : arithmetic + (taps <= SHORT ? 2 : 1) * bytes_time;
    return (self->dtype == GR_DTYPE_f64 || taps >= min_taps ? arithmetic : arithmetic * min_taps / taps) +
           bytes_time;
}

/* Returns microseconds of the launches of im2col and of the product. In float32 the product waits for im2col;
   in NHWC, without TF32, another launch copies the filters. */
static double time_of_launches(const gr_conv *self) {
    enum { FEW = 8 /* filters up to which the product reads them in any order */, MANY = 1000 /* pixels */ };
    static const double WAIT_US = 2, COPY_US = 3.5;
    if (self->dtype != GR_DTYPE_f32)
        return 2 * LAUNCH_US;
    const bool copies = self->precision == GR_PRECISION_IEEE && self->layout == GR_CONV_NHWC &&
                        self->filters > FEW && gr_conv_pixels(self) >= MANY;
    return 2 * LAUNCH_US + WAIT_US + (copies ? COPY_US : 0);
}

/* Returns microseconds of im2col: of its matrix and of the launches before the product; 0 if x itself is the
   matrix. */
static double time_of_matrix(const gr_conv *self, double elements) {
    const size_t bytes = gr_dtypes[self->dtype].item_bytes;
    const bool by_vectors = self->layout == GR_CONV_NHWC && self->channels * bytes % 16 == 0,
               by_fours = self->layout == GR_CONV_NCHW && bytes <= 4 && self->width.out % 4 == 0;
    if (gr_conv_is_gemm(self))
        return 0;
    return time_of_launches(self) - LAUNCH_US +
           (by_vectors ? elements * (double)bytes / IM2COL_BYTES
                       : elements / (by_fours ? IM2COL_FOURS : IM2COL_ELEMENTS));
}

/* Returns microseconds of a product, of which the kernels have estimates; 0: they have none. On tensor cores
   most kernels load, multiply and store a tile one after the other, which limits the memory traffic. Many
   products of halves take longer than the estimate, which is of one (H200, 61 convolutions of 1 x 1 and 50 of
   3 x 3 and 7 x 7). */
static double time_of_estimated_product(const gr_conv *self, bool has_one_part, double all_bytes) {
    enum { NARROW = 32 };
    static const double STREAMED_BYTES = 2.1e6, STREAMED_BYTES_OF_HALVES = 1.65e6, HALVES = 1.35,
                        GEMM_OF_HALVES = 1.15;
    const double product = gr_conv_im2col_product_time(self, has_one_part);
    if (!is_on_tensor_cores(self) && self->filters < NARROW)
        return 0;
    if (product == 0 || !is_on_tensor_cores(self))
        return product == 0 ? 0 : GEMM_START_US + product;
    return self->dtype == GR_DTYPE_f32 ? fmax(product, LAUNCH_US + all_bytes / STREAMED_BYTES)
                                       : fmax(product * (gr_conv_is_gemm(self) ? GEMM_OF_HALVES : HALVES),
                                              LAUNCH_US + all_bytes / STREAMED_BYTES_OF_HALVES);
}

/* Returns microseconds of a product, of which the kernels have no estimates: of TF32 it is that of IEEE
   float32, where a block takes an undivided k one element after the other. */
static double time_of_other_product(const gr_conv *self, bool has_one_part, double matrix, double all_bytes) {
    enum { TILE = 128, HALF = TILE / 2, FEW = 8 /* columns, whose kernel shares k */ };
    static const double ELEMENT_US = 0.015;
    gr_conv plain = *self;
    if (self->precision == GR_PRECISION_TF32)
        plain.precision = GR_PRECISION_IEEE;
    /* Tiles have 128 columns; in NCHW filters are rows of the product, whose tiles on tensor cores have 128.
     */
    const bool is_gemm = gr_conv_is_gemm(self),
               half_empty = product_rate(&plain) > TENSOR_CORES && self->filters < HALF,
               whole_tiles =
                   is_on_tensor_cores(&plain) && self->layout == GR_CONV_NCHW && self->filters > HALF;
    const double filters = half_empty ? TILE : round_up(self->filters, whole_tiles ? TILE : HALF);
    const uint64_t columns =
        self->layout == GR_CONV_NHWC ? self->filters : self->height.out * self->width.out;
    const bool divides = columns <= FEW || !(is_gemm || has_one_part) || self->dtype != GR_DTYPE_f32;
    const double undivided = divides ? 0 : ELEMENT_US * (double)gr_conv_filter_length(self);
    const double arithmetic = fmax(matrix * filters / product_rate(&plain), undivided),
                 bytes_time = all_bytes / BYTES;
    return LAUNCH_US + (is_gemm ? arithmetic + bytes_time : time_of_product(&plain, arithmetic, bytes_time));
}

/* The matrix is written and read, unless x itself is the matrix. */
static double time_of_matrix_and_product(const gr_conv *self, bool has_one_part) {
    const double matrix =
        (double)self->groups * (double)gr_conv_pixels(self) * (double)gr_conv_filter_length(self);
    const double all_bytes =
        (matrix + (double)gr_conv_output_count(self)) * (double)gr_dtypes[self->dtype].item_bytes;
    const double product = time_of_estimated_product(self, has_one_part, all_bytes);
    return time_of_matrix(self, matrix) +
           (product > 0 ? product : time_of_other_product(self, has_one_part, matrix, all_bytes));
}

/* In NHWC another launch interleaves the results of groups. */
static double time_of_im2col(const gr_conv *self, bool has_one_part) {
    const double bytes = (double)gr_conv_output_count(self) * (double)gr_dtypes[self->dtype].item_bytes;
    return time_of_matrix_and_product(self, has_one_part) +
           (self->layout == GR_CONV_NHWC && self->groups > 1 ? LAUNCH_US + 2 * bytes / COPIED_BYTES : 0);
}

/* Returns microseconds to read x and to write the result once. */
static double time_of_bytes(const gr_conv *self) {
    const uint64_t elements =
        self->batch * self->height.size * self->width.size * self->groups * self->channels;
    return (double)(elements + gr_conv_output_count(self)) * (double)gr_dtypes[self->dtype].item_bytes /
           BYTES;
}

/* Returns microseconds of the loads of x of c5 to c7. The threads that load have AT_ONCE vectors of channels
   in flight, or AT_ONCE words where vectors are not aligned. */
static double time_of_tensor_core_loads(const gr_conv *self, double blocks) {
    enum { PIXELS = 512, THREADS = 128, AT_ONCE = 8, VEC8 = 8, VEC16 = 16, BLOCKS = 2 /* per SM */ };
    static const double HALO = 1.25;
    const uint64_t item = gr_dtypes[self->dtype].item_bytes, length = VEC16 / item;
    const bool vectors =
        self->layout == GR_CONV_NHWC && self->channels * item % (item == 2 ? VEC8 : VEC16) == 0;
    const double image = (double)(gr_conv_extent_read(&self->height, self->height.out) *
                                  gr_conv_extent_read(&self->width, self->width.out));
    const double pixels =
        fmin(image, PIXELS * (double)self->width.stride * (gr_conv_taps(self) > 1 ? HALO : 1));
    const double rounds = pixels * round_up(self->channels, length) / (double)length / THREADS /
                          (vectors ? AT_ONCE : VEC16 / (double)length);
    return rounds * TENSOR_CORES_LOAD_US * fmax(blocks / (BLOCKS * gr_reference_device.multiprocessors), 1);
}

static double time_of_tensor_cores(const gr_conv *self, const gr_conv_variant *variant) {
    const uint64_t length = 16 / gr_dtypes[self->dtype].item_bytes;
    const double filters = self->filters <= 24 ? 24 : round_up(self->filters, 64);
    const double rate = length == 8                                 ? TENSOR_CORES_HALVES
                        : variant->precision == GR_PRECISION_TF32X3 ? TENSOR_CORES_TF32X3
                                                                    : TENSOR_CORES;
    const double taps = (double)(self->height.kernel * self->width.kernel) * round_up(self->channels, length);
    const double pixels = (double)self->batch * round_up(self->height.out * self->width.out, 512);
    const double blocks = (double)self->groups * pixels / 512 * round_up(self->filters, 64) / 64;
    const double idle = blocks < gr_reference_device.multiprocessors
                            ? gr_reference_device.multiprocessors / blocks
                        : length == 8 ? WAVES_OF_HALVES
                                      : 1;
    const double products = (double)self->groups * pixels * filters * taps / rate * idle;
    if (gr_conv_is_c12_3x3(self))
        return 0.4 * products;
    const double time = fmax(products, time_of_tensor_core_loads(self, blocks));
    /* In NCHW the results of a pixel are scattered: one element per filter plane. */
    const double scattered =
        (double)gr_conv_output_count(self) / (length == 8 ? SCATTERED_HALVES : SCATTERED);
    return self->layout == GR_CONV_NCHW && scattered > time ? scattered : time;
}

/* NCHW is transposed to NHWC first, unless TMA can load it, and channels are padded. */
static double time_of_implicit_gemm_tma(const gr_conv *self, uint32_t parts) {
    const uint64_t elements =
        self->batch * self->height.size * self->width.size * self->groups * self->channels;
    const double bytes = 2 * (double)elements * (double)gr_dtypes[self->dtype].item_bytes;
    const double transpose = gr_conv_pads_channels(self) || gr_conv_needs_nhwc_transpose(self)
                                 ? 2.3 + bytes / TRANSPOSED_BYTES
                                 : 0;
    return transpose + gr_conv_implicit_gemm_tma_time(self, parts);
}

/* A block takes all elements of its filters, at most at the rate of a multiprocessor. */
static double time_of_direct(const gr_conv *self) {
    enum { ROWS = 8, COLUMNS = 64, FILTERS = 24, TOGETHER = 4 };
    const double length = (double)gr_conv_taps(self) * round_up(self->channels, TOGETHER);
    const double blocks =
        (double)self->batch * (double)self->groups * (double)gr_ceil_div(self->height.out, ROWS) *
        (double)gr_ceil_div(self->width.out, COLUMNS) * (double)gr_ceil_div(self->filters, FILTERS);
    return fmax(blocks, gr_reference_device.multiprocessors) * ROWS * COLUMNS * FILTERS * length / DIRECT;
}

/* Returns the elements of a filter that c2 multiplies, in steps of 16. Where TF32 is allowed, the estimates
   of its rungs are as coarse as those without these steps. */
static double elements_of_c2(const gr_conv *self) {
    enum { STEP = 16 };
    const uint64_t length = gr_conv_filter_length(self);
    return self->precision == GR_PRECISION_IEEE ? round_up(length, STEP) : (double)length;
}

double gr_conv_estimate_time(const gr_conv *self, const gr_conv_variant *variant, uint32_t parts) {
    const double all = (double)self->groups * (double)gr_conv_filter_length(self),
                 moved = LAUNCH_US + time_of_bytes(self);
    switch (variant->algorithm) {
    case GR_CONV_IM2COL:
        return time_of_im2col(self, parts == 1);
    case GR_CONV_IMPLICIT_GEMM_ASYNC: /* of a GEMM c1 is faster */
        return gr_conv_is_gemm(self) ? HUGE_VAL
                                     : ASYNC_START_US + ASYNC_BYTES * time_of_bytes(self) +
                                           ASYNC_PRODUCTS * gr_conv_implicit_gemm_async_time(self);
    case GR_CONV_IMPLICIT_GEMM:
        return moved + (gr_conv_taps(self) == 1 ? IMPLICIT_GEMM_OF_1X1 : 1) *
                           fmax((double)gr_conv_pixels(self) * round_up(self->filters, 16) *
                                    (double)self->groups * elements_of_c2(self) / IMPLICIT_GEMM,
                                (double)gr_conv_filter_length(self) * IMPLICIT_GEMM_ELEMENT_US);
    case GR_CONV_DIRECT:
        return moved + time_of_direct(self) * (gr_conv_taps(self) == 1 ? DIRECT_OF_1X1 : 1);
    case GR_CONV_DIRECT_ROWS:
        return moved + (double)self->batch * round_up(self->height.out, 16) * round_up(self->width.out, 16) *
                           round_up(self->filters, 24) * all / DIRECT_ROWS;
    case GR_CONV_IMPLICIT_GEMM_TMA:
        return time_of_implicit_gemm_tma(self, parts);
    case GR_CONV_SMALL_C:
        return gr_conv_is_gemm(self) ? HUGE_VAL : LAUNCH_US + gr_conv_small_c_time(self, time_of_bytes(self));
    case GR_CONV_TENSOR_CORES:
        return gr_conv_is_gemm(self) && !is_unaligned_gemm(self)
                   ? HUGE_VAL
                   : moved + TENSOR_CORES_START_US + time_of_tensor_cores(self, variant);
    case GR_CONV_WINOGRAD: /* its error is not bounded by the terms of a result */
        return HUGE_VAL;
    default:
        return moved + (double)gr_conv_filter_length(self) *
                           fmax((double)gr_conv_output_count(self) / NAIVE[self->layout], NAIVE_ELEMENT_US);
    }
}

double gr_conv_estimate_small_time(const gr_conv *self, gr_conv_order order) {
    return time_of_bytes(self) + gr_conv_small_time(self, order);
}

double gr_conv_estimate_few_time(const gr_conv *self) {
    return time_of_bytes(self) + gr_conv_few_time(self);
}
