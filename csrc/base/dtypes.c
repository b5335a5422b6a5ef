#include "base/dtypes.h"

const gr_dtype_row gr_dtypes[GR_DTYPE_COUNT] = {
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope)                                          \
    {#name, #numpy_name, sizeof(In), GR_KIND_##kind, GR_DTYPE_##sum, GR_DTYPE_##mean, GR_SCOPE_##scope},
#include "base/dtypes.def"
#undef GR_DTYPE
};
