// v4_published: the last warp unrolled as most texts print it. Racy: for study only.
//
// `volatile` makes every access real and in program order for one lane, and the authors relied on the 32
// lanes running in lockstep. Since Volta, the lanes of a warp may diverge, so one lane can overwrite a word
// that another has not read yet. Compare v4, which puts __syncwarp between reads and writes. Where it shows:
// compute-sanitizer's racecheck reports it; a simulator in lockstep returns the correct sum.
#include <cstdint>

#include "common/shared_array.cuh"

using namespace gr::common;

template <class Op, class Acc> __device__ void last_warp(volatile Acc *slots, unsigned t) {
    slots[t] = Op::combine(slots[t], slots[t + 32]);
    slots[t] = Op::combine(slots[t], slots[t + 16]);
    slots[t] = Op::combine(slots[t], slots[t + 8]);
    slots[t] = Op::combine(slots[t], slots[t + 4]);
    slots[t] = Op::combine(slots[t], slots[t + 2]);
    slots[t] = Op::combine(slots[t], slots[t + 1]);
}

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

    for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
        if (t < stride)
            slots[t] = Op::combine(slots[t], slots[t + stride]);
        __syncthreads();
    }
    if (t < 32)
        last_warp<Op, Acc>(slots, t);
    if (t == 0)
        out[blockIdx.x] = slots[0];
}

#define GR_RUNG v4_published
#define GR_RUNG_OPS ADDITION
#include "reduce/ladder/instantiate.cuh"
