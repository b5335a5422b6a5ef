// general_argmax: the position of the first maximum, of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(argmax, ArgMax, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
