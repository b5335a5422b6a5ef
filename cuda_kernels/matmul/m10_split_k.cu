// m10: small tiles, and k split over a cluster.
//
// What m9 still cost: a product with few tiles of 128 by 128 left most multiprocessors idle.
// The change: tiles down to 8 by 64, each in an entry of its own, and a cluster of blocks for each tile.
// Each block processes a part of k, stores its sums in shared memory, and adds its part of the tile over all
// blocks, in their order, so that the result does not depend on the order in which blocks finish. If that is
// not enough, k is first split into slices, each with a C of its own. If the order of the sums must not
// depend on the number of rows, n and k determine the parts of k: the blocks of a cluster or the slices take
// one each, or a block takes one after the other in rounds and adds each to C. What limits it now: a small
// tile loads more elements per multiply-add. Where it shows: blocks; loads from the shared memory of other
// blocks; cluster barriers.
#include <type_traits>

#include "common/cluster.cuh"
#include "common/element_types.cuh"
#include "common/entry.cuh"
#include "matmul/k_steps.cuh"
#include "matmul/matmul.cuh"
#include "matmul/split_k.cuh"

using namespace gr::matmul;

// Arithmetic of complex numbers, in their namespace: templates of headers look there, too.
namespace gr::common {

// Four real multiply-adds for each complex one.
inline __device__ gr_c64 multiply_add(gr_c64 a, gr_c64 b, gr_c64 c) {
    return {fmaf(a.re, b.re, fmaf(-a.im, b.im, c.re)), fmaf(a.re, b.im, fmaf(a.im, b.re, c.im))};
}

inline __device__ void operator+=(gr_c64 &a, gr_c64 b) {
    a.re += b.re;
    a.im += b.im;
}

inline __device__ void operator*=(gr_c64 &a, float factor) {
    a.re *= factor;
    a.im *= factor;
}

} // namespace gr::common

// A block's tile, of which a thread makes THREAD_M by THREAD_N results.
template <int ROWS_, int COLUMNS_, int THREAD_M_, int THREAD_N_, int STAGES_> struct Shape {
    enum { ROWS = ROWS_, COLUMNS = COLUMNS_, TILE_K = GR_MATMUL_TILE_K, STAGES = STAGES_ };
    enum { THREAD_M = THREAD_M_, THREAD_N = THREAD_N_, THREADS = ROWS * COLUMNS / (THREAD_M * THREAD_N) };
    typedef Lane < COLUMNS, THREAD_M, THREAD_N,
        ROWS == GR_MATMUL_FEW_ROWS ? 2 : THREAD_M<THREAD_N ? 8 : 4> In;
    static_assert(In::WARP_COLUMNS <= COLUMNS && In::WARP_ROWS <= ROWS, "a warp's tile fits in the block's");
};

// Each block adds up its part of the tile over the sums of all blocks, in their order.
template <int THREADS, class T, int ROWS, int COLUMNS>
__device__ void add_up(const Matrices<T> &p, const ShiftedTileCoord &place, T (&tile)[ROWS][COLUMNS],
                       unsigned part, unsigned parts) {
    constexpr int LENGTH = Vec16<T>::LENGTH;
    const bool aligned = rows_aligned(p.c, p.n);
    for (unsigned i = (part * THREADS + threadIdx.x) * LENGTH; i < ROWS * COLUMNS;
         i += parts * THREADS * LENGTH) {
        Vec16<T> *mine = reinterpret_cast<Vec16<T> *>(&tile[i / COLUMNS][i % COLUMNS]);
        Vec16<T> sum = *in_block(mine, 0);
#pragma unroll 4
        for (unsigned other = 1; other < parts; ++other) {
            const Vec16<T> more = *in_block(mine, other);
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                sum.element[j] += more.element[j];
        }
        store_own(p, place, place.row + i / COLUMNS, place.column + i % COLUMNS, aligned, sum);
    }
}

