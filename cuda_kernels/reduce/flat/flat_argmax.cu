// flat_argmax: the kernels of argmax for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(argmax, ArgMax, dtype, In)
#include "reduce/flat/instantiate.cuh"
