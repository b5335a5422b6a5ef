// m1: naive, neighbouring threads along a row.
//
// What m0 still cost: lanes a row apart, a sector of memory for each.
// The change: neighbouring threads take neighbouring columns. A warp reads one element of A, which all its
// lanes share, 32 elements of B side by side, and writes 32 elements of C side by side. What limits it now:
// two loads for each multiply-add, and every element of A is loaded n times, every one of B m times. Where it
// shows: sectors a request fall to 4 for B and 1 for A; bytes a multiply-add stay 8.
#include "matmul.cuh"

enum { TILE = 32, THREADS = TILE * TILE, BLOCKS = 2 };

template <class T>
__device__ void matmul(const T *a, const T *b, T *c, uint64_t m, uint64_t n, uint64_t k, Block block) {
    const uint64_t row = block.y * TILE + threadIdx.x / TILE;
    const uint64_t column = block.x * TILE + threadIdx.x % TILE;
    if (row >= m || column >= n)
        return;
    T sum = 0;
    for (uint64_t i = 0; i < k; ++i)
        sum = multiply_add(a[row * k + i], b[i * n + column], sum);
    c[row * n + column] = sum;
}

#define GR_RUNG m1
#include "matmul_instantiate.cuh"
