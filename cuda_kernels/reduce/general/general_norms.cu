// general_sumnorm, general_rootnorm, general_anynorm, general_logsumexp: norms of floats of any layout, and
// sums of exponentials.
#include "reduce/general/instantiate.cuh"
#include "reduce/ops/exponential_tiles.cuh"
#include "reduce/ops/log_sum_exp.cuh"
#include "reduce/ops/norms.cuh"
#include "reduce/params.h"

namespace gr::reduce {
template <class In> constexpr bool is_ordered<SumNorm<In>> = true;
template <class In> constexpr bool is_ordered<RootNorm<In>> = true;
template <class In> constexpr bool is_ordered<LogSumExp<In>> = true;
template <class In> constexpr bool takes_sets<LogSumExp<In>> = false;

// Results of logsumexp may be denominators of a softmax.
template <class In>
__device__ void put_exponentials(const gr_general_params &p, uint64_t index,
                                 typename LogSumExp<In>::State s) {
    using F = LogSumExp<In>;
    if (!(p.flags & GR_FINAL))
        reinterpret_cast<typename F::State *>(p.out)[index] = s;
    else if (p.flags & GR_FINISH_DENOMINATOR)
        reinterpret_cast<typename F::Denominator *>(p.out)[index] = F::denominator(s);
    else
        reinterpret_cast<typename F::Out *>(p.out)[index] = finished<F>(p, s);
}
#define GR_PUT(dtype, In)                                                                                    \
    template <>                                                                                              \
    __device__ void put<LogSumExp<In>>(const gr_general_params &p, uint64_t index,                           \
                                       typename LogSumExp<In>::State s) {                                    \
        put_exponentials<In>(p, index, s);                                                                   \
    }                                                                                                        \
    template <>                                                                                              \
    __device__ void put_vector<LogSumExp<In>>(const gr_general_params &p, uint64_t index,                    \
                                              const typename LogSumExp<In>::State(&s)[column_width<In>]) {   \
        _Pragma("unroll") for (unsigned e = 0; e < column_width<In>; ++e)                                    \
            put_exponentials<In>(p, index + e, s[e]);                                                        \
    }
GR_PUT(f32, float)
GR_PUT(f64, double)
GR_PUT(f16, gr_f16)
GR_PUT(bf16, gr_bf16)
} // namespace gr::reduce

// Its State fits the registers of as many blocks as the State of a plain sum.
template <> constexpr unsigned columns_occupancy<RootNorm<double>, double> = 4;
template <> constexpr unsigned rows_occupancy<RootNorm<double>, double> = 4;
// Exponentials of four vectors of halves are in flight.
template <> constexpr unsigned pieces_occupancy<LogSumExp<gr_f16>, gr_f16> = 2;
template <> constexpr unsigned pieces_occupancy<LogSumExp<gr_bf16>, gr_bf16> = 2;

#define GR_ANY(dtype, In)                                                                                    \
    GR_GENERAL(axis, 2, anynorm, dtype, reduce_axis<AnyNorm<In>, FromPower<In>>)                             \
    GR_GENERAL(last, 1, anynorm, dtype, reduce_last<AnyNorm<In>>)
#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_ANY(dtype, In)                                                                                        \
    GR_TAKES_ROWS(sumnorm, SumNorm, dtype, In)                                                               \
    GR_TAKES_ROWS(rootnorm, RootNorm, dtype, In)                                                             \
    GR_TAKES_ROWS(logsumexp, LogSumExp, dtype, In)                                                           \
    GR_IN_FIXED_ORDER(sumnorm, SumNorm, dtype, In)                                                           \
    GR_IN_FIXED_ORDER(rootnorm, RootNorm, dtype, In)                                                         \
    GR_IN_FIXED_ORDER(logsumexp, LogSumExp, dtype, In)                                                       \
    GR_TILES(sumnorm, SumNorm, dtype, In)                                                                    \
    GR_TILES(rootnorm, RootNorm, dtype, In)                                                                  \
    GR_GENERAL(tiles, 1, logsumexp, dtype, reduce_exponential_tiles<In>)
#define GR_COMPLEX_ROW GR_ANY
#include "reduce/floats.cuh"
