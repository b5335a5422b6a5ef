// general_nansum, general_nanprod, general_extremes: floats of any layout, NaNs left out.
#include "floats.cuh"
#include "nan.cuh"

#define GR_GENERAL_OP(dtype, In, kind)
#include "general_instantiate.cuh"

// Their States fit the registers of as many blocks as those of a plain sum.
template <> constexpr unsigned columns_blocks<NanSum<float>, float> = 4;
template <> constexpr unsigned columns_blocks<Extremes<float>, float> = 4;

#define GR_ROW(dtype, In)                                                                                    \
    GR_TAKES_ROWS(nansum, NanSum, dtype, In)                                                                 \
    GR_TAKES_ROWS(nanprod, NanProd, dtype, In)                                                               \
    GR_TAKES_ROWS(extremes, Extremes, dtype, In)
GR_REALS(GR_ROW)
#define GR_COMPLEX_ROW(dtype, In)                                                                            \
    GR_TAKES_ROWS(nansum, NanSum, dtype, In)                                                                 \
    GR_TAKES_AXIS(nanprod, NanProd, dtype, In)                                                               \
    GR_TAKES_AXIS(extremes, Extremes, dtype, In)
GR_COMPLEXES(GR_COMPLEX_ROW)
