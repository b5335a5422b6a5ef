// v3: first add during load.
//
// What v2 still cost: half of the threads only copied an element to shared memory and then waited.
// The change: each thread loads two elements, one block size apart, and adds them in a register. Half as many
// blocks, and so half as many trees and barriers, cover the array.
// What limits it now: the last rounds need only one warp, but the whole block still loops and waits for it.
// Where it shows: barriers and warp instructions per element, both half of v2's.
#include <cstdint>

#include "common/shared_array.cuh"

using namespace gr::common;

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    Acc *slots = shared_array<Acc>();
    const unsigned t = threadIdx.x;
    const uint64_t i = uint64_t(blockIdx.x) * (2 * blockDim.x) + t;

    Acc x = Op::identity();
    if (i < n)
        x = Op::combine(x, in[i]);
    if (i + blockDim.x < n)
        x = Op::combine(x, in[i + blockDim.x]);
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

#define GR_RUNG v3
#include "reduce/ladder/instantiate.cuh"
