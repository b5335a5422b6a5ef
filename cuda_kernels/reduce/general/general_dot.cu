// general_dot: the dot product of two vectors of any layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_PAIR(dot, Dot, dtype, In)
#include "reduce/general/instantiate.cuh"
