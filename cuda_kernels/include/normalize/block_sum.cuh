// Reductions whose result all threads of a row get: by shuffles in a warp, then through shared memory.
#pragma once

#include "normalize/exponential.cuh"
#include "normalize/params.h"

namespace gr::normalize {

// The threads of a row are a power of two of lanes, or the block. The order of the operands is that of a
// butterfly, so that all threads get the same bits.
template <class Acc> class RowReducer {
  public:
    struct Shared {
        Acc warps[2][GR_NORMALIZE_MAX_THREADS / 32];
    };

    explicit __device__ RowReducer(Shared *shared) : shared(shared), slot(0) {
    }
    template <class F> __device__ Acc reduce(Acc x, F combine) {
        if (blockDim.x < 32)
            return butterfly<16>(x, blockDim.x, combine);
        x = butterfly<16>(x, 32, combine);
        if (blockDim.x == 32)
            return x;
        // A slot is written again after the barrier of the other one, when all threads have read it.
        const unsigned count = blockDim.x / 32;
        if (threadIdx.x % 32 == 0)
            shared->warps[slot][threadIdx.x / 32] = x;
        __syncthreads();
        x = shared->warps[slot][threadIdx.x % count];
        slot ^= 1;
        return butterfly<GR_NORMALIZE_MAX_THREADS / 64>(x, count, combine);
    }
    __device__ Acc sum(Acc x) {
        return reduce(x, [](Acc a, Acc b) { return a + b; });
    }
    // The maximum of what is not NaN.
    __device__ Acc max(Acc x) {
        return reduce(x, [](Acc a, Acc b) { return max_of(a, b); });
    }

  private:
    Shared *shared;
    unsigned slot;

    // Of the threads of a warp, each `lanes` of them by themselves, at most twice FIRST.
    template <unsigned FIRST, class F> static __device__ Acc butterfly(Acc x, unsigned lanes, F combine) {
#pragma unroll
        for (unsigned offset = FIRST; offset > 0; offset /= 2)
            if (offset < lanes)
                x = combine(x, __shfl_xor_sync(0xffffffffu, x, offset));
        return x;
    }
};

} // namespace gr::normalize
