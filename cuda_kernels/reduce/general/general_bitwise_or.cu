// general_bitwise_or: the bitwise or of bools and integers of any layout.
#define GR_GENERAL_OP(...) GR_TAKES_BITS(bitwise_or, BitwiseOr, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
