// s1: a tree in shared memory.
//
// What s0 still cost: log2(n) passes over memory, and n log2(n) additions.
// The change: a block scans a tile of 1024 elements in shared memory, with at most two additions per element
// (R. P. Brent and H. T. Kung, 1982): up a tree of sums, then down again. The sums of the tiles are scanned
// in the same way, and a last launch adds to each tile the sum of the tiles before it. For 2^20 elements that
// is three launches instead of twenty. What limits it now: shared memory and barriers. Elements of one level
// of the tree are a power of two apart, so that up to 32 lanes of a warp use one bank; fewer threads have
// work on each level; and a barrier separates the levels, twenty per tile. Memory is read and written twice.
// Where it shows: wavefronts of shared memory several times the ideal; barriers.
#include "scan/rungs.cuh"

using namespace gr::scan;

constexpr unsigned TILE = GR_SCAN_TREE_TILE, THREADS = GR_SCAN_TREE_THREADS;
static_assert(TILE == 2 * THREADS);

extern "C" __global__ void __launch_bounds__(THREADS) s1_tiles_f32(const gr_scan_rung_params p) {
    __shared__ float x[TILE];
    const Rung rung(p);
    const uint64_t first = uint64_t(blockIdx.x) * TILE;
    for (unsigned i = threadIdx.x; i < TILE; i += THREADS)
        x[i] = first + i < p.count ? rung.from[first + i] : 0;
    // Up: x[i] becomes the sum of the last 2 * step elements, for each i that ends as many.
    for (unsigned step = 1; step < TILE; step *= 2) {
        __syncthreads();
        const unsigned i = (threadIdx.x + 1) * 2 * step - 1;
        if (i < TILE)
            x[i] = x[i - step] + x[i];
    }
    // Down: a sum that is complete is added to the element half a span behind it.
    for (unsigned step = TILE / 4; step > 0; step /= 2) {
        __syncthreads();
        const unsigned i = (threadIdx.x + 1) * 2 * step - 1;
        if (i + step < TILE)
            x[i + step] = x[i] + x[i + step];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < TILE; i += THREADS)
        if (first + i < p.count)
            rung.to[first + i] = x[i];
    if (threadIdx.x == 0)
        rung.totals[blockIdx.x] = x[TILE - 1];
}

// Block b adds to tile b + 1 the sum of the tiles before it.
extern "C" __global__ void __launch_bounds__(THREADS) s1_add_f32(const gr_scan_rung_params p) {
    const Rung rung(p);
    const float before = rung.totals[blockIdx.x];
    const uint64_t first = (uint64_t(blockIdx.x) + 1) * TILE;
    for (unsigned i = threadIdx.x; i < TILE; i += THREADS)
        if (first + i < p.count)
            rung.to[first + i] = before + rung.to[first + i];
}
