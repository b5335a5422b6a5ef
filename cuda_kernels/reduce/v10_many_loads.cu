// v10: many loads in flight, from any address.
//
// What v9 still cost: a thread waits for 16 bytes before it requests the next 16, so saturating memory takes
// every thread that the device can hold; and the array has to begin on a 16-byte boundary.
// The change: a thread issues LOADS independent vector loads, and only then combines them. Half as many
// threads suffice. Elements before the first 16-byte boundary and after the last one are loaded separately.
// What limits it now: memory bandwidth. 2^25 floats take 33.8 us on an H200, v9 35.1; 2^28 239.6, v9 245.3.
// For small arrays the ticket is still the limit.
// Where it shows: fewer warps, each with more requests in flight; long-scoreboard stalls per load; a
// misaligned array has as few sectors as an aligned one.
#include <cstdint>

#include "reduce/ladder/last_block.cuh"
#include "reduce/ladder/many_loads.cuh"

using namespace gr::reduce::ladder;

// 2^28 floats, 4 blocks of 256 threads an SM: 246.1 us with 2, 239.5 with 4, 239.5 with 8 and with 16;
// 2^25: 34.5, 33.7, 34.1, 35.2 (rung_constants_h200.json).
constexpr unsigned LOADS = 4;

template <class Op, class In, class Acc>
__device__ void reduce(const In *in, Acc *out, uint64_t n, Acc *block_sums, unsigned *ticket) {
    const AlignedSplit<In> parts(in, n);
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;

    Acc x = accumulate_all<Op, LOADS>(Op::identity(), parts, first, step);
    x = accumulate_ends<Op>(x, parts, in, n, first);

    last_block<Op>(block_reduce<Op>(x), blockIdx.x, gridDim.x, out, block_sums, ticket);
}

#define GR_RUNG v10
#define GR_SINGLE_PASS
#include "reduce/ladder/instantiate.cuh"
