// v9: single pass.
//
// What v8 still cost: a second launch, only to combine the results of the blocks.
// The change: each block leaves its result in memory and draws a ticket. The block that draws the last one
// knows that all results are there, and combines them, in the order of the blocks: the bits do not depend on
// which block is last. What limits it now: few loads in flight a thread, as in v8; and at the end the ticket,
// a chain of trips to the L2 cache: write, fence, draw, fence, read. It costs as much as the launch that it
// saves. One element takes 2.1 us on an H200, v8 needs 1.1; 2^12 take 2.3 in both, 2^25 35.1 against 34.5
// (rung_constants_h200.json).
// Where it shows: one launch instead of two; atomic operations, one a block.
#include <cstdint>

#include "reduce/ladder/block_reduce.cuh"

template <class In> struct alignas(16) Vec16 {
    static constexpr unsigned length = 16 / sizeof(In);
    In at[length];
};

template <class Op, class In, class Acc>
__device__ void reduce(const In *in, Acc *out, uint64_t n, Acc *block_sums, unsigned *ticket) {
    using Vec = Vec16<In>;
    const Vec *vectors = reinterpret_cast<const Vec *>(in);
    const uint64_t count = n / Vec::length;
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;

    Acc x = Op::identity();
    for (uint64_t i = first; i < count; i += step) {
        const Vec v = vectors[i];
#pragma unroll
        for (unsigned k = 0; k < Vec::length; ++k)
            x = Op::combine(x, v.at[k]);
    }
    if (first < n % Vec::length)
        x = Op::combine(x, in[count * Vec::length + first]);
    x = block_reduce<Op>(x);

    __shared__ bool last;
    if (threadIdx.x == 0) {
        block_sums[blockIdx.x] = x;
        __threadfence(); // whoever sees this ticket drawn sees the result, too
        // Counts up to gridDim.x - 1 and starts over at 0, so that the next launch finds it as this one did.
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence(); // no result is read before the ticket is drawn
    }
    __syncthreads();
    if (!last)
        return;

    x = Op::identity();
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        x = Op::combine(x, block_sums[i]);
    x = block_reduce<Op>(x);
    if (threadIdx.x == 0)
        *out = x;
}

#define GR_RUNG v9
#define GR_SINGLE_PASS
#include "reduce/ladder/instantiate.cuh"
