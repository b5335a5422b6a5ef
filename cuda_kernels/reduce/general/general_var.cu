// general_var: variances of elements of any dtype, whatever their layout.
#include "reduce/ops/variance.cuh"

#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(var, Var, dtype, In)
#include "reduce/general/instantiate.cuh"
