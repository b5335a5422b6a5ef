// flat_count_nonzero: the kernels of count_nonzero for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(count_nonzero, CountNonzero, dtype, In)
#include "reduce/flat/instantiate.cuh"
