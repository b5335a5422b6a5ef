// general_sumnorm, general_rootnorm, general_anynorm, general_logsumexp, general_softmax: norms of floats of
// any layout, and sums of exponentials.
#include "reduce/general/instantiate.cuh"
#include "reduce/ops/log_sum_exp.cuh"
#include "reduce/ops/norms.cuh"

// Its State fits the registers of as many blocks as the State of a plain sum.
template <> constexpr unsigned columns_occupancy<RootNorm<double>, double> = 4;
template <> constexpr unsigned rows_occupancy<RootNorm<double>, double> = 4;
// Exponentials of four vectors of halves are in flight.
template <> constexpr unsigned pieces_occupancy<LogSumExp<gr_f16>, gr_f16> = 2;
template <> constexpr unsigned pieces_occupancy<LogSumExp<gr_bf16>, gr_bf16> = 2;

#define GR_ANY(dtype, In) GR_AXIS(anynorm, AnyNorm<In>, dtype, FromPower<In>)
#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_ANY(dtype, In)                                                                                        \
    GR_TAKES_ROWS(sumnorm, SumNorm, dtype, In)                                                               \
    GR_TAKES_ROWS(rootnorm, RootNorm, dtype, In)                                                             \
    GR_TAKES_ROWS(logsumexp, LogSumExp, dtype, In)                                                           \
    GR_PIECES(sumnorm, SumNorm, dtype, In)                                                                   \
    GR_PIECES(rootnorm, RootNorm, dtype, In)                                                                 \
    GR_PIECES(logsumexp, LogSumExp, dtype, In)                                                               \
    GR_TILES(sumnorm, SumNorm, dtype, In)                                                                    \
    GR_TILES(rootnorm, RootNorm, dtype, In)                                                                  \
    GR_TAKES_AXIS(softmax, Softmax, dtype, In)
#define GR_COMPLEX_ROW GR_ANY
#include "reduce/floats.cuh"
