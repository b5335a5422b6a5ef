#include "conv/cost_model.h"

#include <math.h>

#include "base/limits.h"
#include "conv/direct.h"
#include "conv/im2col.h"
#include "conv/implicit_gemm_async.h"
#include "conv/implicit_gemm_tma.h"
#include "conv/small_c.h"
#include "conv/tensor_cores.h"

/* What an H200 was seen to do in a microsecond: multiply-adds, elements and bytes of memory. */
static const double LAUNCH_US = 3, BYTES = 4.5e6, IM2COL_BYTES = 3.6e6, IM2COL_ELEMENTS = 0.46e6;
static const double NAIVE[] = {[GR_CONV_NHWC] = 0.9e6, [GR_CONV_NCHW] = 1.5e6};
static const double IMPLICIT_GEMM = 6.5e6, DIRECT = 11e6, DIRECT_ROWS = 29e6;
static const double TENSOR_CORES = 30e6, TENSOR_CORES_TF32X3 = 15e6, TENSOR_CORES_HALVES = 60e6;
static const double TRANSPOSED_BYTES = 2.6e6, SCATTERED = 0.25e6, SCATTERED_HALVES = 0.33e6;

static double round_up(uint64_t count, uint64_t to) {
    return (double)(gr_ceil_div(count, to) * to);
}

static double pixels_of(const gr_conv *self) {
    return (double)(self->batch * self->height.out * self->width.out);
}

static double taps_of(const gr_conv *self) {
    return (double)(self->height.kernel * self->width.kernel * self->channels);
}

/* Multiply-adds of the kernels for products. */
static double product_rate(const gr_conv *self) {
    static const double rates[GR_PRECISIONS] = {[GR_PRECISION_IEEE] = 21e6,
                                                [GR_PRECISION_TF32] = 150e6,
                                                [GR_PRECISION_TF32X3] = 50e6,
                                                [GR_PRECISION_F16X3] = 80e6};
    if (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16)
        return 250e6;
    return self->dtype == GR_DTYPE_f64 ? 9e6 : rates[self->precision];
}

/* Of 1 x 1 the kernels for products on tensor cores take up to three times what is reckoned (H200), unless
   in TF32 the filters are rows for whole tiles, and pixels are columns as they lie. */
static bool favours_tma(const gr_conv *self) {
    enum { HIGH = 256, FOUR = 4 };
    const bool halves = self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16;
    const bool whole = self->layout == GR_CONV_NCHW && self->filters >= HIGH &&
                       self->height.size * self->width.size % FOUR == 0;
    return (halves || (self->precision == GR_PRECISION_TF32 && !whole)) &&
           gr_conv_implicit_gemm_tma_supports(self);
}

/* Of the matrix that was written down. A long sum of plain float32 hides what is moved, and is a little
   faster than others; of short ones tensor cores wait for tiles that are begun and stored, as if sums were
   longer. */
static double time_of_product(const gr_conv *self, double arithmetic, double bytes_time) {
    enum { LONG = 256, MIN_TAPS = 256, MIN_TAPS_HALVES = 1024 };
    static const double LONGER = 23. / 21; /* times as fast */
    const bool halves = self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16;
    const double taps = taps_of(self), min_taps = halves ? MIN_TAPS_HALVES : MIN_TAPS;
    if (self->precision == GR_PRECISION_IEEE && self->dtype == GR_DTYPE_f32)
        return taps >= LONG ? fmax(arithmetic / LONGER, bytes_time) : arithmetic + bytes_time;
    return (self->dtype == GR_DTYPE_f64 || taps >= min_taps ? arithmetic : arithmetic * min_taps / taps) +
           bytes_time;
}

/* The matrix is written, 16 bytes or an element at once, and read, unless x is it. */
static double time_of_im2col(const gr_conv *self) {
    const size_t bytes = gr_dtypes[self->dtype].item_bytes;
    const bool wide = self->layout == GR_CONV_NHWC && self->channels * bytes % 16 == 0;
    const double matrix = (double)self->groups * pixels_of(self) * taps_of(self);
    const double all_bytes = (matrix + (double)gr_conv_output_count(self)) * (double)bytes;
    const bool half_empty =
        product_rate(self) > TENSOR_CORES && self->filters < 64; /* their tiles are wider */
    const double filters = half_empty ? 128 : round_up(self->filters, 64);
    const double arithmetic = matrix * filters / product_rate(self), bytes_time = all_bytes / BYTES;
    if (gr_conv_is_gemm(self))
        return LAUNCH_US + (arithmetic + bytes_time) * (favours_tma(self) ? 2 : 1);
    return 2 * LAUNCH_US + time_of_product(self, arithmetic, bytes_time) +
           (wide ? matrix * (double)bytes / IM2COL_BYTES : matrix / IM2COL_ELEMENTS);
}

