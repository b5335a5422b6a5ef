// v7: warp shuffle.
//
// What v6 still cost: every step of the tree went through shared memory, with a barrier between.
// The change: the lanes of a warp exchange registers by __shfl_down_sync. Each warp needs one word of shared
// memory for its result, the first warp reduces these, and the block has two barriers in all. The block may
// have any whole number of warps, a power of two or not.
// What limits it now: each load has 4 bytes per lane, so many load instructions are needed to saturate
// memory.
// Where it shows: shared-memory wavefronts (one per warp) and barriers; the time hardly changes, because
// memory was the limit.
#include <cstdint>

#include "reduce/ladder/block_reduce.cuh"

using namespace gr::reduce::ladder;

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    const uint64_t step = uint64_t(gridDim.x) * (2 * blockDim.x);

    Acc x = Op::identity();
    for (uint64_t i = uint64_t(blockIdx.x) * (2 * blockDim.x) + threadIdx.x; i < n; i += step) {
        x = Op::combine(x, in[i]);
        if (i + blockDim.x < n)
            x = Op::combine(x, in[i + blockDim.x]);
    }

    x = block_reduce<Op>(x);
    if (threadIdx.x == 0)
        out[blockIdx.x] = x;
}

#define GR_RUNG v7
#include "reduce/ladder/instantiate.cuh"
