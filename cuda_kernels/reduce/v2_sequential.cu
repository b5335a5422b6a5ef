// v2: sequential addressing.
//
// What v1 still cost: bank conflicts, because the words of one round were 2s apart.
// The change: start with the largest stride and halve it. Thread t adds word t + stride to word t, so
// neighbouring lanes access neighbouring words and each bank serves one lane.
// What limits it now: half of the threads only load their element; in each later round half of the others
// stop, yet the whole block waits at every barrier.
// Where it shows: warp instructions and barriers per element; there are no bank conflicts.
#include <cstdint>

#include "common/shared_array.cuh"

using namespace gr::common;

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    Acc *slots = shared_array<Acc>();
    const unsigned t = threadIdx.x;
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + t;

    Acc x = Op::identity();
    if (i < n)
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

#define GR_RUNG v2
#include "reduce/ladder/instantiate.cuh"
