// m6: warp tiles.
//
// What m5 still cost: a warp's 32 threads covered two rows of threads of the block's tile, so few threads
// shared the elements of B that they loaded from shared memory. The change: each warp has a tile of its own,
// 64 by 32, in which its lanes are arranged eight down and four across, each with two groups of four rows and
// two of four columns. A warp uses each element that it loads from shared memory four or eight times, and
// lanes that need the same element get it at once; the step along k is twice as deep. What limits it now: all
// warps wait at the barriers for the tiles, and no warp computes meanwhile. Where it shows: shared-memory
// wavefronts per multiply-add.
#include "matmul/block.cuh"
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, TILE_K = 16, THREADS = 256, WARP_ROWS = 64, WARP_COLUMNS = 32, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ alignas(16) T tile_a[TILE_K][ROWS + PADDING], tile_b[TILE_K][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const bool a_aligned = rows_aligned(p.a, p.a_row), b_aligned = rows_aligned(p.b, p.b_row);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + lane / 4 * 4;
    const unsigned x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane % 4 * 4;

    T sums[8][8] = {};
    for (uint64_t step = 0; step < p.k; step += TILE_K) {
        ShareOfA<T, ROWS, TILE_K, THREADS> of_a;
        ShareOfB<T, TILE_K, COLUMNS, THREADS> of_b;
        of_a.load(p, first_row, step, p.k, a_aligned);
        of_b.load(p, step, first_column, b_aligned);
        of_a.store(tile_a);
        of_b.store(tile_b);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            T frag_a[8], frag_b[8];
            load_fragment<WARP_ROWS / 2>(&tile_a[i][y], frag_a);
            load_fragment<WARP_COLUMNS / 2>(&tile_b[i][x], frag_b);
            add_products(frag_a, frag_b, sums);
        }
        __syncthreads();
    }
    store_results<WARP_ROWS / 2, WARP_COLUMNS / 2>(p, first_row + y, first_column + x, sums);
}

#define GR_RUNG m6
#include "matmul/instantiate.cuh"
