// general_dot: adds up the products of the elements of two vectors, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_PAIR(dot, Dot, dtype, In)
#include "reduce/general/instantiate.cuh"
