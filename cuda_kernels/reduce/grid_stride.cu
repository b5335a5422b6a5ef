// grid_stride: the tree of v2 behind a grid-stride loop, next to the ladder.
//
// The one idea of v6 alone, with nothing unrolled: it shows how far "several elements per thread" carries
// without the steps between. Compare v2 (the same tree for every 256 elements) and v6.
#include <cstdint>

#include "common/shared_array.cuh"

using namespace gr::common;

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    Acc *slots = shared_array<Acc>();
    const unsigned t = threadIdx.x;
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;

    Acc x = Op::identity();
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + t; i < n; i += step)
        x = Op::combine(x, in[i]);
    slots[t] = x;
    __syncthreads();

    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            slots[t] = Op::combine(slots[t], slots[t + stride]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}

#define GR_RUNG grid_stride
#include "reduce/ladder/instantiate.cuh"
