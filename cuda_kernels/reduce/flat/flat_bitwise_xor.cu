// flat_bitwise_xor: the kernels of bitwise_xor for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_BITS(bitwise_xor, BitwiseXor, dtype, In, kind)
#include "reduce/flat/instantiate.cuh"
