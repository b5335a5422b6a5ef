// general_max: the maximum of elements of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(max, Max, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
