// m0: naive, neighbouring threads down a column.
//
// Where the ladder starts: a thread computes one element of C, the sum of k products, and shares nothing with
// other threads. Neighbouring threads compute neighbouring rows. What limits it now: the lanes of a warp read
// elements of A and write elements of C that are a whole row apart, so each load and each store accesses 32
// sectors of memory to use 4 bytes of each. Where it shows: global sectors per request, and cache lines per
// load.
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { TILE = 32, ROWS = TILE, COLUMNS = TILE, THREADS = TILE * TILE, BLOCKS = 2 };

template <class T> __device__ void matmul(const Matrices<T> &p, Block block) {
    const uint64_t row = block.y * TILE + threadIdx.x % TILE;
    const uint64_t column = block.x * TILE + threadIdx.x / TILE;
    if (row >= p.m || column >= p.n)
        return;
    const T *a = p.row_of_a(row), *b = p.b + column;
    T sum = 0;
    for (uint64_t i = 0; i < p.k; ++i, ++a, b += p.b_row)
        sum = multiply_add(*a, *b, sum);
    p.c[row * p.n + column] = sum;
}

#define GR_RUNG m0
#include "matmul/instantiate.cuh"
