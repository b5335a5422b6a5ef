// m4: a 2-D tile of results a thread.
//
// What m3 still cost: an element of A from shared memory for every multiply-add.
// The change: a thread makes eight by eight results. For each step along k it loads eight elements of A and
// eight of B into registers, and takes all 64 products of them. What limits it now: the loads bring one
// element each, from memory and from shared memory, and those of A meet in banks, as neighbouring rows lie a
// power of two apart. Where it shows: a quarter of a shared load a multiply-add; registers, and so fewer
// warps a multiprocessor.
#include "matmul.cuh"

enum { ROWS = 128, COLUMNS = 128, DEEP = 8, EACH = 8, THREADS = ROWS * COLUMNS / EACH / EACH, BLOCKS = 2 };

template <class T>
__device__ void matmul(const T *a, const T *b, T *c, uint64_t m, uint64_t n, uint64_t k, Block block) {
    __shared__ T tile_a[ROWS][DEEP], tile_b[DEEP][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const unsigned t = threadIdx.x;
    const unsigned y = t / (COLUMNS / EACH) * EACH, x = t % (COLUMNS / EACH) * EACH;

    T sums[EACH][EACH] = {};
    for (uint64_t step = 0; step < k; step += DEEP) {
        for (unsigned i = t; i < ROWS * DEEP; i += THREADS) {
            const uint64_t row = first_row + i / DEEP, column = step + i % DEEP;
            tile_a[i / DEEP][i % DEEP] = row < m && column < k ? a[row * k + column] : T(0);
        }
        for (unsigned i = t; i < DEEP * COLUMNS; i += THREADS) {
            const uint64_t row = step + i / COLUMNS, column = first_column + i % COLUMNS;
            tile_b[i / COLUMNS][i % COLUMNS] = row < k && column < n ? b[row * n + column] : T(0);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEEP; ++i) {
            T of_a[EACH], of_b[EACH];
#pragma unroll
            for (int r = 0; r < EACH; ++r)
                of_a[r] = tile_a[y + r][i];
#pragma unroll
            for (int s = 0; s < EACH; ++s)
                of_b[s] = tile_b[i][x + s];
#pragma unroll
            for (int r = 0; r < EACH; ++r)
#pragma unroll
                for (int s = 0; s < EACH; ++s)
                    sums[r][s] = multiply_add(of_a[r], of_b[s], sums[r][s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r)
#pragma unroll
        for (int s = 0; s < EACH; ++s)
            if (first_row + y + r < m && first_column + x + s < n)
                c[(first_row + y + r) * n + first_column + x + s] = sums[r][s];
}

#define GR_RUNG m4
#include "matmul_instantiate.cuh"
