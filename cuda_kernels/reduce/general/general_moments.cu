// general_moments: the first four moments of elements of any real dtype, of any layout; the planner uses no
// flat kernels for these.
#include "reduce/ops/moments.cuh" // before the others: it has large States

#include "reduce/general/lanes.cuh"

namespace gr::reduce {
template <class In> constexpr bool is_ordered<Moments<In>> = true;
} // namespace gr::reduce

#define GR_MOMENTS(dtype, In)                                                                                \
    GR_ROWS(moments, Moments, dtype, In)                                                                     \
    GR_GENERAL(axis, 1, moments, dtype, reduce_axis<Moments<In>, FromElement<Moments<In>, In>>)

#define GR_GENERAL_OP(dtype, In, kind, bytes) GR_MOMENTS_##kind(dtype, In)
#define GR_MOMENTS_BITS GR_MOMENTS
#define GR_MOMENTS_REAL(dtype, In)                                                                           \
    GR_MOMENTS(dtype, In)                                                                                    \
    GR_PIECES(moments, Moments, dtype, In)                                                                   \
    GR_MASKED_PIECES(moments, Moments, dtype, In)
#define GR_MOMENTS_COMPLEX(dtype, In)
#include "reduce/general/instantiate.cuh"
GR_LAST(moments, Moments, f64, double)
