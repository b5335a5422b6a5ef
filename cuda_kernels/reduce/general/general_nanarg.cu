// general_nanargmin, general_nanargmax: where the least and the largest of floats are, NaNs left out.
#include "reduce/floats.cuh"
#include "reduce/general/instantiate.cuh"
#include "reduce/ops/nan.cuh"

#define GR_ROW(dtype, In)                                                                                    \
    GR_TAKES_ROWS(nanargmin, NanArgMin, dtype, In)                                                           \
    GR_TAKES_ROWS(nanargmax, NanArgMax, dtype, In)
GR_REALS(GR_ROW)
#define GR_COMPLEX_ROW(dtype, In)                                                                            \
    GR_TAKES_AXIS(nanargmin, NanArgMin, dtype, In)                                                           \
    GR_TAKES_AXIS(nanargmax, NanArgMax, dtype, In)
GR_COMPLEXES(GR_COMPLEX_ROW)
