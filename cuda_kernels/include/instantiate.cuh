// Turns the template `reduce` of the rung that includes it last into the kernels that the host looks up:
// <rung>_<op>_<dtype>, one for each row of scope LADDER in ops.def and dtypes.def, all with the same
// parameters. The rung defines GR_RUNG, and GR_TEMPLATE_BLOCK when its block size is a template parameter;
// its entries then end in _b<block>.
#include <cstdint>

#include "ops.cuh"
#include "ops.def"

#define GR_ENTRY(rung, op, dtype) GR_ENTRY_(rung, op, dtype)
#define GR_ENTRY_(rung, op, dtype) rung##_##op##_##dtype
#define GR_ENTRY_B(rung, op, dtype, block) GR_ENTRY_B_(rung, op, dtype, block)
#define GR_ENTRY_B_(rung, op, dtype, block) rung##_##op##_##dtype##_b##block

#ifdef GR_TEMPLATE_BLOCK
#define GR_KERNEL(op, Op, dtype, In, Acc, block)                                                             \
    extern "C" __global__ void __launch_bounds__(block)                                                      \
        GR_ENTRY_B(GR_RUNG, op, dtype, block)(const In *in, Acc *out, uint64_t n) {                          \
        reduce<Op<Acc>, In, Acc, block>(in, out, n);                                                         \
    }
#define GR_KERNELS(op, Op, dtype, In, Acc)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 64)                                                                    \
    GR_KERNEL(op, Op, dtype, In, Acc, 128)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 256)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 512)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 1024)
#else
#define GR_KERNELS(op, Op, dtype, In, Acc)                                                                   \
    extern "C" __global__ void __launch_bounds__(1024)                                                       \
        GR_ENTRY(GR_RUNG, op, dtype)(const In *in, Acc *out, uint64_t n) {                                   \
        reduce<Op<Acc>, In, Acc>(in, out, n);                                                                \
    }
#endif

// Rows of scope GENERAL expand to nothing.
#define GR_OP_LADDER(op, Op, dtype, In, Acc) GR_KERNELS(op, Op, dtype, In, Acc)
#define GR_OP_GENERAL(op, Op, dtype, In, Acc)
#define GR_OP_ROW(op, Op, takes, result, scope, dtype, In, Acc) GR_OP_##scope(op, Op, dtype, In, Acc)
#define GR_DTYPE_LADDER(dtype, In, Acc) GR_OPS(GR_OP_ROW, dtype, In, Acc)
#define GR_DTYPE_GENERAL(dtype, In, Acc)

#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope) GR_DTYPE_##scope(dtype, In, Acc)
#include "dtypes.def"
#undef GR_DTYPE
