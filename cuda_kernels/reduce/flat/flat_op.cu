// flat_<op>: the kernels of one operator for contiguous elements and one result. The build compiles this file
// for each operator of ops.def that takes all dtypes, or those of kind BITS, and has no file of its own.
#define GR_FLAT_OP(dtype, ...)                                                                               \
    GR_UNLESS_SHARED(GR_SHARES, dtype)(GR_TAKES(GR_OP, GR_FUNCTOR, dtype, __VA_ARGS__))
#include "reduce/flat/instantiate.cuh"
