// flat_nanargmin, flat_nanargmax: where the least and the largest of contiguous floats are, NaNs left out.
#define GR_FLAT_DIFFERS 1
#include "reduce/flat/instantiate.cuh"
#include "reduce/ops/nan.cuh"

#define GR_REAL_ROW(dtype, In)                                                                               \
    GR_TAKES_ALL(nanargmin, NanArgMin, dtype, In)                                                            \
    GR_TAKES_ALL(nanargmax, NanArgMax, dtype, In)
#define GR_COMPLEX_ROW(dtype, In)
#include "reduce/floats.cuh"
