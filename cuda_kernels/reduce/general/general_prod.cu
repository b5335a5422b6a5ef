// general_prod: the product of elements of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(prod, Prod, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
