// general_argmax: the position of the first maximum, of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(argmax, ArgMax, dtype, In)
#include "reduce/general/instantiate.cuh"
