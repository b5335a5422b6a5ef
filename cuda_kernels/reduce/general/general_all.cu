// general_all: whether all elements are true, of any dtype and layout.
#define GR_GENERAL_OP(...) GR_TAKES_ALL(all, All, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
