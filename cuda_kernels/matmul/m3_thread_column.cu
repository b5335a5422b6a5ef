// m3: a 1-D tile of results per thread.
//
// What m2 still cost: two loads from shared memory per multiply-add.
// The change: a thread computes eight results below one another. It uses an element of B for all eight, so
// eight multiply-adds take nine loads instead of 16; the elements of A are the same for a whole warp.
// What limits it now: still more than one load from shared memory per multiply-add. Where it shows: shared
// loads per multiply-add; warp instructions fall by a third.
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 64, COLUMNS = 64, TILE_K = 8, THREAD_M = 8, THREADS = ROWS * COLUMNS / THREAD_M, BLOCKS = 3 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ T tile_a[ROWS][TILE_K], tile_b[TILE_K][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const unsigned t = threadIdx.x;
    const unsigned y = t / COLUMNS * THREAD_M, x = t % COLUMNS; // of this thread's results, in the tile
    // Which element of each tile it brings: there are as many elements as threads.
    const unsigned a_row = t / TILE_K, a_column = t % TILE_K, b_row = t / COLUMNS, b_column = t % COLUMNS;
    const uint64_t row = first_row + y, column = first_column + x; // of its first result
    const T *a = p.row_of_a(min(first_row + a_row, p.m - 1)) + a_column;
    const T *b = p.row_of_b(b_row) + min(first_column + b_column, p.n - 1);

    T sums[THREAD_M] = {};
    for (uint64_t step = 0; step < p.k; step += TILE_K, a += TILE_K, b += TILE_K * p.b_row) {
        tile_a[a_row][a_column] = a_column < p.k - step ? *a : T(0);
        tile_b[b_row][b_column] = b_row < p.k - step ? *b : T(0);
        __syncthreads();
#pragma unroll 2
        for (int i = 0; i < TILE_K; ++i) {
            const T shared_by_all = tile_b[i][x];
#pragma unroll
            for (int r = 0; r < THREAD_M; ++r)
                sums[r] = multiply_add(tile_a[y + r][i], shared_by_all, sums[r]);
        }
        __syncthreads();
    }
    if (column >= p.n)
        return;
    T *c = p.c + row * p.n + column;
#pragma unroll
    for (int r = 0; r < THREAD_M; ++r, c += p.n)
        if (row + r < p.m)
            *c = sums[r];
}

#define GR_RUNG m3
#include "matmul/instantiate.cuh"
