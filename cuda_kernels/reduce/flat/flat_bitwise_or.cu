// flat_bitwise_or: the kernels of bitwise_or for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_BITS(bitwise_or, BitwiseOr, dtype, In, kind)
#include "reduce/flat/instantiate.cuh"
