// general_any: whether any element is true, of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(any, Any, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
