// general_argmax: finds the first largest of elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(argmax, ArgMax, dtype, In)
#include "reduce/general/instantiate.cuh"
