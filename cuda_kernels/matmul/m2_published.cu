// m2_published: tiles in shared memory as many texts print them. Truncating: for study only.
//
// The loop has k / TILE steps, which is correct for the sizes printed next to it, multiples of the tile; for
// other sizes it drops the last products of every sum. Compare m2, whose last step is shorter if necessary,
// with zeros for the rest. Printed launches divide m and n by the tile, too, and drop the last rows and
// columns; here the planner rounds up. Where it shows: only in the result, in which random numbers and a
// generous tolerance may hide it: the race check finds nothing, and the counters are lower.
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { TILE = 32, ROWS = TILE, COLUMNS = TILE, THREADS = TILE * TILE, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ T tile_a[TILE][TILE], tile_b[TILE][TILE];
    const unsigned y = threadIdx.x / TILE, x = threadIdx.x % TILE;
    const uint64_t row = block.y * TILE + y, column = block.x * TILE + x;
    const T *a = p.row_of_a(min(row, p.m - 1)) + x, *b = p.row_of_b(y) + min(column, p.n - 1);

    T sum = 0;
    for (uint64_t i = 0; i < p.k / TILE; ++i, a += TILE, b += TILE * p.b_row) {
        tile_a[y][x] = *a;
        tile_b[y][x] = *b;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE; ++j)
            sum = multiply_add(tile_a[y][j], tile_b[j][x], sum);
        __syncthreads();
    }
    if (row < p.m && column < p.n)
        p.c[row * p.n + column] = sum;
}

#define GR_RUNG m2_published
#define GR_MATMUL_F32
#include "matmul/instantiate.cuh"
