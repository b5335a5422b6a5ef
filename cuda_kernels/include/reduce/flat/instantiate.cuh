// The flat kernels of one operator, flat_<op>_<dtype> and ring_<op>_<dtype>, for each dtype that it takes.
// The file that includes this one defines GR_FLAT_OP(dtype, In, kind) with one of the macros below, or uses
// them for some dtypes by itself.
#include "common/entry.cuh"
#include "reduce/accumulate.cuh"
#include "reduce/flat/flat_tma.cuh"

using namespace gr::reduce;

#define GR_FLAT(kernel, threads, op, dtype, ...)                                                             \
    GR_ENTRY((threads, 1), kernel##_##op##_##dtype, gr_flat_params, __VA_ARGS__)

#ifdef GR_HOPPER
#define GR_RING(op, F, dtype, In)                                                                            \
    GR_FLAT(ring, GR_RING_THREADS, op, dtype, ring<VectorAccumulator<F<In>, In>, In>)
#else
#define GR_RING(op, F, dtype, In)
#endif

#define GR_TAKES_PAIR(op, F, dtype, In, ...)                                                                 \
    GR_FLAT(flat, GR_FLAT_MAX_THREADS, op, dtype, flat<VectorAccumulator<F<In>, In>, In, true>)
#define GR_TAKES_FLAT(op, F, dtype, In)                                                                      \
    GR_FLAT(flat, GR_FLAT_MAX_THREADS, op, dtype, flat<VectorAccumulator<F<In>, In>, In, false>)
#define GR_TAKES_ALL(op, F, dtype, In, ...)                                                                  \
    GR_TAKES_FLAT(op, F, dtype, In)                                                                          \
    GR_RING(op, F, dtype, In)

#define GR_TAKES_BITS(op, F, dtype, In, kind) GR_TAKES_BITS_##kind(op, F, dtype, In)
#define GR_TAKES_BITS_BITS GR_TAKES_ALL
#define GR_TAKES_BITS_REAL(...)
#define GR_TAKES_BITS_COMPLEX(...)

#ifdef GR_FLAT_OP
#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope, bytes) GR_FLAT_OP(dtype, In, kind)
#include "base/dtypes.def"
#undef GR_DTYPE
#endif
