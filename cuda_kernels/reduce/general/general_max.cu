// general_max: takes the largest of elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(max, Max, dtype, In)
#include "reduce/general/instantiate.cuh"
