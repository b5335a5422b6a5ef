// general_all: asks whether all are true of elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(all, All, dtype, In)
#include "reduce/general/instantiate.cuh"
