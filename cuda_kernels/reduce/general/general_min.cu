// general_min: the minimum of elements of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(min, Min, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
