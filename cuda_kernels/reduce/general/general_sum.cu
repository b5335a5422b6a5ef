// general_sum: adds up elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(sum, Sum, dtype, In)
#include "reduce/general/instantiate.cuh"
