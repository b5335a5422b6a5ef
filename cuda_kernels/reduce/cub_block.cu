// cub_block: v8 with a library's block reduction, next to the ladder.
//
// The loop over the array is v8's. What the block does with its threads' results, v7's shuffles and its slot
// a warp, is left to cub::BlockReduce, of NVIDIA's CUB: headers only, compiled into this kernel. It takes the
// block size as a template parameter.
// What limits it: the memory, as in v8.
// Where it shows: next to nowhere, which is the point; compare the instructions a block with v8's.
//
// It also finds places, for argmin and argmax: partial results are then an element and where it lies.
#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "reduce/ladder/arg_value.cuh"
#include "reduce/ladder/ops.cuh"
#include "reduce/ladder/vector_loads.cuh"

using namespace gr::reduce::ladder;

// Our operators in the form that CUB calls; additions as its own, for which it has better code.
template <class Op> struct Function {
    template <class Acc> __device__ Acc operator()(Acc a, Acc b) const {
        return Op::combine(a, b);
    }
};
template <class Acc> struct Function<Sum<Acc>> : cuda::std::plus<> {};

template <class Op, class In, class Acc, unsigned block>
__device__ void reduce(const In *in, Acc *out, uint64_t n) {
    using Vec = Vec16<In>;
    const Vec *vectors = reinterpret_cast<const Vec *>(in);
    const uint64_t count = n / Vec::length;
    const uint64_t step = uint64_t(gridDim.x) * block;
    const uint64_t first = uint64_t(blockIdx.x) * block + threadIdx.x;

    Acc x = Op::identity();
    for (uint64_t i = first; i < count; i += step) {
        const Vec v = vectors[i];
#pragma unroll
        for (unsigned k = 0; k < Vec::length; ++k)
            x = Op::combine(x, Partial<Acc>::of(v.at[k], i * Vec::length + k));
    }
    // The n % length elements behind the last whole vector go to the first threads of the grid.
    if (first < n % Vec::length) {
        const uint64_t i = count * Vec::length + first;
        x = Op::combine(x, Partial<Acc>::of(in[i], i));
    }

    using BlockReduce = cub::BlockReduce<Acc, block>;
    __shared__ typename BlockReduce::TempStorage scratch;
    x = BlockReduce(scratch).Reduce(x, Function<Op>());
    if (threadIdx.x == 0)
        out[blockIdx.x] = x;
}

#define GR_RUNG cub_block
#define GR_RUNG_OPS LIBRARY
#define GR_TEMPLATE_BLOCK
#include "reduce/ladder/instantiate.cuh"
