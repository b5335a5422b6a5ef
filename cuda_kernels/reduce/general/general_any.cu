// general_any: whether any element is true, of any dtype and layout.
#define GR_GENERAL_OP(dtype, In, kind) GR_TAKES_ALL(any, Any, dtype, In)
#include "reduce/general/instantiate.cuh"
