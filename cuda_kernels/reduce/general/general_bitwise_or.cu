// general_bitwise_or: the bitwise or of bools and integers of any layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_BITS(bitwise_or, BitwiseOr, dtype, In, kind)
#include "reduce/general/instantiate.cuh"
