/* The table of rungs of the ladder of convolutions, from rungs.def. */
#include "conv/conv.h"

const gr_conv_variant gr_conv_variants[] = {
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, dtypes_,            \
                precision_, algorithm_, layout_requirement_, threads_, shared_)                              \
    {                                                                                                        \
        .rung = GR_RUNG_COLUMNS("conv", name, file, after, role, backends, capability, launch, title,        \
                                technique),                                                                  \
        .dtypes = GR_CONV_##dtypes_,                                                                         \
        .precision = GR_PRECISION_##precision_,                                                              \
        .algorithm = GR_CONV_##algorithm_,                                                                   \
        .layout_requirement = GR_CONV_##layout_requirement_,                                                 \
        .threads = threads_,                                                                                 \
        .shared = shared_,                                                                                   \
    },
#include "conv/rungs.def"
#undef GR_RUNG
};

const gr_ladder gr_conv_ladder = GR_LADDER(gr_conv_variants, " of conv");

const char *const gr_conv_layouts[GR_CONV_LAYOUTS] = {"NHWC", "NCHW"};

bool gr_conv_supports_dtype(const gr_conv_variant *variant, gr_dtype dtype) {
    static const bool sets[GR_CONV_SETS][GR_DTYPE_COUNT] = {
        [GR_CONV_FLOATS] =
            {[GR_DTYPE_f32] = true, [GR_DTYPE_f64] = true, [GR_DTYPE_f16] = true, [GR_DTYPE_bf16] = true},
        [GR_CONV_F32] = {[GR_DTYPE_f32] = true},
        [GR_CONV_HALVES] = {[GR_DTYPE_f16] = true, [GR_DTYPE_bf16] = true},
        [GR_CONV_SINGLES] = {[GR_DTYPE_f32] = true, [GR_DTYPE_f16] = true, [GR_DTYPE_bf16] = true},
    };
    return sets[variant->dtypes][dtype];
}

bool gr_conv_supports_precision(const gr_conv_variant *variant, gr_precision precision) {
    return variant->precision == GR_PRECISION_ANY || variant->precision == precision ||
           (variant->rung.entry == GR_ENTRY_LIBRARY && precision == GR_PRECISION_TF32);
}
