// general_argmin: the position of the first minimum, of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(argmin, ArgMin, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
