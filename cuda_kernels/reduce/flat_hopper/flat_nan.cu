// flat_nansum, flat_nanmean, flat_nanprod, flat_nanmin, flat_nanmax, flat_extremes: contiguous floats to one
// result, NaNs left out.
#include "reduce/flat/instantiate.cuh"
#include "reduce/floats.cuh"
#include "reduce/ops/nan.cuh"

#define GR_SUMS(dtype, In)                                                                                   \
    GR_FLAT_ALL(nansum, FlatNanSum, dtype, In)                                                               \
    GR_FLAT_ALL(nanmean, FlatNanMean, dtype, In)
#define GR_ROW(dtype, In)                                                                                    \
    GR_SUMS(dtype, In)                                                                                       \
    GR_FLAT_ALL(nanprod, FlatNanProd, dtype, In)                                                             \
    GR_FLAT_ALL(nanmin, FlatNanMin, dtype, In)                                                               \
    GR_FLAT_ALL(nanmax, FlatNanMax, dtype, In)                                                               \
    GR_FLAT_ALL(extremes, FlatExtremes, dtype, In)
GR_REALS(GR_ROW)
GR_COMPLEXES(GR_SUMS)
