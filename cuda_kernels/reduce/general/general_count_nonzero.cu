// general_count_nonzero: the number of elements that are not zero, of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(count_nonzero, CountNonzero, dtype, In)
#include "reduce/general/instantiate.cuh"
