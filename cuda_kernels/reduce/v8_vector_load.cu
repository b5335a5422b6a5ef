// v8: 16-byte vector loads.
//
// What v7 still cost: a load instruction for every 4 bytes per lane.
// The change: each load brings 16 bytes (four float, two double), and the grid is as large as the device can
// hold at once, so that no block waits for another to finish.
// What limits it now: the memory itself, and few loads in flight a thread.
// Where it shows: global-load requests, a quarter of v7's for 4-byte elements; the sectors stay the same.
#include <cstdint>

#include "reduce/ladder/block_reduce.cuh"

template <class In> struct alignas(16) Vec16 {
    static constexpr unsigned length = 16 / sizeof(In);
    In at[length];
};

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
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
    // The n % length elements behind the last whole vector go to the first threads of the grid.
    if (first < n % Vec::length)
        x = Op::combine(x, in[count * Vec::length + first]);

    x = block_reduce<Op>(x);
    if (threadIdx.x == 0)
        out[blockIdx.x] = x;
}

#define GR_RUNG v8
#include "reduce/ladder/instantiate.cuh"
