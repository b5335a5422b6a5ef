// flat_any: the kernels of any for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(any, Any, dtype, In)
#include "reduce/flat/instantiate.cuh"
