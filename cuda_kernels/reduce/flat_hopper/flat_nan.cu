// flat_nansum, flat_nanmean, flat_nanprod, flat_nanmin, flat_nanmax, flat_extremes: contiguous floats to one
// result, NaNs left out.
#define GR_FLAT_DIFFERS 1
#include "reduce/flat/instantiate.cuh"
#include "reduce/ops/nan.cuh"

template <class In> constexpr bool order_counts<NanSum<In>> = true;
template <class In> constexpr bool order_counts<NanMean<In>> = true;
template <class In> constexpr bool order_counts<NanProd<In>> = true;

#define GR_SUMS(dtype, In)                                                                                   \
    GR_TAKES_ALL(nansum, NanSum, dtype, In)                                                                  \
    GR_TAKES_ALL(nanmean, NanMean, dtype, In)
#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_SUMS(dtype, In)                                                                                       \
    GR_TAKES_ALL(nanprod, NanProd, dtype, In)                                                                \
    GR_TAKES_ALL(nanmin, NanMin, dtype, In)                                                                  \
    GR_TAKES_ALL(nanmax, NanMax, dtype, In)                                                                  \
    GR_TAKES_ALL(extremes, Extremes, dtype, In)
#define GR_COMPLEX_ROW GR_SUMS
#include "reduce/floats.cuh"
