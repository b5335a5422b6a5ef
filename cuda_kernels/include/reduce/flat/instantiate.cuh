// The flat kernels of one operator, flat_<op>_<dtype> and ring_<op>_<dtype>, for each dtype that it takes.
// They are in two files: flat_<op> is for all devices, flat_<op>_90 has what compute capability 9.0 has
// instructions for: `ring`, and `flat` for operators and dtypes that use these. GR_FLAT_DIFFERS says which, 1
// or 0. The file that includes this one defines GR_FLAT_OP(dtype, In, kind) with one of the macros below, or
// uses them for some dtypes by itself.
#include "common/entry.cuh"
#include "reduce/accumulate.cuh"
#include "reduce/flat/flat_tma.cuh"
#include "reduce/shared_kernels.cuh"

using namespace gr::reduce;

// Whether the bits of a result depend on the order of the elements, which then follows from their number
// alone. The order of dot products follows from the address of the first vector.
template <class F> constexpr bool order_counts = false;
template <class In> constexpr bool order_counts<Sum<In>> = !std::is_integral<Wide<In>>::value;
template <class In> constexpr bool order_counts<Prod<In>> = !std::is_integral<Wide<In>>::value;
template <class In> constexpr bool order_counts<Mean<In>> = !std::is_integral<Wide<In>>::value;
#define GR_FLAT(kernel, threads, op, dtype, ...)                                                             \
    GR_ENTRY((threads, 1), kernel##_##op##_##dtype, gr_flat_params, __VA_ARGS__)

#ifdef GR_HOPPER
#define GR_RING(op, F, dtype, In)                                                                            \
    GR_FLAT(ring, GR_RING_THREADS, op, dtype, ring<VectorAccumulator<F<In>, In>, In, order_counts<F<In>>>)
#else
#define GR_RING(op, F, dtype, In)
#endif

#ifndef GR_FLAT_DIFFERS
#define GR_FLAT_DIFFERS 0
#endif
#if !defined(GR_HOPPER) || GR_FLAT_DIFFERS
#define GR_IN_THIS_FILE(dtype) GR_KEEP
#else
#define GR_IN_THIS_FILE(dtype) GR_CONVERTED_##dtype
#define GR_CONVERTED_f32 GR_DROP
#define GR_CONVERTED_f64 GR_DROP
#define GR_CONVERTED_i32 GR_DROP
#define GR_CONVERTED_i64 GR_DROP
#define GR_CONVERTED_b8 GR_DROP
#define GR_CONVERTED_i8 GR_DROP
#define GR_CONVERTED_i16 GR_DROP
#define GR_CONVERTED_u8 GR_DROP
#define GR_CONVERTED_u16 GR_DROP
#define GR_CONVERTED_u32 GR_DROP
#define GR_CONVERTED_u64 GR_DROP
#define GR_CONVERTED_f16 GR_DROP
#define GR_CONVERTED_bf16 GR_KEEP
#define GR_CONVERTED_c64 GR_DROP
#define GR_CONVERTED_c128 GR_DROP
#endif

#define GR_TAKES_PAIR(op, F, dtype, In, ...)                                                                 \
    GR_IN_THIS_FILE(dtype)                                                                                   \
    (GR_FLAT(flat, GR_FLAT_MAX_THREADS, op, dtype, flat<VectorAccumulator<F<In>, In>, In, true, false>))
#define GR_TAKES_FLAT(op, F, dtype, In)                                                                      \
    GR_IN_THIS_FILE(dtype)                                                                                   \
    (GR_FLAT(flat, GR_FLAT_MAX_THREADS, op, dtype,                                                           \
             flat<VectorAccumulator<F<In>, In>, In, false, order_counts<F<In>>>))
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
