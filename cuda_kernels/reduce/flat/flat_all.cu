// flat_all: the kernels of all for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(all, All, dtype, In)
#include "reduce/flat/instantiate.cuh"
