// flat_prod: the kernels of prod for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(prod, Prod, dtype, In)
#include "reduce/flat/instantiate.cuh"
