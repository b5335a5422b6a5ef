// flat_sum: the kernels of sum for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(sum, Sum, dtype, In)
#include "reduce/flat/instantiate.cuh"