// A thread's results, and where they are: in runs of four rows and columns.
template <class S, class T> struct InRuns {
    T sums[S::THREAD_M][S::THREAD_N] = {};
    unsigned y = S::In::y(), x = S::In::x();

    // The products of a step; `begin_copies` is called for each element along k.
    template <class A, class B, class F>
    __device__ void multiply(const A &tile_a, const B &tile_b, const F &begin_copies) {
#pragma unroll
        for (int i = 0; i < S::TILE_K; ++i) {
            begin_copies(i);
            T frag_a[S::THREAD_M], frag_b[S::THREAD_N];
            load_fragment<S::In::RUN_M>(&tile_a[i][y], frag_a);
            load_fragment<S::In::RUN_N>(&tile_b[i][x], frag_b);
            add_products_serpentine(frag_a, frag_b, sums);
        }
    }
    __device__ void store(const Matrices<T> &p, const ShiftedTileCoord &place, bool adds) {
        free_of_store(sums);
        store_own_results<typename S::In>(p, place, y, x, sums, adds);
    }
    __device__ void store(T (&tile)[S::ROWS][S::COLUMNS]) {
        free_of_store(sums);
        store_to_tile<typename S::In, S::COLUMNS>(&tile[y][x], sums);
    }
};

// The same of a tile of B that has a row for each column: a thread has every 16th column, so that lanes that
// are served at once have no bank conflicts, and loads four elements along k at once.
template <class S, class T> struct KMajor {
    enum { LANES_N = 16, LENGTH = Vec16<T>::LENGTH };
    static_assert(S::THREADS == 32 && S::ROWS == 8 && S::COLUMNS == 64, "a warp has the tile");
    T sums[4][4] = {};
    unsigned y = threadIdx.x / LANES_N * 4, x = threadIdx.x % LANES_N;

    template <class A, class B, class F>
    __device__ void multiply(const A &tile_a, const B &tile_b, const F &begin_copies) {
#pragma unroll
        for (int i = 0; i < S::TILE_K; i += LENGTH) {
            begin_copies(i);
            Vec16<T> of_b[4];
#pragma unroll
            for (int s = 0; s < 4; ++s)
                of_b[s] = *reinterpret_cast<const Vec16<T> *>(&tile_b[x + LANES_N * s][i]);
#pragma unroll
            for (int j = 0; j < LENGTH; ++j) {
                T frag_a[4], frag_b[4];
                load_fragment<4>(&tile_a[i + j][y], frag_a);
#pragma unroll
                for (int s = 0; s < 4; ++s)
                    frag_b[s] = of_b[s].element[j];
                add_products_serpentine(frag_a, frag_b, sums);
            }
        }
    }
    __device__ void store(const Matrices<T> &p, const ShiftedTileCoord &place, bool adds) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
            for (int s = 0; s < 4; ++s) {
                const uint64_t row = place.row + y + r, column = place.column + x + LANES_N * s;
                if (row < place.own_row || row >= p.m || column < place.own_column || column >= p.n)
                    continue;
                T *to = p.c + row * p.n + column;
                *to = adds ? *to + sums[r][s] : sums[r][s];
            }
    }
    __device__ void store(T (&tile)[S::ROWS][S::COLUMNS]) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
            for (int s = 0; s < 4; ++s)
                tile[y + r][x + LANES_N * s] = sums[r][s];
    }
};

// Of `of` parts of k, over all slices, this block has number `number`; its cluster shares those of a slice.
// ROUNDS: it has all of them, one after the other, and adds each to C.
template <class T, class S, Checks CHECKS, bool ROUNDS>
__device__ void matmul(const Matrices<T> &p, Block block, unsigned number, unsigned of, unsigned parts) {
    __shared__ alignas(16) union {
        Steps<T, S::ROWS, S::COLUMNS, S::TILE_K, S::THREADS, S::STAGES, CHECKS> steps;
        T sums[S::ROWS][S::COLUMNS];
    } shared;
    const ShiftedTileCoord place = shifted_tile_coord<S::ROWS, S::COLUMNS>(p, block);
    typename std::conditional<CHECKS == OF_A_K_MAJOR, KMajor<S, T>, InRuns<S, T>>::type results;
    const auto multiply = [&](const auto &tile_a, const auto &tile_b, const auto &begin_copies) {
        results.multiply(tile_a, tile_b, begin_copies);
    };
    if (ROUNDS) {
        shared.steps.each_part(p, place, KRange::of<S::TILE_K>(p.k, 0, 1), of, multiply, [&](unsigned round) {
            results.store(p, place, round > 0);
            clear(results.sums);
        });
        return;
    }
    shared.steps.each(p, place, KRange::of<S::TILE_K>(p.k, number, of), multiply);
    if (parts == 1) {
        results.store(p, place, false);
        return;
    }
    __syncthreads(); // the stages are reused for the sums
    results.store(shared.sums);
    cluster_sync();
    add_up<S::THREADS>(p, place, shared.sums, number % parts, parts);
    cluster_sync(); // before any block ends, of which others may still read
}

