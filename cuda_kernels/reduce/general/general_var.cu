// general_var: the variance of elements of any dtype and layout.
#include "reduce/ops/variance.cuh"

#define GR_GENERAL_OP(...) GR_TAKES_ALL(var, Var, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
