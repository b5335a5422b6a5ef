// general_nansum, general_nanmean, general_nanprod, general_nanmin, general_nanmax, general_extremes: floats
// of any layout, NaNs left out.
#include "reduce/general/instantiate.cuh"
#include "reduce/ops/nan.cuh"

namespace gr::reduce {
template <class In> constexpr bool is_ordered<NanSum<In>> = true;
template <class In> constexpr bool is_ordered<NanMean<In>> = true;
template <class In> constexpr bool is_ordered<NanProd<In>> = true;
} // namespace gr::reduce

// Their States fit the registers of as many blocks as those of a plain sum.
template <> constexpr unsigned columns_occupancy<NanMean<float>, float> = 4;
template <> constexpr unsigned columns_occupancy<NanMean<double>, double> = 4;
template <> constexpr unsigned columns_occupancy<Extremes<float>, float> = 4;
template <> constexpr unsigned columns_occupancy<NanMean<gr_f16>, gr_f16> = 3;
template <> constexpr unsigned columns_occupancy<NanMean<gr_bf16>, gr_bf16> = 3;
template <> constexpr unsigned rows_occupancy<NanMean<gr_f16>, gr_f16> = 4;
template <> constexpr unsigned rows_occupancy<NanMean<gr_bf16>, gr_bf16> = 4;
template <> constexpr unsigned rows_occupancy<NanMean<float>, float> = 4;
template <> constexpr unsigned rows_occupancy<NanMean<double>, double> = 4;
template <> constexpr unsigned pieces_occupancy<NanMean<gr_f16>, gr_f16> = 3;
template <> constexpr unsigned pieces_occupancy<NanMean<gr_bf16>, gr_bf16> = 3;
template <> constexpr unsigned pieces_occupancy<NanMean<float>, float> = 3;

#define GR_SUMS(dtype, In)                                                                                   \
    GR_TAKES_ROWS(nansum, NanSum, dtype, In)                                                                 \
    GR_TAKES_ROWS(nanmean, NanMean, dtype, In)                                                               \
    GR_IN_FIXED_ORDER(nansum, NanSum, dtype, In)                                                             \
    GR_IN_FIXED_ORDER(nanmean, NanMean, dtype, In)                                                           \
    GR_TILES(nansum, NanSum, dtype, In)                                                                      \
    GR_TILES(nanmean, NanMean, dtype, In)
#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_SUMS(dtype, In)                                                                                       \
    GR_TAKES_ROWS(nanprod, NanProd, dtype, In)                                                               \
    GR_IN_FIXED_ORDER(nanprod, NanProd, dtype, In)                                                           \
    GR_TILES(nanprod, NanProd, dtype, In)                                                                    \
    GR_TAKES_ROWS(nanmin, NanMin, dtype, In)                                                                 \
    GR_TAKES_ROWS(nanmax, NanMax, dtype, In)                                                                 \
    GR_TAKES_ROWS(extremes, Extremes, dtype, In)
#define GR_COMPLEX_ROW(dtype, In)                                                                            \
    GR_SUMS(dtype, In)                                                                                       \
    GR_TAKES_AXIS(nanprod, NanProd, dtype, In)                                                               \
    GR_TAKES_AXIS(nanmin, NanMin, dtype, In)                                                                 \
    GR_TAKES_AXIS(nanmax, NanMax, dtype, In)
#include "reduce/floats.cuh"
