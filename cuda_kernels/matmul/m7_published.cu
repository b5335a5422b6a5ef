// m7_published: double buffering with its one barrier in the wrong place. Racy: for study only.
//
// Two pairs of tiles need one barrier per step, and it is often printed where a single pair has its first:
// between the stores and the multiply-adds. But these stores write the pair of the next step, which a slower
// warp may still read for the previous step. Compare m7, whose barrier ends the step. Where it shows: the
// race check of the simulator reports it. A small product may come out right; on an H200, 29 of 30 products
// of 256 by 256 were wrong, and most of 64 by 64 right.
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { TILE = 32, ROWS = TILE, COLUMNS = TILE, THREADS = TILE * TILE, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ T tile_a[2][TILE][TILE], tile_b[2][TILE][TILE];
    const unsigned y = threadIdx.x / TILE, x = threadIdx.x % TILE;
    const uint64_t row = block.y * TILE + y, column = block.x * TILE + x;
    const T *a = p.row_of_a(min(row, p.m - 1)) + x, *b = p.row_of_b(y) + min(column, p.n - 1);

    T sum = 0;
    const auto bring = [&](uint64_t step, unsigned place) {
        tile_a[place][y][x] = step + x < p.k ? a[step] : T(0);
        tile_b[place][y][x] = step + y < p.k ? b[int64_t(step) * p.b_row] : T(0);
    };
    bring(0, 0);
    unsigned now = 0;
    for (uint64_t step = 0; step < p.k; step += TILE, now ^= 1) {
        bring(step + TILE, now ^ 1);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum = multiply_add(tile_a[now][y][i], tile_b[now][i][x], sum);
    }
    if (row < p.m && column < p.n)
        p.c[row * p.n + column] = sum;
}

#define GR_RUNG m7_published
#define GR_MATMUL_F32
#include "matmul/instantiate.cuh"