// The blocks of a cluster, side by side in the grid, share a tile.
template <class T, class S, Checks CHECKS, bool ROUNDS> __device__ void matmul_of(const gr_matmul_params &p) {
    const unsigned pairs = unsigned(p.pairs), pair = blockIdx.z * gridDim.y + blockIdx.y; // of all slices
    if (pair >= pairs)
        return;
    const unsigned slices = unsigned(p.slices), slice = slices == 1 ? 0 : pair / (pairs / slices);
    if (slices > 1)
        pdl_launch_dependents(); // the sum, which waits for the slices
    const unsigned parts = ROUNDS ? 1 : cluster_size(), tile = blockIdx.x / parts;
    const unsigned tiles_n = unsigned(p.n_tiles);
    matmul<T, S, CHECKS, ROUNDS>(matrices_of<T>(p, pair), Block{tile % tiles_n, tile / tiles_n},
                                 slice * parts + blockIdx.x % parts,
                                 ROUNDS ? unsigned(p.rounds) : slices * parts, parts);
}

// For matrices stored by rows, and for any others; in the tiles of few rows, A may be any in both. `blocks`
// must fit on a multiprocessor.
#define GR_SHAPE(T, shape, blocks, name, checks)                                                             \
    GR_ENTRY((shape::THREADS, blocks), name, __grid_constant__ gr_matmul_params,                             \
             matmul_of<T, shape, checks, false>)                                                             \
    GR_ENTRY((shape::THREADS, blocks), name##_rounds, __grid_constant__ gr_matmul_params,                    \
             matmul_of<T, shape, checks, true>)
#define GR_MATMUL(of, T, rows, columns, thread_m, thread_n, stages, blocks)                                  \
    typedef Shape<rows, columns, thread_m, thread_n, stages> Of_##of##rows##x##columns;                      \
    static_assert(row_m10_##of##_##rows##x##columns[0] == Of_##of##rows##x##columns::THREADS &&              \
                  row_m10_##of##_##rows##x##columns[1] == blocks);                                           \
    GR_SHAPE(T, Of_##of##rows##x##columns, blocks, m10_##of##_##rows##x##columns,                            \
             rows == GR_MATMUL_FEW_ROWS ? OF_A : NONE)                                                       \
    GR_SHAPE(T, Of_##of##rows##x##columns, blocks, m10_##of##_##rows##x##columns##_any, OF_BOTH)

GR_MATMUL(f32, float, 128, 64, 8, 8, 2, 4)
GR_MATMUL(f32, float, 64, 128, 8, 8, 3, 4)
GR_MATMUL(f32, float, 32, 64, 8, 4, 3, 8)
GR_MATMUL(f32, float, 32, 32, 4, 4, 4, 8)
GR_MATMUL(f32, float, 8, 64, 4, 4, 5, 8)
GR_MATMUL(c64, gr_c64, 32, 32, 4, 4, 2, 8)
GR_MATMUL(c64, gr_c64, 8, 64, 4, 4, 3, 6)
GR_SHAPE(float, Of_f328x64, 8, m10_f32_8x64_k_major, OF_A_K_MAJOR)

GR_ENTRY((GR_MATMUL_THREADS), m10_sum_f32, __grid_constant__ gr_matmul_add_slices_params, add_slices<float>)
