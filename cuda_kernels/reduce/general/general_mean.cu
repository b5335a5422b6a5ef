// general_mean: the mean of elements of any dtype and layout.
#define GR_GENERAL_OP(...)                                                                                   \
    GR_TAKES_ALL(mean, Mean, __VA_ARGS__)                                                                    \
    GR_TAKES_MASKED(mean, MaskedMean, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
