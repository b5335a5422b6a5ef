// general_argmin: the position of the first minimum, of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(argmin, ArgMin, dtype, In)
#include "reduce/general/instantiate.cuh"
