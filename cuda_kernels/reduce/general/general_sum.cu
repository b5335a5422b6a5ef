// general_sum: the sum of elements of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(sum, Sum, dtype, In)
#include "reduce/general/instantiate.cuh"
