// Products with up to eight columns, whose time is that of reading A: each row of A is read once, 16 bytes
// per lane and load, and multiplied with all columns of B. A block brings a part of B to shared memory,
// columns along k, and its warps take rows; the lanes of a warp share k. Their sums are added by shuffles, so
// that the order of a sum follows from k alone. Blocks share a long k by parts: the block that ends last adds
// up the parts, in their order.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "matmul/accumulators.cuh"
#include "matmul/global_load.cuh"
#include "matmul/last_part.cuh"
#include "matmul/panel.cuh"
#include "matmul/short/params.h"

using namespace gr::common;
using namespace gr::matmul;

enum {
    THREADS = GR_MATMUL_THREADS,
    WARPS = THREADS / 32,
    RESULTS = GR_MATMUL_COLUMNS_RESULTS, // sums per lane, of all rows and columns of its warp
    PARTS_AT_ONCE = 8                    // parts that are loaded at once to add them up
};

template <class T_, int COLUMNS_> struct FewColumns {
    typedef T_ T;
    typedef typename Accumulator<T>::type W;
    typedef Vec16<T> Vector;
    static constexpr int COLUMNS = COLUMNS_, ROWS = RESULTS / COLUMNS; // per warp
    static constexpr int LENGTH = Vector::LENGTH;
    static constexpr unsigned STEP = 32 * LENGTH;                    // elements along k per load of a warp
    static constexpr int AT_ONCE = GR_MATMUL_COLUMNS_STEPS(COLUMNS); // steps that are loaded at once
    static constexpr unsigned BATCH = AT_ONCE * STEP;
    static constexpr unsigned DEPTH =
        GR_MATMUL_COLUMNS_PART / (sizeof(T) == 8 ? 2 : 1); // of B in shared memory
    static_assert(DEPTH % BATCH == 0, "whole batches");
    typedef T Columns[COLUMNS][DEPTH];

    const T *rows[ROWS];
    int64_t column;
    bool by_vectors, by_windows; // how rows are loaded, if not by elements
    W sums[RESULTS] = {};        // number row * COLUMNS + column

    // Windows may begin before the first row or end after the last one, which are read by elements.
    __device__ FewColumns(const Matrices<T> &of, uint64_t first_row) : column(of.a_column) {
        by_vectors = column == 1 && of.k % LENGTH == 0 && rows_aligned(of.a, of.m == 1 ? 0 : of.a_row);
        by_windows = column == 1 && first_row > 0 && first_row + ROWS < of.m && llabs(of.a_row) >= LENGTH;
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            rows[r] = of.row_of_a(min(first_row + r, of.m - 1));
    }
    // Loads this lane's elements of a batch from `k` on; those from `end` on are zeros. Loads from `end` on
    // are of elements before it, so that no load has a condition.
    __device__ void load(uint64_t k, uint64_t end, Vector (&a)[AT_ONCE][ROWS]) const {
        const uint64_t first = k + threadIdx.x % 32 * LENGTH;
        if (by_vectors) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    a[i][r] = load_global(
                        reinterpret_cast<const Vector *>(rows[r] + min(first + i * STEP, end - LENGTH)));
        } else if (by_windows) {
            Words low[AT_ONCE][ROWS], high[AT_ONCE][ROWS];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const T *at = rows[r] + min(first + i * STEP, end - 1);
                    const Words *window =
                        reinterpret_cast<const Words *>(reinterpret_cast<uint64_t>(at) & ~uint64_t(15));
                    low[i][r] = load_global(window);
                    high[i][r] = load_global(window + 1);
                }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    reinterpret_cast<Words &>(a[i][r]) = shifted<sizeof(T)>(
                        low[i][r], high[i][r], unsigned(reinterpret_cast<uint64_t>(rows[r])) & 15);
        } else
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
#pragma unroll
                    for (int j = 0; j < LENGTH; ++j)
                        a[i][r].element[j] =
                            load_global(rows[r] + int64_t(min(first + i * STEP + j, end - 1)) * column);
        if (k + BATCH <= end)
            return;
        const int64_t inside = int64_t(end) - int64_t(first);
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int j = 0; j < LENGTH; ++j)
                    if (int64_t(i * STEP + j) >= inside)
                        a[i][r].element[j] = T(0.f);
    }
    __device__ void multiply(const Vector (&a)[ROWS], const Columns &b, unsigned k) {
        k += threadIdx.x % 32 * LENGTH;
        Vector of_b[COLUMNS];
#pragma unroll
        for (int s = 0; s < COLUMNS; ++s)
            of_b[s] = *reinterpret_cast<const Vector *>(&b[s][k]);
#pragma unroll
        for (int j = 0; j < LENGTH; ++j)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const W x = Accumulator<T>::of(a[r].element[j]);
#pragma unroll
                for (int s = 0; s < COLUMNS; ++s)
                    sums[r * COLUMNS + s] =
                        multiply_add(x, Accumulator<T>::of(of_b[s].element[j]), sums[r * COLUMNS + s]);
            }
    }
    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < RESULTS; ++i)
            sums[i] = 0;
    }
    // Adds the results of lanes that differ in bit LANE of their number; each lane keeps LANE / 2 results.
    template <int LANE> __device__ void add_lanes() {
        const bool upper = threadIdx.x & LANE;
#pragma unroll
        for (int i = 0; i < LANE / 2; ++i) {
            const W given = upper ? sums[i] : sums[i + LANE / 2], kept = upper ? sums[i + LANE / 2] : sums[i];
            sums[i] = kept + __shfl_xor_sync(0xffffffffu, given, LANE);
        }
    }
    // The sum over all lanes of result lane / 2, whose number is row * COLUMNS + column: lanes are added in
    // the same order for every result.
    __device__ W sum_of_lanes() {
        static_assert(RESULTS == 16, "one result for two lanes");
        add_lanes<16>();
        add_lanes<8>();
        add_lanes<4>();
        add_lanes<2>();
        return sums[0] + __shfl_xor_sync(0xffffffffu, sums[0], 1);
    }
};

