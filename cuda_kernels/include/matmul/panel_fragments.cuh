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

// The sums of a warp, 16 rows and 16 columns, with products of halves: STEP elements along k.
template <class T_> struct WarpSums {
    typedef T_ T;
    typedef float Sum;
    static constexpr int STEP = 16, ROWS = 16, COLUMNS = 16;
    float sums[2][4] = {};

    static __device__ void load(const T *at, bool along_k, uint32_t (&to)[4]) {
        if (along_k)
            ptx::ldmatrix_x4(shared_address(at), to);
        else
            ptx::ldmatrix_x4_trans(shared_address(at), to);
    }
    __device__ void multiply(const Tile<T> &tile_a, const Tile<T> &tile_b, unsigned row, unsigned column,
                             unsigned k) {
        const unsigned lane = threadIdx.x % 32, eight = lane / 8 % 2 * 8, half = lane / 16 * 8;
        uint32_t a[4], b[4];
        load(tile_b.along_k ? tile_b.at(column + half + lane % 8, k + eight)
                            : tile_b.at(column + half, k + lane % 16),
             tile_b.along_k, b);
        load(tile_a.along_k ? tile_a.at(row + lane % 16, k + half)
                            : tile_a.at(row + eight, k + half + lane % 8),
             tile_a.along_k, a);
#pragma unroll
        for (int s = 0; s < 2; ++s)
            ptx::mma_m16n8(T(), a, b[2 * s], b[2 * s + 1], sums[s]);
    }
    // Calls work(sum, row, column) for the sums of a thread.
    template <class Work> __device__ void each(Work work) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                work(sums[s][i], lane / 4 + i / 2 * 8, 8 * s + lane % 4 * 2 + i % 2);
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
