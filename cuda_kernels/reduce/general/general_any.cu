// general_any: asks whether any is true of elements of any dtype, whatever their layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(any, Any, dtype, In)
#include "reduce/general/instantiate.cuh"
