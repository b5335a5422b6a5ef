// Kernels that split float32 into two float16, hi and lo, before t4. So that both are in the range of
// float16, all elements of a row or of a column are first multiplied by a power of two that brings their
// greatest finite magnitude to 2^14 or above.
#pragma once

#include <cstdint>

#include "common/element_types.cuh"
#include "common/vec.cuh"
#include "matmul/matmul.cuh"
#include "matmul/tma.cuh"

namespace gr::matmul {

// The bits of a magnitude, whose order is the order of magnitudes; 0 if it is infinite or NaN.
inline __device__ unsigned magnitude(float x) {
    const unsigned bits = __float_as_uint(x) & 0x7fffffff;
    return bits < 0x7f800000 ? bits : 0;
}

// The power of two for the greatest magnitude of its row or column, as an exponent; it and its inverse are
// normal numbers.
inline __device__ int exponent_for(unsigned most) {
    return min(max(14 + 127 - int(most >> 23), -126), 126);
}

inline __device__ float power(int exponent) {
    return __uint_as_float(unsigned(exponent + 127) << 23);
}

template <int COUNT>
__device__ void store_parts(gr_f16 *big, gr_f16 *small, const float (&x)[COUNT], const float (&by)[COUNT]) {
    Vec<gr_f16, COUNT> first, second;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        const float all = x[i] * by[i];
        first.at[i] = __float2half_rn(all);
        const float rest = all - __half2float(first.at[i]);
        second.at[i] = __float2half_rn(fabsf(all) == INFINITY ? 0.0f : rest);
    }
    *reinterpret_cast<Vec<gr_f16, COUNT> *>(big) = first;
    *reinterpret_cast<Vec<gr_f16, COUNT> *>(small) = second;
}

