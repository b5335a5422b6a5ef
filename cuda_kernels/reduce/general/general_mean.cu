// general_mean: the mean of elements of any dtype and layout.
#define GR_RESULT MEAN
#define GR_GENERAL_OP(...)                                                                                   \
    GR_TAKES_ALL(mean, Mean, __VA_ARGS__)                                                                    \
    GR_TAKES_MASKED(mean, MaskedMean, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
GR_LASTS(mean, Mean)
#undef GR_LAST
#define GR_LAST(op, F, dtype, In) GR_GENERAL(masked_last, 1, op, dtype, reduce_last<F<In>>)
GR_LASTS(mean, MaskedSum)
