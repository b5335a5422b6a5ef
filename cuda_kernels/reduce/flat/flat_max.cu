// flat_max: the kernels of max for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(max, Max, dtype, In)
#include "reduce/flat/instantiate.cuh"