/* What is moved at least. */
static double time_of_bytes(const gr_conv *self) {
    const uint64_t elements =
        self->batch * self->height.size * self->width.size * self->groups * self->channels;
    return (double)(elements + gr_conv_output_count(self)) * (double)gr_dtypes[self->dtype].item_bytes /
           BYTES;
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
    const double idle =
        blocks < gr_reference_device.multiprocessors ? gr_reference_device.multiprocessors / blocks : 1;
    const double time = (double)self->groups * pixels * filters * taps / rate * idle;
    if (gr_conv_is_c12_3x3(self))
        return 0.4 * time;
    /* In NCHW results go to as many planes as there are filters, an element at once. */
    const double scattered =
        (double)gr_conv_output_count(self) / (length == 8 ? SCATTERED_HALVES : SCATTERED);
    return self->layout == GR_CONV_NCHW && scattered > time ? scattered : time;
}

/* NCHW is turned first, but for planes. */
static double time_of_implicit_gemm_tma(const gr_conv *self) {
    const uint64_t elements =
        self->batch * self->height.size * self->width.size * self->groups * self->channels;
    const double bytes = 2 * (double)elements * (double)gr_dtypes[self->dtype].item_bytes;
    const double transpose = gr_conv_needs_nhwc_transpose(self) ? 2 + bytes / TRANSPOSED_BYTES : 0;
    return transpose + gr_conv_implicit_gemm_tma_time(self);
}

double gr_conv_estimate_time(const gr_conv *self, const gr_conv_variant *variant) {
    const double all = (double)self->groups * taps_of(self), moved = LAUNCH_US + time_of_bytes(self);
    switch (variant->algorithm) {
    case GR_CONV_IM2COL:
        return time_of_im2col(self);
    case GR_CONV_IMPLICIT_GEMM_ASYNC: /* where x is the matrix there is nothing to gather, and those for
                                       * products are faster
                                       */
        return gr_conv_is_gemm(self) ? HUGE_VAL : moved + gr_conv_implicit_gemm_async_time(self);
    case GR_CONV_IMPLICIT_GEMM:
        return moved + pixels_of(self) * round_up(self->filters, 16) * all / IMPLICIT_GEMM;
    case GR_CONV_DIRECT:
        return moved + (double)self->batch * round_up(self->height.out, 8) * round_up(self->width.out, 64) *
                           round_up(self->filters, 24) * all * round_up(self->channels, 4) /
                           (double)self->channels / DIRECT;
    case GR_CONV_DIRECT_ROWS: /* else it is c3 */
        return gr_conv_direct_rows_supports(self)
                   ? moved + (double)self->batch * round_up(self->height.out, 16) *
                                 round_up(self->width.out, 16) * round_up(self->filters, 24) * all /
                                 DIRECT_ROWS
                   : HUGE_VAL;
    case GR_CONV_IMPLICIT_GEMM_TMA: /* else it is c5 or c7 */
        return gr_conv_implicit_gemm_tma_supports(self) ? time_of_implicit_gemm_tma(self) : HUGE_VAL;
    case GR_CONV_SMALL_C: /* else it is c5 or c7 */
        return gr_conv_small_c_supports(self) && !gr_conv_is_gemm(self)
                   ? LAUNCH_US + gr_conv_small_c_time(self, time_of_bytes(self))
                   : HUGE_VAL;
    case GR_CONV_TENSOR_CORES:
        return gr_conv_is_gemm(self) ? HUGE_VAL : moved + time_of_tensor_cores(self, variant);
    case GR_CONV_WINOGRAD: /* its error is not bounded by the products of a result */
        return HUGE_VAL;
    default:
        return moved + (double)gr_conv_output_count(self) * taps_of(self) / NAIVE[self->layout];
    }
}
