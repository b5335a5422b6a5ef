// general_dot: the dot product of two vectors of any layout.
#define GR_GENERAL_OP(...) GR_TAKES_PAIR(dot, Dot, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
