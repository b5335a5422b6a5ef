// general_count_nonzero: the number of elements that are not zero, of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(count_nonzero, CountNonzero, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
