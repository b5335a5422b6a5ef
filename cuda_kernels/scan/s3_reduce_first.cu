// s3: reduce first.
//
// What s2 still cost: all elements were written twice, and read twice.
// The change: the first launch writes no elements. It only sums the share of each block; the second one adds
// up the sums of the blocks before its own, scans its share tile by tile, and writes each element once. A
// thread has 16 consecutive elements, which it adds one after the other, so that shuffles are needed only for
// one sum per thread. Shared memory exchanges elements between the order of the loads and that of the sums.
// What limits it now: a second read of all elements, and two launches.
// Where it shows: three quarters of the sectors of s2.
#include "scan/rungs.cuh"

using namespace gr::scan;

constexpr unsigned THREADS = GR_SCAN_RUNG_THREADS, TILE = GR_SCAN_REDUCE_TILE;
constexpr unsigned WARPS = THREADS / 32;

extern "C" __global__ void __launch_bounds__(THREADS) s3_sum_f32(const gr_scan_rung_params p) {
    __shared__ float sums[WARPS];
    const Rung rung(p);
    const float *from = rung.from + blockIdx.x * p.share;
    float sum = 0, total;
    for (uint64_t tile = 0; tile < p.share; tile += TILE) {
        float x[TILE / THREADS];
#pragma unroll
        for (unsigned each = 0; each < TILE / THREADS; ++each)
            x[each] = from[tile + each * THREADS + threadIdx.x];
#pragma unroll
        for (unsigned each = 0; each < TILE / THREADS; ++each)
            sum += x[each];
    }
    sum_before_thread(sum, sums, total);
    if (threadIdx.x == 0)
        rung.totals[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS) s3_scan_f32(const gr_scan_rung_params p) {
    using Elements = Tile<THREADS, GR_SCAN_REDUCE_EACH>;
    static_assert(TILE == Elements::COUNT);
    __shared__ float words[Elements::WORDS], sums[2][WARPS];
    const Elements elements{words};
    const Rung rung(p);
    float carry = 0, total;
    for (unsigned block = threadIdx.x; block < blockIdx.x; block += THREADS)
        carry += rung.totals[block];
    sum_before_thread(carry, sums[0], carry);
    const uint64_t first = blockIdx.x * p.share, end = min(first + p.share, p.count);
    unsigned turn = 1;
    for (uint64_t tile = first; tile < end; tile += TILE, turn ^= 1) {
        const float sum = elements.load(rung.from + tile, end - tile);
        const float before = sum_before_thread(sum, sums[turn], total);
        elements.store(rung.to + tile, end - tile, carry + before);
        carry += total;
        __syncthreads();
    }
}
