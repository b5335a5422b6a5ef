// general_bitwise_and: ands bools and integers, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_BITS(bitwise_and, BitwiseAnd, dtype, In, kind)
#include "reduce/general/instantiate.cuh"
