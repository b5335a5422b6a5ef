// m1: naive, neighbouring threads along a row.
//
// What m0 still cost: lanes a row apart, each in a sector of its own.
// The change: neighbouring threads compute neighbouring columns. A warp reads one element of A, which all its
// lanes share, and 32 contiguous elements of B, and writes 32 contiguous elements of C. What limits it now:
// two loads per multiply-add, and every element of A is loaded n times, every element of B m times. Where it
// shows: sectors per request fall to 4 for B and 1 for A; bytes per multiply-add stay 8.
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { TILE = 32, ROWS = TILE, COLUMNS = TILE, THREADS = TILE * TILE, BLOCKS = 1 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    const uint64_t row = block.y * TILE + threadIdx.x / TILE;
    const uint64_t column = block.x * TILE + threadIdx.x % TILE;
    if (row >= p.m || column >= p.n)
        return;
    const T *a = p.row_of_a(row), *b = p.b + column;
    T sum = 0;
    for (uint64_t i = 0; i < p.k; ++i, ++a, b += p.b_row)
        sum = multiply_add(*a, *b, sum);
    p.c[row * p.n + column] = sum;
}

#define GR_RUNG m1
#include "matmul/instantiate.cuh"
