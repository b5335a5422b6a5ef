// v8: 16-byte vector loads.
//
// What v7 still cost: a load instruction for every 4 bytes per lane.
// The change: each load brings 16 bytes (four float, two double), and the grid is as large as the device can
// hold at once, so that no block waits for another to finish.
// What limits it now: the memory itself, and few loads in flight a thread.
// Where it shows: global-load requests, a quarter of v7's for 4-byte elements; the sectors stay the same.
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
