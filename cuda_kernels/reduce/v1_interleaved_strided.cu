// v1: interleaved addressing with a strided index.
//
// What v0 still cost: every warp took part in every round with a few lanes, and paid for a modulo.
// The change: number the pairs, not the threads. Thread t adds the t-th pair, so the first threads work and
// whole warps become idle together.
// What limits it now: in a round with stride s, the lanes of a warp access words 2s apart, which are in the
// same few of the 32 banks of shared memory; the accesses are serialized.
// Where it shows: shared-memory wavefronts beyond the ideal number (bank conflicts).
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

    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned left = 2 * stride * t;
        if (left < blockDim.x)
            slots[left] = Op::combine(slots[left], slots[left + stride]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = slots[0];
}

#define GR_RUNG v1
#include "reduce/ladder/instantiate.cuh"
