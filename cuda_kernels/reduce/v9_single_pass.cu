// v9: single pass.
//
// What v8 still cost: a second launch, only to combine the results of the blocks.
// The change: each block stores its result in memory and draws a ticket. When a block draws the last ticket,
// all results are in memory, and it combines them in the order of the blocks, so the bits do not
// depend on which block is last. What limits it now: few loads in flight per thread, as in v8; and at the end
// the ticket, a sequence of accesses to the L2 cache: write, fence, draw, fence, read. It costs as much as
// the launch that it saves. One element takes 2.1 us on an H200, v8 needs 1.1; 2^12 take 2.3 in both, 2^25
// 35.1 compared with 34.5 (rung_constants_h200.json).
// Where it shows: one launch instead of two; atomic operations, one per block.
#include <cstdint>

#include "reduce/ladder/last_block.cuh"
#include "reduce/ladder/vector_loads.cuh"

using namespace gr::reduce::ladder;

template <class Op, class In, class Acc>
__device__ void reduce(const In *in, Acc *out, uint64_t n, Acc *block_sums, unsigned *ticket) {
    const Acc x = block_reduce<Op>(accumulate_share<Op, Acc>(in, n));
    last_block<Op>(x, blockIdx.x, gridDim.x, out, block_sums, ticket);
}

#define GR_RUNG v9
#define GR_SINGLE_PASS
#include "reduce/ladder/instantiate.cuh"
