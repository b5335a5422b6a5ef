// v4: the last warp unrolled.
//
// What v3 still cost: six rounds in which a single warp works still had the loop and the block barrier.
// The change: once 64 words are left, the first warp finishes alone, in six unrolled steps without block
// barriers. Its lanes do not run in lockstep by themselves (since Volta, each has its own program counter),
// so __syncwarp separates all reads from all writes; v4_published omits that.
// What limits it now: the loop above the last warp, with its compare and branch in every round.
// Where it shows: barriers per element, and warp instructions per element.
#include <cstdint>

#include "common/shared_array.cuh"

using namespace gr::common;

// Lanes past `stride` compute on slots that are no longer read: cheaper than a branch.
template <class Op, class Acc> __device__ Acc warp_step(Acc *slots, unsigned t, unsigned stride, Acc x) {
    x = Op::combine(x, slots[t + stride]);
    __syncwarp(); // all have read before anyone writes
    slots[t] = x;
    __syncwarp(); // all have written before anyone reads the next round
    return x;
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
    if (t < 32) {
        x = slots[t];
        x = warp_step<Op>(slots, t, 32, x);
        x = warp_step<Op>(slots, t, 16, x);
        x = warp_step<Op>(slots, t, 8, x);
        x = warp_step<Op>(slots, t, 4, x);
        x = warp_step<Op>(slots, t, 2, x);
        x = warp_step<Op>(slots, t, 1, x);
    }
    if (t == 0)
        out[blockIdx.x] = x;
}

#define GR_RUNG v4
#include "reduce/ladder/instantiate.cuh"
