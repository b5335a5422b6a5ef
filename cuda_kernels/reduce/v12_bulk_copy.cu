// v12: bulk copies into a ring in shared memory.
//
// What v10 still cost: data in flight occupies registers, and every thread computes addresses and issues
// loads.
// The change: the array is divided into chunks. One thread asks the copy engine for a chunk; the engine
// writes it to shared memory and signals a barrier there, on which the block waits. GR_LADDER_STAGES chunks
// are in flight at any time, in a ring. (The blocks combine their results as in v10 again.) What limits it
// now: memory bandwidth alone. 2^28 floats take 239.3 us on an H200, with blocks of 512 threads 238.0; v10
// 239.6 and 238.9. Small arrays pay for the ring: one element takes 2.6 us, in v10 2.2. Where it shows:
// global-load requests, next to none; shared-load wavefronts, one per 128 bytes; barriers.
#include <cstdint>

#include "common/ptx.cuh"
#include "reduce/ladder/last_block.cuh"
#include "reduce/ladder/many_loads.cuh"
#include "reduce/ladder/params.h"

using namespace gr::common;
using namespace gr::reduce::ladder;

// 2^28 floats, 256 threads per block: 237.7 us with 3 stages of 4 vectors, 239.3 with 6 of 2, 240.4 with
// 12 of 1 (rung_constants_h200.json).
constexpr unsigned STAGES = GR_LADDER_STAGES, VECTORS = GR_LADDER_STAGE_VECTORS;

// Announces the bytes at the barrier, and asks the copy engine for them.
inline __device__ void start_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
    const uint32_t full = shared_address(barrier);
    ptx::mbarrier_arrive_expect_tx(full, bytes);
    ptx::cp_async_bulk(shared_address(to), from, bytes, full);
}

template <class Op, class In, class Acc>
__device__ void reduce(const In *in, Acc *out, uint64_t n, Acc *block_sums, unsigned *ticket) {
    extern __shared__ __align__(128) unsigned char bytes[];
    __shared__ uint64_t full[STAGES];
    Vec16<In> *ring = reinterpret_cast<Vec16<In> *>(bytes);
    const AlignedSplit<In> parts(in, n);
    const unsigned piece = blockDim.x * VECTORS; // vectors; block b has the pieces b, b + gridDim.x, ...
    const uint64_t pieces = parts.count / piece;

    const auto fetch = [&](uint64_t p, unsigned stage) {
        if (threadIdx.x == 0 && p < pieces)
            start_copy(ring + stage * piece, parts.vectors + p * piece, piece * 16, &full[stage]);
    };
    if (threadIdx.x == 0)
        for (unsigned stage = 0; stage < STAGES; ++stage)
            ptx::mbarrier_init<1>(shared_address(&full[stage]));
    ptx::fence_mbarrier_init(); // so that the copy engine sees them
    for (unsigned stage = 0; stage < STAGES; ++stage)
        fetch(blockIdx.x + uint64_t(stage) * gridDim.x, stage);
    __syncthreads(); // no thread waits at a barrier that is not initialized

    Acc x = Op::identity();
    unsigned stage = 0, parity = 0;
    for (uint64_t p = blockIdx.x; p < pieces; p += gridDim.x) {
        ptx::mbarrier_wait_parity(shared_address(&full[stage]), parity);
#pragma unroll
        for (unsigned k = 0; k < VECTORS; ++k)
            x = accumulate<Op>(x, ring[stage * piece + k * blockDim.x + threadIdx.x]);
        __syncthreads(); // all have read the piece: its place is free
        fetch(p + uint64_t(STAGES) * gridDim.x, stage);
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }

    // The vectors behind the last whole piece, and the ends.
    const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    x = accumulate_all<Op, 1>(x, parts, pieces * piece + first, uint64_t(gridDim.x) * blockDim.x);
    x = block_reduce<Op>(accumulate_ends<Op>(x, parts, in, n, first));
    last_block<Op>(x, blockIdx.x, gridDim.x, out, block_sums, ticket);
}

#define GR_RUNG v12
#define GR_SINGLE_PASS
#include "reduce/ladder/instantiate.cuh"
