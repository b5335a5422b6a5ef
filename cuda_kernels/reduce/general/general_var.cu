// general_var: the variance of elements of any dtype and layout.
#include "reduce/ops/variance.cuh"

#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(var, Var, dtype, In)
#include "reduce/general/instantiate.cuh"
