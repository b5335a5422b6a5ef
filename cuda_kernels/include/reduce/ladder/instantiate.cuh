// Turns the template `reduce` of the rung that includes it last into the kernels that the host looks up:
// <rung>_<op>_<dtype>, one for each operator of its set and each dtype of scope LADDER that the operator
// takes, all with the same parameters. The rung defines
//   GR_RUNG            its name
//   GR_RUNG_OPS        its set of operators, a column of ops.def, unless that is TREE
//   GR_TEMPLATE_BLOCK  when its block size is a template parameter; its entries then end in _b<block>
//   GR_SINGLE_PASS     when it also takes memory for block sums and a ticket, and leaves one result
#include <cstdint>

#include "reduce/ladder/ops.cuh"
#include "reduce/ops.def"

using namespace gr::reduce::ladder;

// Their names: the arguments are expanded before they are joined.
#define GR_NAME(...) GR_JOINED(__VA_ARGS__)
#define GR_JOINED(rung, op, dtype, suffix) rung##_##op##_##dtype##suffix

#ifdef GR_TEMPLATE_BLOCK
#define GR_KERNEL(op, Op, dtype, In, Acc, block)                                                             \
    extern "C" __global__ void __launch_bounds__(block)                                                      \
        GR_NAME(GR_RUNG, op, dtype, _b##block)(const In *in, Acc *out, uint64_t n) {                         \
        reduce<Op<Acc>, In, Acc, block>(in, out, n);                                                         \
    }
#define GR_KERNELS(op, Op, dtype, In, Acc)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 64)                                                                    \
    GR_KERNEL(op, Op, dtype, In, Acc, 128)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 256)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 512)                                                                   \
    GR_KERNEL(op, Op, dtype, In, Acc, 1024)
#elif defined(GR_SINGLE_PASS)
#define GR_KERNELS(op, Op, dtype, In, Acc)                                                                   \
    extern "C" __global__ void __launch_bounds__(1024) GR_NAME(GR_RUNG, op, dtype, )(                        \
        const In *in, Acc *out, uint64_t n, Acc *block_sums, unsigned *ticket) {                             \
        reduce<Op<Acc>, In, Acc>(in, out, n, block_sums, ticket);                                            \
    }
#else
#define GR_KERNELS(op, Op, dtype, In, Acc)                                                                   \
    extern "C" __global__ void __launch_bounds__(1024)                                                       \
        GR_NAME(GR_RUNG, op, dtype, )(const In *in, Acc *out, uint64_t n) {                                  \
        reduce<Op<Acc>, In, Acc>(in, out, n);                                                                \
    }
#endif

// Whether the rung's set has an operator: its column of ops.def.
#ifndef GR_RUNG_OPS
#define GR_RUNG_OPS TREE
#endif
#define GR_IN_SET(set, tree, addition, library) GR_IN_SET_(set, tree, addition, library)
#define GR_IN_SET_(set, tree, addition, library) GR_IN_##set(tree, addition, library)
#define GR_IN_TREE(tree, addition, library) tree
#define GR_IN_ADDITION(tree, addition, library) addition
#define GR_IN_LIBRARY(tree, addition, library) library

// A partial result: what the sum of elements is kept in, the elements' own type, a truth value, or a
// ArgValue, which needs kernels of its own for later passes.
#define GR_MAKE_SUM(op, Op, dtype, In, Acc) GR_KERNELS(op, Op, dtype, In, Acc)
#define GR_MAKE_SAME(op, Op, dtype, In, Acc) GR_KERNELS(op, Op, dtype, In, In)
#define GR_MAKE_B8(op, Op, dtype, In, Acc) GR_KERNELS(op, Op, dtype, In, int32_t)
#define GR_MAKE_INDEX(op, Op, dtype, In, Acc)                                                                \
    GR_KERNELS(op, Op, dtype, In, ArgValue<In>)                                                              \
    GR_KERNELS(op, Op, dtype##_places, ArgValue<In>, ArgValue<In>)

// Kernels where the set has the operator (YES) and the operator takes dtypes of this kind; else nothing.
#define GR_WHEN(in_set, ...) GR_WHEN_(in_set, __VA_ARGS__)
#define GR_WHEN_(in_set, ...) GR_WHEN_##in_set(__VA_ARGS__)
#define GR_WHEN_NO(...)
#define GR_WHEN_YES(takes, kind, result, ...) GR_##takes##_TAKES_##kind(GR_MAKE_##result, __VA_ARGS__)
#define GR_ALL_TAKES_BITS(MAKE, ...) MAKE(__VA_ARGS__)
#define GR_ALL_TAKES_REAL(MAKE, ...) MAKE(__VA_ARGS__)
#define GR_BITS_TAKES_BITS(MAKE, ...) MAKE(__VA_ARGS__)
#define GR_BITS_TAKES_REAL(...)

#define GR_OP_ROW(op, Op, takes, result, identity, tree, addition, library, file, packed, state, traits,     \
                  dtype, In, Acc, kind)                                                                      \
    GR_WHEN(GR_IN_SET(GR_RUNG_OPS, tree, addition, library), takes, kind, result, op, Op, dtype, In, Acc)
#define GR_DTYPE_LADDER(dtype, In, Acc, kind) GR_OPS(GR_OP_ROW, dtype, In, Acc, kind)
#define GR_DTYPE_GENERAL(dtype, In, Acc, kind)

#define GR_DTYPE(dtype, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                  \
    GR_DTYPE_##scope(dtype, In, Acc, kind)
#include "base/dtypes.def"
#undef GR_DTYPE
