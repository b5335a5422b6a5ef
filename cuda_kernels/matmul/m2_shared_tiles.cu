// m2: tiles in shared memory.
//
// What m1 still cost: every thread loaded every element that it needed from memory, or its caches.
// The change: the block proceeds along k in steps. In each step it loads a tile of A and a tile of B into
// shared memory, one element per thread, and computes all products of the two from there: an element is
// loaded once for 32 uses. What limits it now: a multiply-add still needs two loads, now from shared memory,
// whose units are the limit. Where it shows: global loads fall to a 32nd; shared-memory wavefronts replace
// them; a barrier before and after each step.
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { TILE = 32, ROWS = TILE, COLUMNS = TILE, THREADS = TILE * TILE, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ T tile_a[TILE][TILE], tile_b[TILE][TILE];
    const unsigned y = threadIdx.x / TILE, x = threadIdx.x % TILE;
    const uint64_t row = block.y * TILE + y, column = block.x * TILE + x;

    // A row or column beyond the matrices is taken for the last one: what comes of it is not stored.
    const T *a = p.row_of_a(min(row, p.m - 1)) + x, *b = p.row_of_b(y) + min(column, p.n - 1);

    T sum = 0;
    for (uint64_t step = 0; step < p.k; step += TILE, a += TILE, b += TILE * p.b_row) {
        // Beyond k there are zeros, which change no sum.
        tile_a[y][x] = x < p.k - step ? *a : T(0);
        tile_b[y][x] = y < p.k - step ? *b : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum = multiply_add(tile_a[y][i], tile_b[i][x], sum);
        __syncthreads();
    }
    if (row < p.m && column < p.n)
        p.c[row * p.n + column] = sum;
}

#define GR_RUNG m2
#include "matmul/instantiate.cuh"
