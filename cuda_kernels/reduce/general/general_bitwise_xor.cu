// general_bitwise_xor: the bitwise xor of bools and integers of any layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_BITS(bitwise_xor, BitwiseXor, dtype, In, kind)
#include "reduce/general/instantiate.cuh"
