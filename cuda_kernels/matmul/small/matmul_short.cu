// Products with a short k, whose time is that of reading A and B and of writing C. There are no tiles in
// shared memory and no barriers: a thread loads the elements that it multiplies, which neighbours find in the
// L1 cache, and holds `ROWS` by `COLUMNS` results in registers. Operands of any strides and alignment are
// read as they are. The products of a result are added in the order of k, by fused multiply-adds: float32 has
// the bits of m10, and float64 those of t5, as long as k is one part.
#include "common/entry.cuh"
#include "common/mma.cuh"
#include "common/pdl.cuh"
#include "matmul/accumulators.cuh"
#include "matmul/global_load.cuh"
#include "matmul/short/params.h"

using namespace gr::common;
using namespace gr::matmul;

// Returns a sum of `length` products as an element of C. A sum of -0 becomes 0 where the kernels for larger
// products add zeros beyond the end of k: always in t5, and otherwise if k is no multiple of their tiles.
template <class T, class W> __device__ T result_of(W sum, unsigned length) {
    constexpr unsigned TILE_K = sizeof(T) == 8 ? 1u << 31 : sizeof(T) == 4 ? GR_MATMUL_TILE_K : 8;
    return Accumulator<T>::back(length % TILE_K != 0 ? sum + W(0) : sum);
}

template <class T, int ROWS, int COLUMNS> __device__ void multiply_short(const gr_matmul_short_params &p) {
    typedef typename Accumulator<T>::type W;
    // Elements along k that are loaded before the first is multiplied.
    constexpr unsigned AT_ONCE = ROWS * COLUMNS < 16 ? 8 : 4;
    const gr_matmul_params &product = p.product;
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const unsigned across = 1u << p.across_log2, down = blockDim.x >> p.across_log2;
    const unsigned n_tiles = unsigned(product.n_tiles);
    const uint64_t first_row =
                       uint64_t(blockIdx.x / n_tiles) * (down * ROWS) + (threadIdx.x >> p.across_log2),
                   first_column =
                       uint64_t(blockIdx.x % n_tiles) * (across * COLUMNS) + (threadIdx.x & (across - 1));
    // Rows and columns beyond the last read those of the last, so that no load has a condition.
    const T *a[ROWS], *b[COLUMNS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        a[r] = of.row_of_a(min(first_row + r * down, of.m - 1));
#pragma unroll
    for (int s = 0; s < COLUMNS; ++s)
        b[s] = of.b + int64_t(min(first_column + s * across, of.n - 1)) * of.b_column;
    pdl_launch_dependents();
    pdl_wait();
    W sums[ROWS][COLUMNS] = {};
    const auto step = [&](unsigned k, unsigned count) {
        W of_a[ROWS][AT_ONCE], of_b[COLUMNS][AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const bool inside = unsigned(i) < count;
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                of_a[r][i] =
                    inside ? Accumulator<T>::of(load_global(a[r] + int64_t(k + i) * of.a_column)) : W(0);
#pragma unroll
            for (int s = 0; s < COLUMNS; ++s)
                of_b[s][i] =
                    inside ? Accumulator<T>::of(load_global(b[s] + int64_t(k + i) * of.b_row)) : W(0);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int s = 0; s < COLUMNS; ++s)
                    sums[r][s] = multiply_add(of_a[r][i], of_b[s][i], sums[r][s]);
    };
    const unsigned length = unsigned(of.k);
    unsigned k = 0;
    for (; k + AT_ONCE <= length; k += AT_ONCE)
        step(k, AT_ONCE);
    if (k < length)
        step(k, length - k);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int s = 0; s < COLUMNS; ++s) {
            const uint64_t row = first_row + r * down, column = first_column + s * across;
            if (row < of.m && column < of.n)
                of.c[row * of.n + column] = result_of<T>(sums[r][s], length);
        }
}

// The same for a k of up to LONGEST and many results: a thread has four columns, whose elements of B it loads
// once, and takes one group of rows after the other.
template <class T, int LONGEST> __device__ void multiply_rows(const gr_matmul_short_params &p) {
    typedef typename Accumulator<T>::type W;
    constexpr int COLUMNS = 4, ROWS = 4; // per thread; rows that are loaded at once
    const gr_matmul_params &product = p.product;
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const unsigned across = 1u << p.across_log2, down = blockDim.x >> p.across_log2;
    const unsigned n_tiles = unsigned(product.n_tiles), length = unsigned(of.k);
    const uint64_t first_column =
        uint64_t(blockIdx.x % n_tiles) * (across * COLUMNS) + (threadIdx.x & (across - 1));
    const uint64_t step = uint64_t(gridDim.x / n_tiles) * down; // rows from one of a thread to its next
    uint64_t row = uint64_t(blockIdx.x / n_tiles) * down + (threadIdx.x >> p.across_log2);
    bool inside[COLUMNS];
    pdl_launch_dependents();
    pdl_wait();
    W of_b[COLUMNS][LONGEST];
#pragma unroll
    for (int s = 0; s < COLUMNS; ++s) {
        const uint64_t column = first_column + s * across;
        inside[s] = column < of.n;
        const T *b = of.b + int64_t(min(column, of.n - 1)) * of.b_column;
#pragma unroll
        for (int i = 0; i < LONGEST; ++i)
            of_b[s][i] = unsigned(i) < length ? Accumulator<T>::of(load_global(b + i * of.b_row)) : W(0);
    }
    const int64_t a_step = int64_t(step) * of.a_row, c_step = int64_t(step * of.n);
    const T *a = of.row_of_a(row);
    T *c = of.c + row * of.n + first_column;
    while (row < of.m) {
        W of_a[ROWS][LONGEST];
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int i = 0; i < LONGEST; ++i)
                of_a[r][i] = unsigned(i) < length && row + r * step < of.m
                                 ? Accumulator<T>::of(load_global(a + r * a_step + i * of.a_column))
                                 : W(0);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (row + r * step >= of.m)
                break;
#pragma unroll
            for (int s = 0; s < COLUMNS; ++s) {
                W sum = 0;
#pragma unroll
                for (int i = 0; i < LONGEST; ++i)
                    sum = multiply_add(of_a[r][i], of_b[s][i], sum);
                if (inside[s])
                    c[r * c_step + s * across] = result_of<T>(sum, length);
            }
        }
        row += ROWS * step;
        a += ROWS * a_step;
        c += ROWS * c_step;
    }
}

