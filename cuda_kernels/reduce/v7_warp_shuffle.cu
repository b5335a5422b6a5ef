// v7: warp shuffle.
//
// What v6 still cost: every step of the tree went out to shared memory and back, with a barrier between.
// The change: the lanes of a warp hand registers to one another with __shfl_down_sync. Each warp needs one
// slot of shared memory for its result, the first warp reduces those, and the block meets at two barriers in
// all. The block may have any whole number of warps, a power of two or not.
// What limits it now: each load brings 4 bytes per lane, which needs many load instructions to keep the
// memory busy.
// Where it shows: shared-memory wavefronts (one a warp) and barriers; time hardly moves, memory was the
// limit.
#include <cstdint>

// The result is valid in lane 0. All 32 lanes must take part.
template <class Op, class Acc> __device__ Acc warp_reduce(Acc x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        x = Op::combine(x, __shfl_down_sync(0xffffffffu, x, offset));
    return x;
}

// The result is valid in thread 0.
template <class Op, class Acc> __device__ Acc block_reduce(Acc x) {
    __shared__ Acc warp_results[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    x = warp_reduce<Op>(x);
    __syncthreads(); // when called twice in a row: the first call may still be reading warp_results
    if (lane == 0)
        warp_results[warp] = x;
    __syncthreads();
    if (warp == 0)
        x = warp_reduce<Op>(lane < warps ? warp_results[lane] : Op::identity());
    return x;
}

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
