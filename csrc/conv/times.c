#include "conv/times.h"

#include "base/limits.h"
#include "conv/columns.h"
#include "conv/ring.h"

/* What an H200 was seen to do in a microsecond: multiply-adds, and bytes of memory. */
static const double START = 3, BYTES = 3.2e6;
static const double RESULTS = 3.5e6, PRODUCT = 7.5e6, RECTANGLES = 13e6;

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
    static const double rates[GR_PRECISIONS] = {[GR_PRECISION_IEEE] = 23e6,
                                                [GR_PRECISION_TF32] = 150e6,
                                                [GR_PRECISION_TF32X3] = 50e6,
                                                [GR_PRECISION_F16X3] = 80e6};
    if (self->dtype == GR_DTYPE_f16 || self->dtype == GR_DTYPE_bf16)
        return 250e6;
    return self->dtype == GR_DTYPE_f64 ? 9e6 : rates[self->precision];
}

/* The matrix is written and read, unless x is it; the product's tiles are filled up. */
static double time_of_columns(const gr_conv *self) {
    const double bytes = (double)gr_dtypes[self->dtype].item_bytes, groups = (double)self->groups;
    const double matrix = groups * pixels_of(self) * taps_of(self) * bytes;
    const double results = (double)gr_conv_results(self) * bytes;
    const double multiply_adds = groups * pixels_of(self) * up(self->filters, 64) * taps_of(self);
    const double product = multiply_adds / product_rate(self), moved = (matrix + results) / BYTES;
    const double written = gr_conv_is_product(self) ? 0 : START + matrix / BYTES;
    return START + written + (product > moved ? product : moved);
}

double gr_conv_time(const gr_conv *self, const gr_conv_variant *variant) {
    const double all = (double)self->groups * taps_of(self);
    switch (variant->way) {
    case GR_CONV_COLUMNS:
        return time_of_columns(self);
    case GR_CONV_RING:
        return gr_conv_ring_time(self);
    case GR_CONV_PRODUCT:
        return START + pixels_of(self) * up(self->filters, 4) * all / PRODUCT;
    case GR_CONV_RECTANGLES:
        return START + (double)self->batch * up(self->down.out, 8) * up(self->along.out, 64) *
                           up(self->filters, 24) * all * up(self->channels, 4) / (double)self->channels /
                           RECTANGLES;
    default:
        return START + (double)gr_conv_results(self) * taps_of(self) / RESULTS;
    }
}
