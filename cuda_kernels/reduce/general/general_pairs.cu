// general_average, general_vecdot: pairs of vectors of floats, whatever their layout.
#include "reduce/floats.cuh"
#include "reduce/general/instantiate.cuh"
#include "reduce/ops/pairs.cuh"

#define GR_AVERAGE(dtype, In) GR_TAKES_TWO(average, Average, dtype, In)
GR_REALS(GR_AVERAGE)
GR_COMPLEXES(GR_AVERAGE)
#define GR_VECDOT(dtype, In) GR_TAKES_TWO(vecdot, VecDot, dtype, In)
GR_COMPLEXES(GR_VECDOT)
