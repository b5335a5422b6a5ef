// general_min: takes the least of elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(min, Min, dtype, In)
#include "reduce/general/instantiate.cuh"
