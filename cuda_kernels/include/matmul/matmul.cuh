// Common parts of the matrix multiplications: pointers and strides of a pair of matrices in a batch, and the
// multiply-add of each element type.
#pragma once

#include <cstdint>

#include "matmul/params.h"

namespace gr::matmul {

// The rows of rungs.def, small_tiles.def and tiles.def, which the host plans by: row_t1, row_t1_low_4,
// row_m10_f32_32x64. Kernels hold their own constants against them.
struct RungRow {
    unsigned rows, columns, threads, shared, cluster, a_box, b_box;
};
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, dtypes, precision,  \
                rows, columns, threads, shared, blocks, cluster, a_box, b_box, c_box)                        \
    constexpr RungRow row_##name = {rows, columns, threads, shared, cluster, a_box, b_box};
#include "matmul/rungs.def"
#undef GR_RUNG
#define GR_SMALL_TILE(rung, entry, item_bytes, rows, columns, shared, a_box, ...)                            \
    constexpr RungRow row_##entry##_##item_bytes = {rows, columns, row_##rung.threads, shared,               \
                                                    1,    a_box,   row_##rung.b_box};
#include "matmul/small_tiles.def"
#undef GR_SMALL_TILE
#define GR_TILE(rung, dtype, rows, columns, threads, blocks, ...)                                            \
    constexpr unsigned row_##rung##_##dtype##_##rows##x##columns[] = {threads, blocks};
#include "matmul/tiles.def"
#undef GR_TILE

// Kernels are built with -fmad=false, so that a * b + c stays two roundings; a matrix multiplication asks for
// one.
inline __device__ float multiply_add(float a, float b, float c) {
    return fmaf(a, b, c);
}

inline __device__ double multiply_add(double a, double b, double c) {
    return fma(a, b, c);
}

inline __device__ int32_t multiply_add(int32_t a, int32_t b, int32_t c) {
    return int32_t(uint32_t(a) * uint32_t(b) + uint32_t(c)); // wraps, as NumPy's
}

inline __device__ int64_t multiply_add(int64_t a, int64_t b, int64_t c) {
    return int64_t(uint64_t(a) * uint64_t(b) + uint64_t(c));
}

// A pair of matrices and the place of their product, whose rows are contiguous.
template <class T> struct Matrices {
    const T *a, *b;
    T *c;
    uint64_t m, n, k;
    int64_t a_row, b_row;       // elements from one row to the next, or back
    int64_t a_column, b_column; // from one element of a row to the next: 1 below m9

    __device__ const T *row_of_a(uint64_t row) const {
        return a + int64_t(row) * a_row;
    }
    __device__ const T *row_of_b(uint64_t row) const {
        return b + int64_t(row) * b_row;
    }
};

// The number of a block's matrix of a stack, or of its pair.
inline __device__ uint64_t matrix_of_block() {
    return uint64_t(blockIdx.z) * gridDim.y + blockIdx.y;
}

// The tile of C that a block computes: blocks are numbered along the rows of tiles.
struct Block {
    uint64_t x, y;
};

// Elements from the first matrix of a stack to that of number `index`.
template <class Params>
__device__ int64_t stack_offset(const Params &p, const int64_t *step, uint64_t index) {
    int64_t offset = 0;
    for (int d = 0; d < GR_MATMUL_STACKS && index > 0; ++d) {
        offset += int64_t(index % p.stack[d]) * step[d];
        index /= p.stack[d];
    }
    return offset;
}

// The pair of matrices of number `pair`.
template <class T> __device__ Matrices<T> matrices_of(const gr_matmul_params &p, uint64_t pair) {
    return {reinterpret_cast<const T *>(p.a) + stack_offset(p, p.a_stack, pair),
            reinterpret_cast<const T *>(p.b) + stack_offset(p, p.b_stack, pair),
            reinterpret_cast<T *>(p.c) + pair * p.m * p.n,
            p.m,
            p.n,
            p.k,
            p.a_row,
            p.b_row,
            p.a_column,
            p.b_column};
}

} // namespace gr::matmul
