// flat_min: the kernels of min for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(min, Min, dtype, In)
#include "reduce/flat/instantiate.cuh"
