// general_prod: the product of elements of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(prod, Prod, dtype, In)
#include "reduce/general/instantiate.cuh"
