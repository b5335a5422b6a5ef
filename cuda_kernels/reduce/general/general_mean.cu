// general_mean: averages elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind)                                                                       \
    GR_TAKES_ALL(mean, Mean, dtype, In)                                                                      \
    GR_TAKES_MASKED(mean, MaskedMean, dtype, In)
#include "reduce/general/instantiate.cuh"