// Products of halves in the order of t3, by mma.sync: a warp has 16 by 8 results, and its lanes load the
// elements of their fragments.
template <class T> __device__ void multiply_fragments(const gr_matmul_params &product) {
    constexpr unsigned AT_ONCE = 4; // steps of 16 elements along k that are loaded at once
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const unsigned lane = threadIdx.x % 32;
    const uint64_t tile = uint64_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    const uint64_t n_tiles = product.n_tiles, first_row = tile / n_tiles * 16,
                   first_column = tile % n_tiles * 8;
    if (first_row >= of.m)
        return;
    const T *a[2] = {of.row_of_a(min(first_row + lane / 4, of.m - 1)),
                     of.row_of_a(min(first_row + lane / 4 + 8, of.m - 1))};
    const T *b = of.b + int64_t(min(first_column + lane / 4, of.n - 1)) * of.b_column;
    pdl_launch_dependents();
    pdl_wait();
    float sums[4] = {};
    const unsigned length = unsigned(of.k);
    for (unsigned k = 0; k < length; k += 16 * AT_ONCE) {
        alignas(4) T of_a[AT_ONCE][4][2];
        alignas(4) T of_b[AT_ONCE][2][2];
#pragma unroll
        for (int step = 0; step < int(AT_ONCE); ++step)
#pragma unroll
            for (int half = 0; half < 2; ++half)
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const unsigned at = k + step * 16 + half * 8 + lane % 4 * 2 + i;
                    const bool is_inside = at < length;
#pragma unroll
                    for (int r = 0; r < 2; ++r)
                        of_a[step][half * 2 + r][i] =
                            is_inside ? load_global(a[r] + int64_t(at) * of.a_column) : T(0.f);
                    of_b[step][half][i] = is_inside ? load_global(b + int64_t(at) * of.b_row) : T(0.f);
                }
#pragma unroll
        for (int step = 0; step < int(AT_ONCE); ++step)
            if (k + step * 16 < length) {
                uint32_t words[4], columns[2];
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    words[i] = reinterpret_cast<const uint32_t &>(of_a[step][i]);
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    columns[i] = reinterpret_cast<const uint32_t &>(of_b[step][i]);
                ptx::mma_m16n8(T(), words, columns[0], columns[1], sums);
            }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint64_t row = first_row + lane / 4 + i / 2 * 8, column = first_column + lane % 4 * 2 + i % 2;
        if (row < of.m && column < of.n)
            of.c[row * of.n + column] = T(sums[i]);
    }
}

#define GR_SHORT(suffix, T)                                                                                  \
    GR_ENTRY((GR_MATMUL_THREADS), matmul_short_1x1_##suffix, __grid_constant__ gr_matmul_short_params,       \
             multiply_short<T, 1, 1>)                                                                        \
    GR_ENTRY((GR_MATMUL_THREADS), matmul_short_4x4_##suffix, __grid_constant__ gr_matmul_short_params,       \
             multiply_short<T, 4, 4>)                                                                        \
    GR_ENTRY((GR_MATMUL_THREADS), matmul_short_rows4_##suffix, __grid_constant__ gr_matmul_short_params,     \
             multiply_rows<T, 4>)                                                                            \
    GR_ENTRY((GR_MATMUL_THREADS), matmul_short_rows8_##suffix, __grid_constant__ gr_matmul_short_params,     \
             multiply_rows<T, 8>)
#define GR_SHORT_FRAGMENTS(suffix, T)                                                                        \
    GR_ENTRY((GR_MATMUL_THREADS), matmul_short_fragments_##suffix, __grid_constant__ gr_matmul_params,       \
             multiply_fragments<T>)
GR_SHORT(f16, gr_f16)
GR_SHORT(bf16, gr_bf16)
GR_SHORT(f32, float)
GR_SHORT(f64, double)
GR_SHORT_FRAGMENTS(f16, gr_f16)
GR_SHORT_FRAGMENTS(bf16, gr_bf16)
