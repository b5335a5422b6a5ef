// general_bitwise_xor: the bitwise xor of bools and integers of any layout.
#define GR_GENERAL_OP(...) GR_TAKES_BITS(bitwise_xor, BitwiseXor, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
