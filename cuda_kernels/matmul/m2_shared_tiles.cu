// m2: tiles in shared memory.
//
// What m1 still cost: every element came from memory, or its caches, once for each thread that wanted it.
// The change: the block goes along k in steps. In each it brings a tile of A and a tile of B to shared
// memory, an element a thread, and takes all products of the two from there: an element is loaded once for 32
// uses. What limits it now: the multiply-add still needs two loads, now from shared memory, whose units are
// the limit. Where it shows: global loads fall to a 32nd; shared wavefronts take their place; a barrier
// before and after each step.
#include "matmul.cuh"

enum { TILE = 32, THREADS = TILE * TILE, BLOCKS = 2 };

template <class T>
__device__ void matmul(const T *a, const T *b, T *c, uint64_t m, uint64_t n, uint64_t k, Block block) {
    __shared__ T tile_a[TILE][TILE], tile_b[TILE][TILE];
    const unsigned y = threadIdx.x / TILE, x = threadIdx.x % TILE;
    const uint64_t row = block.y * TILE + y, column = block.x * TILE + x;

    T sum = 0;
    for (uint64_t step = 0; step < k; step += TILE) {
        // Beyond the matrices there are zeros, which change no sum.
        tile_a[y][x] = row < m && step + x < k ? a[row * k + step + x] : T(0);
        tile_b[y][x] = column < n && step + y < k ? b[(step + y) * n + column] : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum = multiply_add(tile_a[y][i], tile_b[i][x], sum);
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

#define GR_RUNG m2
#include "matmul_instantiate.cuh"
