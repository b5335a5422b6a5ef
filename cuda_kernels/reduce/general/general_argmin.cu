// general_argmin: finds the first least of elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(argmin, ArgMin, dtype, In)
#include "reduce/general/instantiate.cuh"
