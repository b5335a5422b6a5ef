// general_bitwise_and: the bitwise and of bools and integers of any layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_BITS(bitwise_and, BitwiseAnd, dtype, In, kind)
#include "reduce/general/instantiate.cuh"
