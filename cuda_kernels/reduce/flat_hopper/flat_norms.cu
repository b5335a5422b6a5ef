// flat_sumnorm, flat_rootnorm, flat_logsumexp: contiguous floats to one result.
#include "reduce/flat/instantiate.cuh"
#include "reduce/ops/log_sum_exp.cuh"
#include "reduce/ops/norms.cuh"

#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_FLAT_ALL(sumnorm, SumNorm, dtype, In)                                                                 \
    GR_FLAT_ALL(rootnorm, RootNorm, dtype, In)                                                               \
    GR_FLAT(flat_logsumexp_##dtype, GR_FLAT_MAX_THREADS,                                                     \
            flat<VectorAccumulator<LogSumExp<In>, In>, In, false>)
#define GR_COMPLEX_ROW(dtype, In)
#include "reduce/floats.cuh"
