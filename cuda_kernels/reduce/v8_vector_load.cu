// v8: 16-byte vector loads.
//
// What v7 still cost: one load instruction for every 4 bytes per lane.
// The change: each load has 16 bytes (four floats, two doubles), and the grid has the number of blocks that
// the device holds at once, so no block waits for another to finish.
// What limits it now: memory bandwidth, and few loads in flight per thread.
// Where it shows: global-load requests, a quarter of v7's for 4-byte elements; the number of sectors is
// unchanged.
#include <cstdint>

#include "reduce/ladder/block_reduce.cuh"
#include "reduce/ladder/vector_loads.cuh"

using namespace gr::reduce::ladder;

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    const Acc x = block_reduce<Op>(accumulate_share<Op, Acc>(in, n));
    if (threadIdx.x == 0)
        out[blockIdx.x] = x;
}

#define GR_RUNG v8
#include "reduce/ladder/instantiate.cuh"
