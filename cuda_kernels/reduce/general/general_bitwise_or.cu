// general_bitwise_or: ors bools and integers, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_BITS(bitwise_or, BitwiseOr, dtype, In, kind)
#include "reduce/general/instantiate.cuh"
