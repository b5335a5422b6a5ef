// flat_var: the kernels of var for contiguous elements and one result.
#include "reduce/ops/variance.cuh"

#define GR_FLAT_OP(dtype, In, kind) GR_TAKES_ALL(var, Var, dtype, In)
#include "reduce/flat/instantiate.cuh"
