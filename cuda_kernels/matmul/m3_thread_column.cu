// m3: a 1-D tile of results a thread.
//
// What m2 still cost: two loads from shared memory for each multiply-add.
// The change: a thread makes eight results below one another. An element of B that it has loaded serves all
// eight, so eight multiply-adds take nine loads in place of sixteen; the elements of A are the same for a
// whole warp. What limits it now: still more than one load from shared memory a multiply-add. Where it shows:
// shared loads a multiply-add; warp instructions fall by a third.
#include "matmul.cuh"

enum { ROWS = 64, COLUMNS = 64, DEEP = 8, EACH = 8, THREADS = ROWS * COLUMNS / EACH, BLOCKS = 2 };

template <class T>
__device__ void matmul(const T *a, const T *b, T *c, uint64_t m, uint64_t n, uint64_t k, Block block) {
    __shared__ T tile_a[ROWS][DEEP], tile_b[DEEP][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const unsigned t = threadIdx.x;
    const unsigned y = t / COLUMNS * EACH, x = t % COLUMNS; // of this thread's results, in the tile
    // Which element of each tile it brings: there are as many elements as threads.
    const unsigned a_row = t / DEEP, a_column = t % DEEP, b_row = t / COLUMNS, b_column = t % COLUMNS;

    T sums[EACH] = {};
    for (uint64_t step = 0; step < k; step += DEEP) {
        tile_a[a_row][a_column] = first_row + a_row < m && step + a_column < k
                                      ? a[(first_row + a_row) * k + step + a_column]
                                      : T(0);
        tile_b[b_row][b_column] = first_column + b_column < n && step + b_row < k
                                      ? b[(step + b_row) * n + first_column + b_column]
                                      : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEEP; ++i) {
            const T shared_by_all = tile_b[i][x];
#pragma unroll
            for (int r = 0; r < EACH; ++r)
                sums[r] = multiply_add(tile_a[y + r][i], shared_by_all, sums[r]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r)
        if (first_row + y + r < m && first_column + x < n)
            c[(first_row + y + r) * n + first_column + x] = sums[r];
}

#define GR_RUNG m3
#include "matmul_instantiate.cuh"
