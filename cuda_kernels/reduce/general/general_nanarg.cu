// general_nanargmin, general_nanargmax: where the least and the largest of floats are, NaNs left out.
#include "reduce/general/instantiate.cuh"
#include "reduce/ops/nan.cuh"

#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_TAKES_ROWS(nanargmin, NanArgMin, dtype, In)                                                           \
    GR_TAKES_ROWS(nanargmax, NanArgMax, dtype, In)
#define GR_COMPLEX_ROW(dtype, In)                                                                            \
    GR_TAKES_AXIS(nanargmin, NanArgMin, dtype, In)                                                           \
    GR_TAKES_AXIS(nanargmax, NanArgMax, dtype, In)
#include "reduce/floats.cuh"
