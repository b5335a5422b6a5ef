// m5: 16-byte loads, A transposed in shared memory.
//
// What m4 still cost: one load instruction per element.
// The change: every load has 16 bytes, from global and from shared memory. For that, the tile of A is
// transposed in shared memory, so that the eight elements of a column that a thread needs are contiguous.
// What limits it now: the threads of a warp cover two rows of the block's tile, 16 across: few of them share
// the elements that they load. Where it shows: load instructions fall to a quarter; so do shared-memory
// wavefronts.
#include "matmul/block.cuh"
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, TILE_K = 8, THREAD_TILE = 8 };
enum { THREADS = ROWS * COLUMNS / THREAD_TILE / THREAD_TILE, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ alignas(16) T tile_a[TILE_K][ROWS + PADDING], tile_b[TILE_K][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const bool a_aligned = rows_aligned(p.a, p.a_row), b_aligned = rows_aligned(p.b, p.b_row);
    // Eight rows, and two runs of four columns, half a tile apart.
    const unsigned y = threadIdx.x / (COLUMNS / THREAD_TILE) * THREAD_TILE,
                   x = threadIdx.x % (COLUMNS / THREAD_TILE) * 4;

    T sums[THREAD_TILE][THREAD_TILE] = {};
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
            T frag_a[THREAD_TILE], frag_b[THREAD_TILE];
            load_fragment<4>(&tile_a[i][y], frag_a);
            load_fragment<COLUMNS / 2>(&tile_b[i][x], frag_b);
            add_products(frag_a, frag_b, sums);
        }
        __syncthreads();
    }
    store_results<4, COLUMNS / 2>(p, first_row + y, first_column + x, sums);
}

#define GR_RUNG m5
#include "matmul/instantiate.cuh"
