// general_prod: multiplies elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(prod, Prod, dtype, In)
#include "reduce/general/instantiate.cuh"
