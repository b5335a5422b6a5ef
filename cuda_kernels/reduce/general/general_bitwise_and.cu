// general_bitwise_and: the bitwise and of bools and integers of any layout.
#define GR_GENERAL_OP(...) GR_TAKES_BITS(bitwise_and, BitwiseAnd, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
