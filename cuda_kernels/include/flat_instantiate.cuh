// The flat kernels of one operator, flat_<op>_<dtype> and ring_<op>_<dtype>, for each dtype it takes. The
// file that includes this defines GR_FLAT_OP(dtype, In, kind) with one of the macros below.
#include "absorb.cuh"
#include "ring.cuh"

// Blocks that an SM must have room for. Where two fit, the next kernel's first blocks come in beside this
// one's last; most functors need no more than the 32 registers a thread that this leaves.
template <class F> constexpr unsigned flat_blocks = 1;
template <> constexpr unsigned flat_blocks<FlatSum<float>> = 2;
template <> constexpr unsigned flat_blocks<FlatMean<float>> = 2;

#define GR_ENTRY(name, threads, blocks, ...)                                                                 \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const gr_flat_params p) {             \
        __VA_ARGS__(p);                                                                                      \
    }

#ifdef GR_HOPPER
#define GR_RING(op, F, dtype, In) GR_ENTRY(ring_##op##_##dtype, GR_RING_THREADS, 1, ring<F<In>, In>)
#else
#define GR_RING(op, F, dtype, In)
#endif

#define GR_FLAT_ALL(op, F, dtype, In)                                                                        \
    GR_ENTRY(flat_##op##_##dtype, GR_FLAT_MOST_THREADS, flat_blocks<F<In>>, flat<F<In>, In, false>)          \
    GR_RING(op, F, dtype, In)
#define GR_FLAT_PAIR(op, F, dtype, In)                                                                       \
    GR_ENTRY(flat_##op##_##dtype, GR_FLAT_MOST_THREADS, 1, flat<F<In>, In, true>)

#define GR_FLAT_BITS(op, F, dtype, In, kind) GR_FLAT_BITS_##kind(op, F, dtype, In)
#define GR_FLAT_BITS_BITS GR_FLAT_ALL
#define GR_FLAT_BITS_NUMBER(op, F, dtype, In)

#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope) GR_FLAT_OP(dtype, In, kind)
#include "dtypes.def"
#undef GR_DTYPE
