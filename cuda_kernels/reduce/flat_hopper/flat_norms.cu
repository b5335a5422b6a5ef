// flat_sumnorm, flat_rootnorm, flat_logsumexp: contiguous floats to one result.
#define GR_FLAT_DIFFERS 1
#include "reduce/flat/instantiate.cuh"
#include "reduce/ops/log_sum_exp.cuh"
#include "reduce/ops/norms.cuh"

template <class In> constexpr bool order_counts<SumNorm<In>> = true;
template <class In> constexpr bool order_counts<RootNorm<In>> = true;
template <class In> constexpr bool order_counts<LogSumExp<In>> = true;

#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_TAKES_ALL(sumnorm, SumNorm, dtype, In)                                                                \
    GR_TAKES_ALL(rootnorm, RootNorm, dtype, In)                                                              \
    GR_TAKES_FLAT(logsumexp, LogSumExp, dtype, In)
#define GR_COMPLEX_ROW(dtype, In)
#include "reduce/floats.cuh"
