// v6: several elements per thread.
//
// What v5 still cost: a block, with its launch, its tree and its barriers, for every two elements per thread.
// The change: a fixed number of blocks loops over the whole array. A thread adds its elements in a register,
// two per iteration, and only then the block runs its one tree, whose cost no longer grows with n. The grid
// is an argument of the plan, never read from the device, so the same n gives the same bits.
// What limits it now: reading memory takes nearly all of the time; the tree at the end is latency.
// Where it shows: DRAM throughput; shared-memory accesses and barriers almost vanish.
#include <cstdint>

#include "reduce/ladder/unrolled_tree.cuh"

using namespace gr::reduce::ladder;

template <class Op, class In, class Acc, unsigned Block>
__device__ void reduce(const In *in, Acc *out, uint64_t n) {
    __shared__ Acc slots[Block];
    const unsigned t = threadIdx.x;
    const uint64_t step = uint64_t(gridDim.x) * (2 * Block);

    Acc x = Op::identity();
    for (uint64_t i = uint64_t(blockIdx.x) * (2 * Block) + t; i < n; i += step) {
        x = Op::combine(x, in[i]);
        if (i + Block < n)
            x = Op::combine(x, in[i + Block]);
    }

    x = unrolled_tree<Op, Block>(slots, t, x);
    if (t == 0)
        out[blockIdx.x] = x;
}

#define GR_RUNG v6
#define GR_TEMPLATE_BLOCK
#include "reduce/ladder/instantiate.cuh"
