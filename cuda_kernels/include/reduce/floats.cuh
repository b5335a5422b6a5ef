// Expands GR_REAL_ROW(dtype, In) and GR_COMPLEX_ROW(dtype, In) for the dtypes of these kinds. The file that
// includes this one last defines both.
#define GR_BITS_ROW(dtype, In)
#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope, bytes) GR_##kind##_ROW(dtype, In)
#include "base/dtypes.def"
#undef GR_DTYPE
