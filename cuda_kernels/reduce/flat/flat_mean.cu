// flat_mean: the kernels of mean for contiguous elements and one result.
#define GR_FLAT_OP(dtype, In, kind) GR_FLAT_ALL(mean, Mean, dtype, In)
#include "reduce/flat/instantiate.cuh"
