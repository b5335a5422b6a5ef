// flat_bitwise_and: the kernels of bitwise_and for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_BITS(bitwise_and, BitwiseAnd, dtype, In, kind)
#include "reduce/flat/instantiate.cuh"