// Four elements of a row; zeros from its end on.
inline __device__ void load_four(const float *row, unsigned at, unsigned end, bool aligned, float (&x)[4]) {
    if (aligned && at + 4 <= end) {
        const float4 v = *reinterpret_cast<const float4 *>(row + at);
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        x[i] = at + i < end ? row[at + i] : 0.0f;
}

// A warp has a row.
extern "C" __global__ void __launch_bounds__(GR_MATMUL_THREADS)
    t4_rows(const __grid_constant__ gr_matmul_split_params p) {
    pdl_launch_dependents();
    pdl_wait();
    const uint64_t row = blockIdx.x * uint64_t(GR_MATMUL_THREADS / 32) + threadIdx.x / 32;
    const uint64_t matrix = matrix_of_block();
    if (row >= p.rows || matrix >= p.matrices)
        return;
    const unsigned lane = threadIdx.x % 32, columns = unsigned(p.columns);
    const float *from =
        reinterpret_cast<const float *>(p.from) + int64_t(matrix) * p.matrix + int64_t(row) * p.row;
    const bool aligned = p.from % 16 == 0 && p.row % 4 == 0 && p.matrix % 4 == 0;
    float x[4];
    unsigned most = 0;
#pragma unroll 8
    for (unsigned i = lane * 4; i < columns; i += 128) {
        load_four(from, i, columns, aligned, x);
        most = max(max(most, max(magnitude(x[0]), magnitude(x[1]))), max(magnitude(x[2]), magnitude(x[3])));
    }
    const int exponent = exponent_for(__reduce_max_sync(0xffffffff, most));
    if (lane == 0)
        reinterpret_cast<float *>(p.scales)[matrix * p.rows + row] = power(-exponent);
    const float each = power(exponent), by[4] = {each, each, each, each};
    gr_f16 *big = reinterpret_cast<gr_f16 *>(p.hi_lo) + (2 * matrix * p.rows + row) * p.pitch;
#pragma unroll 8
    for (unsigned i = lane * 4; i < columns; i += 128) {
        load_four(from, i, columns, aligned, x);
        store_parts(big + i, big + p.rows * p.pitch + i, x, by);
    }
}

// A thread has a column of GR_MATMUL_MAXIMA_ROWS rows.
extern "C" __global__ void __launch_bounds__(GR_MATMUL_THREADS)
    t4_most(const __grid_constant__ gr_matmul_split_params p) {
    pdl_launch_dependents();
    pdl_wait();
    const unsigned blocks_n = unsigned((p.columns + GR_MATMUL_THREADS - 1) / GR_MATMUL_THREADS);
    const uint64_t column = blockIdx.x % blocks_n * uint64_t(GR_MATMUL_THREADS) + threadIdx.x;
    const uint64_t share = blockIdx.x / blocks_n,
                   shares = (p.rows + GR_MATMUL_MAXIMA_ROWS - 1) / GR_MATMUL_MAXIMA_ROWS;
    const uint64_t matrix = matrix_of_block();
    if (column >= p.columns || matrix >= p.matrices)
        return;
    const float *from = reinterpret_cast<const float *>(p.from) + int64_t(matrix) * p.matrix +
                        int64_t(share * GR_MATMUL_MAXIMA_ROWS) * p.row + column;
    const unsigned rows =
        unsigned(min(p.rows - share * GR_MATMUL_MAXIMA_ROWS, uint64_t(GR_MATMUL_MAXIMA_ROWS)));
    unsigned most = 0;
#pragma unroll 16
    for (unsigned i = 0; i < rows; ++i, from += p.row)
        most = max(most, magnitude(*from));
    reinterpret_cast<unsigned *>(p.maxima)[(matrix * shares + share) * p.columns + column] = most;
}

// A thread has two columns of GR_MATMUL_SPLIT_ROWS rows.
extern "C" __global__ void __launch_bounds__(GR_MATMUL_THREADS)
    t4_columns(const __grid_constant__ gr_matmul_split_params p) {
    pdl_launch_dependents();
    pdl_wait();
    constexpr unsigned BLOCK_COLUMNS = 2 * GR_MATMUL_THREADS;
    const unsigned blocks_n = unsigned((p.columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS);
    const uint64_t column = blockIdx.x % blocks_n * uint64_t(BLOCK_COLUMNS) + threadIdx.x * 2;
    const uint64_t first = blockIdx.x / blocks_n * uint64_t(GR_MATMUL_SPLIT_ROWS);
    const uint64_t matrix = matrix_of_block();
    if (column >= p.columns || matrix >= p.matrices)
        return;
    const bool both = column + 1 < p.columns;
    const unsigned shares = unsigned((p.rows + GR_MATMUL_MAXIMA_ROWS - 1) / GR_MATMUL_MAXIMA_ROWS);
    const unsigned *found =
        reinterpret_cast<const unsigned *>(p.maxima) + matrix * shares * p.columns + column;
    unsigned most[2] = {};
#pragma unroll 16
    for (unsigned i = 0; i < shares; ++i, found += p.columns) {
        most[0] = max(most[0], found[0]);
        most[1] = max(most[1], found[both]);
    }
    const int left = exponent_for(most[0]), right = exponent_for(most[1]);
    if (first == 0) {
        float *scales = reinterpret_cast<float *>(p.scales) + matrix * p.columns + column;
        scales[0] = power(-left);
        if (both)
            scales[1] = power(-right);
    }
    const float by[2] = {power(left), power(right)};
    const float *from = reinterpret_cast<const float *>(p.from) + int64_t(matrix) * p.matrix +
                        int64_t(first) * p.row + column;
    const unsigned rows = unsigned(min(p.rows - first, uint64_t(GR_MATMUL_SPLIT_ROWS)));
    float x[GR_MATMUL_SPLIT_ROWS][2];
#pragma unroll
    for (unsigned i = 0; i < GR_MATMUL_SPLIT_ROWS; ++i)
        if (i < rows) {
            x[i][0] = from[int64_t(i) * p.row];
            x[i][1] = from[int64_t(i) * p.row + both];
        }
    gr_f16 *big = reinterpret_cast<gr_f16 *>(p.hi_lo) + (2 * matrix * p.rows + first) * p.pitch + column;
#pragma unroll
    for (unsigned i = 0; i < GR_MATMUL_SPLIT_ROWS; ++i)
        if (i < rows) // there is a place for the second one, too
            store_parts(big + i * p.pitch, big + (p.rows + i) * p.pitch, x[i], by);
}

} // namespace gr::matmul
