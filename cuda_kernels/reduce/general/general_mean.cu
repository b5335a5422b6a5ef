// general_mean: the mean of elements of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind)                                                                       \
    GR_TAKES_ALL(mean, Mean, dtype, In)                                                                      \
    GR_TAKES_MASKED(mean, MaskedMean, dtype, In)
#include "reduce/general/instantiate.cuh"
