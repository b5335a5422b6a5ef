// flat_dot: the kernels of dot for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_PAIR(dot, Dot, dtype, In)
#include "reduce/flat/instantiate.cuh"
