// v0: interleaved addressing with a modulo test, the tree that textbooks draw first.
//
// The idea: one element per thread in shared memory. In each round, the threads whose index is a multiple of
// twice the stride add the element one stride away, and the stride doubles.
// What limits it: the working threads are scattered, so every warp executes every round with fewer and fewer
// active lanes (divergence), and `%` by a run-time value takes some twenty instructions.
// Where it shows: warp instructions per element, and mean active lanes per warp.
#include <cstdint>

#include "common/shared_array.cuh"

using namespace gr::common;

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    Acc *slots = shared_array<Acc>();
    const unsigned t = threadIdx.x;
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + t;

    Acc x = Op::identity(); // threads past the end keep it, so the tail needs no special case below
    if (i < n)
        x = Op::combine(x, in[i]);
    slots[t] = x;
    __syncthreads();

    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0)
            slots[t] = Op::combine(slots[t], slots[t + stride]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}

#define GR_RUNG v0
#include "reduce/ladder/instantiate.cuh"
