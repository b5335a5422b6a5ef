// general_count_nonzero: counts those that are not zero of elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(count_nonzero, CountNonzero, dtype, In)
#include "reduce/general/instantiate.cuh"
