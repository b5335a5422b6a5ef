#include "conv/times.h"

#include <math.h>

#include "base/limits.h"
#include "conv/columns.h"
#include "conv/cores.h"
#include "conv/few.h"
#include "conv/ring.h"
#include "conv/taps.h"
#include "conv/tiles.h"

/* What an H200 was seen to do in a microsecond: multiply-adds, elements and bytes of memory. */
static const double START = 3, BYTES = 4.5e6, WRITTEN_BYTES = 3.6e6, WRITTEN = 0.46e6;
static const double RESULTS[] = {[GR_CONV_NHWC] = 0.9e6, [GR_CONV_NCHW] = 1.5e6};
static const double PRODUCT = 6.5e6, RECTANGLES = 11e6, ROWS = 29e6;
static const double CORES = 30e6, CORES_THREE = 15e6, CORES_HALVES = 60e6;
static const double TURNED_BYTES = 2.6e6, SCATTERED = 0.25e6, SCATTERED_HALVES = 0.33e6;

static double up(uint64_t count, uint64_t to) {
    return (double)(gr_ceil_div(count, to) * to);
}

static double pixels_of(const gr_conv *self) {
    return (double)(self->batch * self->down.out * self->along.out);
}

static double taps_of(const gr_conv *self) {
    return (double)(self->down.kernel * self->along.kernel * self->channels);
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
static bool is_for_taps(const gr_conv *self) {
    enum { HIGH = 256, FOUR = 4 };
    const bool halves = self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16;
    const bool whole = self->layout == GR_CONV_NCHW && self->filters >= HIGH &&
                       self->down.size * self->along.size % FOUR == 0;
    return (halves || (self->precision == GR_PRECISION_TF32 && !whole)) && gr_conv_taps_fit(self);
}

/* Of the matrix that was written down. A long sum of plain float32 hides what is moved, and is a little
   faster than others; of short ones tensor cores wait for tiles that are begun and stored, as if sums were
   longer. */
static double time_of_product(const gr_conv *self, double arithmetic, double bytes_time) {
    enum { LONG = 256, LEAST = 256, LEAST_HALVES = 1024 };
    static const double LONGER = 23. / 21; /* times as fast */
    const bool halves = self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16;
    const double taps = taps_of(self), least = halves ? LEAST_HALVES : LEAST;
    if (self->precision == GR_PRECISION_IEEE && self->dtype == GR_DTYPE_f32)
        return taps >= LONG ? fmax(arithmetic / LONGER, bytes_time) : arithmetic + bytes_time;
    return (self->dtype == GR_DTYPE_f64 || taps >= least ? arithmetic : arithmetic * least / taps) +
           bytes_time;
}

/* The matrix is written, 16 bytes or an element at once, and read, unless x is it. */
static double time_of_columns(const gr_conv *self) {
    const size_t bytes = gr_dtypes[self->dtype].item_bytes;
    const bool wide = self->layout == GR_CONV_NHWC && self->channels * bytes % 16 == 0;
    const double matrix = (double)self->groups * pixels_of(self) * taps_of(self);
    const double all_bytes = (matrix + (double)gr_conv_results(self)) * (double)bytes;
    const bool half_empty = product_rate(self) > CORES && self->filters < 64; /* their tiles are wider */
    const double filters = half_empty ? 128 : up(self->filters, 64);
    const double arithmetic = matrix * filters / product_rate(self), bytes_time = all_bytes / BYTES;
    if (gr_conv_is_product(self))
        return START + (arithmetic + bytes_time) * (is_for_taps(self) ? 2 : 1);
    return 2 * START + time_of_product(self, arithmetic, bytes_time) +
           (wide ? matrix * (double)bytes / WRITTEN_BYTES : matrix / WRITTEN);
}

/* What is moved at least. */
static double time_of_bytes(const gr_conv *self) {
    const uint64_t elements =
        self->batch * self->down.size * self->along.size * self->groups * self->channels;
    return (double)(elements + gr_conv_results(self)) * (double)gr_dtypes[self->dtype].item_bytes / BYTES;
}

static double time_of_cores(const gr_conv *self, const gr_conv_variant *variant) {
    const uint64_t length = 16 / gr_dtypes[self->dtype].item_bytes;
    const double filters = self->filters <= 24 ? 24 : up(self->filters, 64);
    const double rate = length == 8                                 ? CORES_HALVES
                        : variant->precision == GR_PRECISION_TF32X3 ? CORES_THREE
                                                                    : CORES;
    const double taps = (double)(self->down.kernel * self->along.kernel) * up(self->channels, length);
    const double pixels = (double)self->batch * up(self->down.out * self->along.out, 512);
    const double blocks = (double)self->groups * pixels / 512 * up(self->filters, 64) / 64;
    const double idle =
        blocks < gr_reference_limits.multiprocessors ? gr_reference_limits.multiprocessors / blocks : 1;
    const double time = (double)self->groups * pixels * filters * taps / rate * idle;
    if (gr_conv_cores_know(self))
        return 0.4 * time;
    /* In NCHW results go to as many planes as there are filters, an element at once. */
    const double scattered = (double)gr_conv_results(self) / (length == 8 ? SCATTERED_HALVES : SCATTERED);
    return self->layout == GR_CONV_NCHW && scattered > time ? scattered : time;
}

/* NCHW is turned first, but for planes. */
static double time_of_taps(const gr_conv *self) {
    const uint64_t elements =
        self->batch * self->down.size * self->along.size * self->groups * self->channels;
    const double bytes = 2 * (double)elements * (double)gr_dtypes[self->dtype].item_bytes;
    const double turned = gr_conv_taps_turn(self) ? 2 + bytes / TURNED_BYTES : 0;
    return turned + gr_conv_taps_time(self);
}

double gr_conv_time(const gr_conv *self, const gr_conv_variant *variant) {
    const double all = (double)self->groups * taps_of(self), moved = START + time_of_bytes(self);
    switch (variant->way) {
    case GR_CONV_COLUMNS:
        return time_of_columns(self);
    case GR_CONV_RING: /* where x is the matrix there is nothing to gather, and those for products are faster
                        */
        return gr_conv_is_product(self) ? HUGE_VAL : moved + gr_conv_ring_time(self);
    case GR_CONV_PRODUCT:
        return moved + pixels_of(self) * up(self->filters, 16) * all / PRODUCT;
    case GR_CONV_RECTANGLES:
        return moved + (double)self->batch * up(self->down.out, 8) * up(self->along.out, 64) *
                           up(self->filters, 24) * all * up(self->channels, 4) / (double)self->channels /
                           RECTANGLES;
    case GR_CONV_ROWS: /* else it is c3 */
        return gr_conv_rows_fit(self)
                   ? moved + (double)self->batch * up(self->down.out, 16) * up(self->along.out, 16) *
                                 up(self->filters, 24) * all / ROWS
                   : HUGE_VAL;
    case GR_CONV_TAPS: /* else it is c5 or c7 */
        return gr_conv_taps_fit(self) ? time_of_taps(self) : HUGE_VAL;
    case GR_CONV_FEW: /* else it is c5 or c7 */
        return gr_conv_few_fit(self) && !gr_conv_is_product(self)
                   ? START + gr_conv_few_time(self, time_of_bytes(self))
                   : HUGE_VAL;
    case GR_CONV_CORES:
        return gr_conv_is_product(self) ? HUGE_VAL : moved + time_of_cores(self, variant);
    case GR_CONV_WINOGRAD: /* its error is not bounded by the products of a result */
        return HUGE_VAL;
    default:
        return moved + (double)gr_conv_results(self) * taps_of(self) / RESULTS[self->layout];
    }
}
