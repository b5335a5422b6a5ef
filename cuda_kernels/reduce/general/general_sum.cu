// general_sum: the sum of elements of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(sum, Sum, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
