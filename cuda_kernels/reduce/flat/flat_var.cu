// flat_var: the kernels of var for contiguous elements and one result.
#include "reduce/ops/variance.cuh"

#include "reduce/flat/instantiate.cuh"

// Variances of integers of up to 32 bits are exact.
template <class In>
constexpr bool order_counts<Var<In>> = !std::is_integral<Wide<In>>::value || sizeof(In) > 4;

#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope, bytes) GR_TAKES_ALL(var, Var, dtype, In)
#include "base/dtypes.def"
#undef GR_DTYPE