// Brings `deep` elements along k of all columns from `k` on to shared memory, and zeros up to a whole step.
template <class S>
__device__ void bring_columns(const Matrices<typename S::T> &of, uint64_t k, unsigned deep,
                              typename S::Columns &to) {
    typedef typename S::T T;
    const unsigned whole = (deep + S::STEP - 1) / S::STEP * S::STEP;
    for (unsigned i = threadIdx.x; i < whole; i += THREADS) {
        const T *at = of.b + int64_t(k + min(i, deep - 1)) * of.b_row;
        T found[S::COLUMNS];
#pragma unroll
        for (int s = 0; s < S::COLUMNS; ++s)
            found[s] = load_global(at + int64_t(min(uint64_t(s), of.n - 1)) * of.b_column);
#pragma unroll
        for (int s = 0; s < S::COLUMNS; ++s)
            to[s][i] = i < deep ? found[s] : T(0.f);
    }
}

template <class S> __device__ void multiply_columns(const gr_matmul_columns_params &p) {
    typedef typename S::T T;
    typedef typename S::W W;
    __shared__ alignas(16) typename S::Columns columns;
    const gr_matmul_params &product = p.product;
    const uint64_t pair = matrix_of_block();
    if (pair >= product.pairs)
        return;
    const Matrices<T> of = matrices_of<T>(product, pair);
    const BlockParts own(product);
    const uint64_t tiles = (of.m + S::ROWS * WARPS - 1) / (S::ROWS * WARPS);
    const uint64_t begin = own.first * p.part_length, end = min(of.k, begin + own.count * p.part_length);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    pdl_launch_dependents();
    pdl_wait();
    uint64_t staged = ~uint64_t(0); // where the elements of B in shared memory begin
    for (uint64_t tile = own.tile; tile < tiles; tile += own.tiles) {
        const uint64_t first_row = (tile * WARPS + warp) * S::ROWS, place = pair * tiles + tile;
        W *const all = reinterpret_cast<W *>(p.sums) + place * own.parts * THREADS + threadIdx.x;
        S rows(of, first_row);
        W total = 0;
        unsigned part = own.first;
        uint64_t part_end = begin + p.part_length;
        for (uint64_t k = begin; k < end; k += S::BATCH) {
            const uint64_t stage = begin + (k - begin) / S::DEPTH * S::DEPTH;
            typename S::Vector a[S::AT_ONCE][S::ROWS];
            rows.load(k, end, a);
            if (staged != stage) {
                __syncthreads(); // all warps are done with the elements before
                bring_columns<S>(of, stage, unsigned(min(end - stage, uint64_t(S::DEPTH))), columns);
                staged = stage;
                __syncthreads();
            }
#pragma unroll
            for (int i = 0; i < S::AT_ONCE; ++i) {
                const uint64_t at = k + i * S::STEP, next = at + S::STEP;
                if (at >= end)
                    break;
                rows.multiply(a[i], columns, unsigned(at - stage));
                if (next < part_end && next < end)
                    continue;
                const W sum = rows.sum_of_lanes();
                rows.clear();
                if (own.blocks == 1)
                    total = part == 0 ? sum : total + sum;
                else
                    all[uint64_t(part) * THREADS] = sum;
                ++part;
                part_end += p.part_length;
            }
        }
        if (own.blocks > 1) {
            if (!is_last(reinterpret_cast<unsigned *>(p.tickets) + place, own.blocks))
                continue;
            total = __ldcg(all);
            for (unsigned first = 1; first < own.parts; first += PARTS_AT_ONCE) {
                W more[PARTS_AT_ONCE];
#pragma unroll
                for (int i = 0; i < PARTS_AT_ONCE; ++i)
                    more[i] = __ldcg(all + uint64_t(min(first + i, own.parts - 1)) * THREADS);
#pragma unroll
                for (int i = 0; i < PARTS_AT_ONCE; ++i)
                    total = first + i < own.parts ? total + more[i] : total;
            }
        }
        const uint64_t row = first_row + lane / 2 / S::COLUMNS;
        const unsigned column = lane / 2 % S::COLUMNS;
        if (lane % 2 == 0 && row < of.m && column < of.n)
            of.c[row * of.n + column] = Accumulator<T>::back(total);
    }
}

#define GR_FEW_COLUMNS(columns, suffix, T)                                                                   \
    typedef FewColumns<T, columns> Of_##columns##_##suffix;                                                  \
    GR_ENTRY((THREADS, 2), matmul_columns_##columns##_##suffix, __grid_constant__ gr_matmul_columns_params,  \
             multiply_columns<Of_##columns##_##suffix>)
#define GR_FEW_COLUMNS_OF(suffix, T)                                                                         \
    GR_FEW_COLUMNS(2, suffix, T)                                                                             \
    GR_FEW_COLUMNS(4, suffix, T)                                                                             \
    GR_FEW_COLUMNS(8, suffix, T)
GR_FEW_COLUMNS_OF(f16, gr_f16)
GR_FEW_COLUMNS_OF(bf16, gr_bf16)
GR_FEW_COLUMNS_OF(f32, float)
GR_FEW_COLUMNS_OF(f64, double)
