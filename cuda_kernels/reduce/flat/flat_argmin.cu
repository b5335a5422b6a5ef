// flat_argmin: the kernels of argmin for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(argmin, ArgMin, dtype, In)
#include "reduce/flat/instantiate.cuh"
