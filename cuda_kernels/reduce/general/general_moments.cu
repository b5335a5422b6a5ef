// general_moments: the first four moments of elements of any real dtype, of any layout; the planner uses no
// flat kernels for these.
#include "reduce/ops/moments.cuh"

#define GR_MOMENTS(dtype, In)                                                                                \
    GR_ROWS(moments, Moments, dtype, In)                                                                     \
    GR_TAKES_AXIS(moments, Moments, dtype, In)

#define GR_GENERAL_OP(dtype, In, kind) GR_MOMENTS_##kind(dtype, In)
#define GR_MOMENTS_BITS GR_MOMENTS
#define GR_MOMENTS_NUMBER(dtype, In) GR_MOMENTS_##dtype(In)
#define GR_MOMENTS_f32(In) GR_MOMENTS(f32, In)
#define GR_MOMENTS_f64(In) GR_MOMENTS(f64, In)
#define GR_MOMENTS_f16(In) GR_MOMENTS(f16, In)
#define GR_MOMENTS_bf16(In) GR_MOMENTS(bf16, In)
#define GR_MOMENTS_c64(In)
#define GR_MOMENTS_c128(In)
#include "reduce/general/instantiate.cuh"
