// Fragments and tiles of the rungs that multiply by mma.sync: how tiles come to shared memory, fragments to
// registers and sums to C.
#pragma once

#include "common/mma.cuh"
#include "common/vec.cuh"
#include "matmul/cp_async_pipeline.cuh"
#include "matmul/matmul.cuh"

namespace gr::matmul {

// Begins to copy a tile of ROWS rows of WIDTH elements: `valid_rows` rows and `valid_columns` columns of it
// lie inside the matrix, the others become zeros. Rows that are no whole pieces of 16 bytes come element by
// element, and those of 2 bytes at once.
template <int THREADS, int WIDTH, class T, int ROWS, int PITCH>
__device__ void begin_tile(T (&tile)[ROWS][PITCH], const T *corner, int64_t pitch, unsigned valid_rows,
                           unsigned valid_columns, bool aligned) {
    constexpr int LENGTH = 16 / sizeof(T), NEIGHBOURS = WIDTH / LENGTH, ROWS_PER_TURN = THREADS / NEIGHBOURS;
    const bool pieces = aligned && valid_columns % LENGTH == 0;
    const unsigned first = threadIdx.x / NEIGHBOURS, column = threadIdx.x % NEIGHBOURS * LENGTH;
    const T *from = corner + int64_t(first) * pitch + column;
    if (aligned && valid_rows == ROWS && valid_columns == WIDTH) {
#pragma unroll
        for (int i = 0; i < ROWS / ROWS_PER_TURN; ++i, from += ROWS_PER_TURN * pitch)
            ptx::cp_async<16>(&tile[first + i * ROWS_PER_TURN][column], from, 16);
        return;
    }
    for (unsigned row = first; row < ROWS; row += ROWS_PER_TURN, from += ROWS_PER_TURN * pitch) {
        const unsigned there =
            row < valid_rows && column < valid_columns ? min(valid_columns - column, LENGTH) : 0;
        if (pieces)
            ptx::cp_async<16>(&tile[row][column], there ? from : corner, there ? 16 : 0);
        else
            for (unsigned j = 0; j < LENGTH; ++j)
                if (sizeof(T) == 4)
                    ptx::cp_async<4>(&tile[row][column + j], j < there ? from + j : corner,
                                     j < there ? 4 : 0);
                else
                    tile[row][column + j] = j < there ? from[j] : T(0.f);
    }
}

// The fragment of 16 rows of A: 32 bytes of each row, the columns that one product takes.
template <class T, int PITCH>
__device__ void load_a(const T (*rows)[PITCH], unsigned column, uint32_t (&a)[4]) {
    const unsigned lane = threadIdx.x % 32;
    ptx::ldmatrix_x4(shared_address(&rows[lane % 16][column + lane / 16 * (16 / sizeof(T))]), a);
    if (sizeof(T) == 4)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            a[i] = ptx::cvt_rna_tf32(a[i]);
}

// The fragments of 32 columns of B, for four products: b[i] belongs to columns 8 i + lane / 4.
template <class T, int PITCH>
__device__ void load_b(const T (*rows)[PITCH], unsigned column, uint32_t (&b)[4][2]) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h)
        if (sizeof(T) == 4) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                b[i][h] = ptx::cvt_rna_tf32(
                    reinterpret_cast<const uint32_t &>(rows[lane % 4 + 4 * h][column + 8 * i + lane / 4]));
        } else {
            uint32_t of_two[4];
            ptx::ldmatrix_x4_trans(shared_address(&rows[lane % 16][column + 16 * h + lane / 16 * 8]), of_two);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                b[2 * h + i / 2][i % 2] = of_two[i];
        }
}

// Two neighbours of a row of C.
template <class T>
__device__ void store_two(const Matrices<T> &p, uint64_t row, uint64_t column, bool aligned, float x,
                          float y) {
    if (row >= p.m || column >= p.n)
        return;
    T *to = p.c + row * p.n + column;
    if (aligned)
        *reinterpret_cast<Vec<T, 2> *>(to) = {T(x), T(y)};
    else {
        to[0] = T(x);
        if (column + 1 < p.n)
            to[1] = T(y);
    }
}

// The sums of 16 rows and 8 columns, in the distribution of mma.sync.
template <class T>
__device__ void store_sums(const Matrices<T> &p, uint64_t row, uint64_t column, bool aligned,
                           const float (&sums)[4]) {
    const unsigned lane = threadIdx.x % 32;
    store_two(p, row + lane / 4, column + lane % 4 * 2, aligned, sums[0], sums[1]);
    store_two(p, row + lane / 4 + 8, column + lane % 4 * 2, aligned, sums[2], sums[3]);
}

} // namespace gr::matmul
