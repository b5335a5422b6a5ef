// general_all: whether all elements are true, of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(all, All, dtype, In)
#include "reduce/general/instantiate.cuh"
