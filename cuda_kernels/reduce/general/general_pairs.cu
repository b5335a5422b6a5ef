// general_average, general_vecdot: pairs of vectors of floats, whatever their layout.
#include "reduce/general/instantiate.cuh"
#include "reduce/ops/pairs.cuh"

template <class In> constexpr bool is_ordered<Average<In>> = true;
template <class In> constexpr bool is_ordered<VecDot<In>> = true;

#define GR_REAL_ROW(dtype, In) GR_TAKES_TWO(average, Average, dtype, In, true)
#define GR_COMPLEX_ROW(dtype, In)                                                                            \
    GR_TAKES_TWO(average, Average, dtype, In, true)                                                          \
    GR_TAKES_TWO(vecdot, VecDot, dtype, In, false)
#include "reduce/floats.cuh"
