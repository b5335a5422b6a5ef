// flat_nanargmin, flat_nanargmax: where the least and the largest of contiguous floats are, NaNs left out.
#include "reduce/flat/instantiate.cuh"
#include "reduce/floats.cuh"
#include "reduce/ops/nan.cuh"

#define GR_ROW(dtype, In)                                                                                    \
    GR_FLAT_ALL(nanargmin, NanArgMin, dtype, In)                                                             \
    GR_FLAT_ALL(nanargmax, NanArgMax, dtype, In)
GR_REALS(GR_ROW)
