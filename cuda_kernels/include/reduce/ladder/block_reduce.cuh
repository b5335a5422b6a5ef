// The block reduction by warp shuffles that v7 teaches, for the kernels after it.
#pragma once

namespace gr::reduce::ladder {

// The result is valid in lane 0. All 32 lanes must take part.
template <class Op, class Acc> __device__ Acc warp_reduce(Acc x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        x = Op::combine(x, __shfl_down_sync(0xffffffffu, x, offset));
    return x;
}

// The result is valid in thread 0. Right for any whole number of warps; may be called again at once.
template <class Op, class Acc> __device__ Acc block_reduce(Acc x) {
    __shared__ Acc warp_results[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    x = warp_reduce<Op>(x);
    __syncthreads(); // an earlier call may still be reading warp_results
    if (lane == 0)
        warp_results[warp] = x;
    __syncthreads();
    if (warp == 0)
        x = warp_reduce<Op>(lane < warps ? warp_results[lane] : Op::identity());
    return x;
}

} // namespace gr::reduce::ladder
