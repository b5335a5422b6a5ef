// v11: thread-block clusters.
//
// What v10 still cost: every block writes its result to memory and draws a ticket.
// The change: up to eight blocks form a cluster, and can write to each other's shared memory. Each block
// passes its result to the first block of the cluster without a round trip to the L2 cache, and only that
// block draws a ticket. If one cluster is the whole grid, there is no ticket: 2^13 floats take 2.0 us on an
// H200, v10 2.4.
// What limits it now: clusters that fill the device are slow. 2^28 floats take 259 us, with half as many
// blocks 258, with clusters of two (grid_size=1054) 241, and in v10 240. So this rung is faster for up to
// some ten thousand elements, and slower for more (rung_constants_h200.json).
// Where it shows: atomic operations and stores to memory, one per cluster; cluster barriers.
#include "common/cluster.cuh"
#include "reduce/ladder/last_block.cuh"
#include "reduce/ladder/many_loads.cuh"

using namespace gr::common;
using namespace gr::reduce::ladder;

constexpr unsigned LOADS = 4, MOST_BLOCKS = 8;

template <class Op, class In, class Acc>
__device__ void reduce(const In *in, Acc *out, uint64_t n, Acc *block_sums, unsigned *ticket) {
    __shared__ Acc results[MOST_BLOCKS];
    const unsigned blocks = cluster_size(), rank = blockIdx.x % blocks; // they are neighbours
    const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const AlignedSplit<In> parts(in, n);

    cluster_arrive();
    Acc x = accumulate_all<Op, LOADS>(Op::identity(), parts, first, uint64_t(gridDim.x) * blockDim.x);
    x = block_reduce<Op>(accumulate_ends<Op>(x, parts, in, n, first));
    cluster_wait(); // the first block has started: its shared memory exists
    if (threadIdx.x == 0)
        *in_block(&results[rank], 0) = x;
    cluster_arrive();
    cluster_wait();
    if (rank != 0)
        return;

    if (threadIdx.x < 32)
        x = warp_reduce<Op>(threadIdx.x < blocks ? results[threadIdx.x] : Op::identity());
    if (gridDim.x > blocks)
        last_block<Op>(x, blockIdx.x / blocks, gridDim.x / blocks, out, block_sums, ticket);
    else if (threadIdx.x == 0)
        *out = x;
}

#define GR_RUNG v11
#define GR_SINGLE_PASS
#include "reduce/ladder/instantiate.cuh"
