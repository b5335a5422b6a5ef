// flat_nansum, flat_nanprod, flat_extremes: contiguous floats to one result, NaNs left out.
#include "floats.cuh"
#include "nan.cuh"

#define GR_FLAT_OP(dtype, In, kind)
#include "flat_instantiate.cuh"

#define GR_ROW(dtype, In)                                                                                    \
    GR_FLAT_ALL(nansum, FlatNanSum, dtype, In)                                                               \
    GR_FLAT_ALL(nanprod, FlatNanProd, dtype, In)                                                             \
    GR_FLAT_ALL(extremes, FlatExtremes, dtype, In)
GR_REALS(GR_ROW)
#define GR_COMPLEX_ROW(dtype, In) GR_FLAT_ALL(nansum, FlatNanSum, dtype, In)
GR_COMPLEXES(GR_COMPLEX_ROW)
