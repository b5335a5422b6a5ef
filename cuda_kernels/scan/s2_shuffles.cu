// s2: shuffles in a warp.
//
// What s1 still cost: bank conflicts, and a barrier for each level of its tree.
// The change: an element stays in a register. The lanes of a warp scan 32 neighbouring elements in five
// shuffles, without shared memory or a barrier, and add the sum of the 32 before these. A warp takes 256
// elements so; shared memory only holds one sum per warp, and a block has one barrier.
// What limits it now: traffic. As in s1, the first launch reads and writes all elements, and the last one
// does so again, only to add one number to each. Where it shows: almost no wavefronts of shared memory, one
// barrier per warp and tile; the sectors of s1.
#include "scan/rungs.cuh"

using namespace gr::scan;

constexpr unsigned TILE = GR_SCAN_SHUFFLES_TILE, THREADS = GR_SCAN_RUNG_THREADS;
constexpr unsigned WARPS = THREADS / 32, ROUNDS = TILE / THREADS;

extern "C" __global__ void __launch_bounds__(THREADS) s2_tiles_f32(const gr_scan_rung_params p) {
    __shared__ float sums[WARPS];
    const Rung rung(p);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t first = uint64_t(blockIdx.x) * TILE + warp * (32 * ROUNDS) + lane;
    float x[ROUNDS], sum = 0;
#pragma unroll
    for (unsigned round = 0; round < ROUNDS; ++round)
        x[round] = first + 32 * round < p.count ? rung.from[first + 32 * round] : 0;
#pragma unroll
    for (unsigned round = 0; round < ROUNDS; ++round) {
        x[round] = sum + scan_warp(x[round]);
        sum = __shfl_sync(ALL_LANES, x[round], 31);
    }
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    float before = 0;
    for (unsigned each = 0; each < warp; ++each)
        before += sums[each];
#pragma unroll
    for (unsigned round = 0; round < ROUNDS; ++round)
        if (first + 32 * round < p.count)
            rung.to[first + 32 * round] = before + x[round];
    if (threadIdx.x == THREADS - 1)
        rung.totals[blockIdx.x] = before + sum;
}

// Block b adds to tile b + 1 the sum of the tiles before it.
extern "C" __global__ void __launch_bounds__(THREADS) s2_add_f32(const gr_scan_rung_params p) {
    const Rung rung(p);
    const float before = rung.totals[blockIdx.x];
    const uint64_t first = (uint64_t(blockIdx.x) + 1) * TILE + threadIdx.x;
#pragma unroll
    for (unsigned round = 0; round < ROUNDS; ++round)
        if (first + round * THREADS < p.count)
            rung.to[first + round * THREADS] = before + rung.to[first + round * THREADS];
}
