// general_<op>: the kernels of one operator for elements of any layout. The build compiles this file for each
// operator of ops.def that takes all dtypes, or those of kind BITS, and has no file of its own.
#define GR_GENERAL_OP(...) GR_TAKES(GR_OP, GR_FUNCTOR, __VA_ARGS__)
#include "reduce/general/instantiate.cuh"
