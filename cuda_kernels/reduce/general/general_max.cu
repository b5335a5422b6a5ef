// general_max: the maximum of elements of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(max, Max, dtype, In)
#include "reduce/general/instantiate.cuh"
