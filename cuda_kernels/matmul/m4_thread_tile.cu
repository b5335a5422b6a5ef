// m4: a 2-D tile of results per thread.
//
// What m3 still cost: one element of A from shared memory for every multiply-add.
// The change: a thread computes eight by eight results. For each step along k it loads eight elements of A
// and eight of B into registers, and computes all 64 products of them. Its columns are 16 apart, so that
// those of neighbouring threads are contiguous. What limits it now: each load has one element, from global
// memory and, for B, from shared memory; loads of A have bank conflicts, because its rows are a power of two
// apart. Where it shows: a quarter of a shared load per multiply-add; registers, and so fewer warps per
// multiprocessor.
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, TILE_K = 8, THREAD_TILE = 8 };
enum { THREADS = ROWS * COLUMNS / THREAD_TILE / THREAD_TILE, BLOCKS = 2 };
enum {
    THREADS_N = COLUMNS / THREAD_TILE
}; // threads along n, and columns from one result of a thread to the next
enum { LOADS = ROWS * TILE_K / THREADS }; // elements of each tile that a thread loads
static_assert(ROWS == COLUMNS, "as many of A as of B");

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ T tile_a[ROWS][TILE_K], tile_b[TILE_K][COLUMNS];
    const uint64_t first_row = block.y * ROWS, first_column = block.x * COLUMNS;
    const unsigned t = threadIdx.x;
    const unsigned y = t / THREADS_N * THREAD_TILE, x = t % THREADS_N;
    // The elements that it brings lie below one another: every 32nd of a column of A, every second of B.
    const unsigned a_row = t / TILE_K, a_column = t % TILE_K, b_row = t / COLUMNS, b_column = t % COLUMNS;
    const T *a[LOADS], *b = p.row_of_b(b_row) + min(first_column + b_column, p.n - 1);
#pragma unroll
    for (int i = 0; i < LOADS; ++i)
        a[i] = p.row_of_a(min(first_row + a_row + i * (THREADS / TILE_K), p.m - 1)) + a_column;

    T sums[THREAD_TILE][THREAD_TILE] = {};
    for (uint64_t step = 0; step < p.k; step += TILE_K) {
        T new_a[LOADS], new_b[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; ++i, b += THREADS / COLUMNS * p.b_row) {
            new_a[i] = a_column < p.k - step ? *a[i] : T(0);
            new_b[i] = b_row + i * (THREADS / COLUMNS) < p.k - step ? *b : T(0);
            a[i] += TILE_K;
        }
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            tile_a[a_row + i * (THREADS / TILE_K)][a_column] = new_a[i];
            tile_b[b_row + i * (THREADS / COLUMNS)][b_column] = new_b[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            T of_a[THREAD_TILE], of_b[THREAD_TILE];
#pragma unroll
            for (int r = 0; r < THREAD_TILE; ++r)
                of_a[r] = tile_a[y + r][i];
#pragma unroll
            for (int s = 0; s < THREAD_TILE; ++s)
                of_b[s] = tile_b[i][x + s * THREADS_N];
#pragma unroll
            for (int r = 0; r < THREAD_TILE; ++r)
#pragma unroll
                for (int s = 0; s < THREAD_TILE; ++s)
                    sums[r][s] = multiply_add(of_a[r], of_b[s], sums[r][s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < THREAD_TILE; ++r)
#pragma unroll
        for (int s = 0; s < THREAD_TILE; ++s) {
            const uint64_t row = first_row + y + r, column = first_column + x + s * THREADS_N;
            if (row < p.m && column < p.n)
                p.c[row * p.n + column] = sums[r][s];
        }
}

#define GR_RUNG m4
#include "matmul/instantiate.cuh"
