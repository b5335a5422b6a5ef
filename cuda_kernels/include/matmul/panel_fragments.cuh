// Fragments of panels in shared memory, whose lines are along k or not, and their products by mma.sync.
#pragma once

#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "matmul/matmul.cuh"
#include "matmul/vec16_rows.cuh"

namespace gr::matmul {

// A panel in shared memory: `pitch` elements from one line to the next.
template <class T> struct Tile {
    const T *first;
    unsigned pitch;
    bool along_k;

    __device__ const T *at(unsigned other, unsigned k) const {
        return first + (along_k ? other * pitch + k : k * pitch + other);
    }
};

// The sums of a warp, with products of halves or in TF32: STEP elements along k.
template <class T_, int ROWS_ = 32, int COLUMNS_ = 32> struct WarpSums {
    typedef T_ T;
    typedef float Sum;
    static constexpr int STEP = 32 / sizeof(T), ROWS = ROWS_, COLUMNS = COLUMNS_;
    float sums[ROWS / 16][COLUMNS / 8][4] = {};

    static __device__ void load_a(const Tile<T> &tile, unsigned row, unsigned k, uint32_t (&a)[4]) {
        const unsigned lane = threadIdx.x % 32;
        if (tile.along_k)
            ptx::ldmatrix_x4(shared_address(tile.at(row + lane % 16, k + lane / 16 * (STEP / 2))), a);
        else if (sizeof(T) == 2)
            ptx::ldmatrix_x4_trans(
                shared_address(tile.at(row + lane / 8 % 2 * 8, k + lane / 16 * 8 + lane % 8)), a);
        else
#pragma unroll
            for (int i = 0; i < 4; ++i)
                a[i] = *reinterpret_cast<const uint32_t *>(
                    tile.at(row + lane / 4 + i % 2 * 8, k + lane % 4 + i / 2 * 4));
        if (sizeof(T) == 4)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                a[i] = ptx::cvt_rna_tf32(a[i]);
    }
    // Half `h` along k of the fragments of 32 columns of float32, for four products.
    static __device__ void load_b(const Tile<float> &tile, unsigned k, unsigned column, int h,
                                  uint32_t (&b)[COLUMNS / 8][2]) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            b[i][h] = ptx::cvt_rna_tf32(*reinterpret_cast<const uint32_t *>(
                tile.at(column + 8 * i + lane / 4, k + lane % 4 + 4 * h)));
    }
    // The fragments of columns 16 h to 16 h + 15 of halves.
    template <class Half>
    static __device__ void load_b(const Tile<Half> &tile, unsigned k, unsigned column, int h,
                                  uint32_t (&b)[COLUMNS / 8][2]) {
        const unsigned lane = threadIdx.x % 32, first = column + 16 * h;
        uint32_t of_two[4];
        if (tile.along_k)
            ptx::ldmatrix_x4(shared_address(tile.at(first + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8)),
                             of_two);
        else
            ptx::ldmatrix_x4_trans(shared_address(tile.at(first + lane / 16 * 8, k + lane % 16)), of_two);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            b[2 * h + i / 2][i % 2] = of_two[i];
    }
    __device__ void multiply(const Tile<T> &tile_a, const Tile<T> &tile_b, unsigned row, unsigned column,
                             unsigned k) {
        uint32_t a[ROWS / 16][4], b[COLUMNS / 8][2];
#pragma unroll
        for (int h = 0; h < (sizeof(T) == 4 ? 2 : COLUMNS / 16); ++h)
            load_b(tile_b, k, column, h, b);
#pragma unroll
        for (int r = 0; r < ROWS / 16; ++r)
            load_a(tile_a, row + 16 * r, k, a[r]);
#pragma unroll
        for (int r = 0; r < ROWS / 16; ++r)
#pragma unroll
            for (int s = 0; s < COLUMNS / 8; ++s)
                ptx::mma_m16n8(T(), a[r], b[s][0], b[s][1], sums[r][s]);
    }
    // Calls work(sum, row, column) for the sums of a thread.
    template <class Work> __device__ void each(Work work) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (int r = 0; r < ROWS / 16; ++r)
#pragma unroll
            for (int s = 0; s < COLUMNS / 8; ++s)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    work(sums[r][s][i], 16 * r + lane / 4 + i / 2 * 8, 8 * s + lane % 4 * 2 + i % 2);
    }
};

// The same of float64: 16 rows and eight columns, whose products are added in the order of k.
template <> struct WarpSums<double> {
    typedef double T, Sum;
    static constexpr int STEP = 16, ROWS = 16, COLUMNS = 8;
    double sums[4] = {};

    __device__ void multiply(const Tile<double> &tile_a, const Tile<double> &tile_b, unsigned row,
                             unsigned column, unsigned k) {
        const unsigned lane = threadIdx.x % 32;
        double a[8], b[4];
#pragma unroll
        for (int i = 0; i < 8; ++i)
            a[i] = *tile_a.at(row + lane / 4 + i % 2 * 8, k + lane % 4 + i / 2 * 4);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            b[i] = *tile_b.at(column + lane / 4, k + lane % 4 + i * 4);
        ptx::mma_m16n8k16(a, b, sums);
    }
    template <class Work> __device__ void each(Work work) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            work(sums[i], lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
    }
};

} // namespace gr::matmul
