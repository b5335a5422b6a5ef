// general_min: the minimum of elements of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(min, Min, dtype, In)
#include "reduce/general/instantiate.cuh"
