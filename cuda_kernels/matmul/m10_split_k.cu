// m10: small tiles, and k split over a cluster.
//
// What m9 still cost: a product with few tiles of 128 by 128 left most multiprocessors idle.
// The change: tiles down to 32 by 64, each in an entry of its own, and a cluster of blocks for each tile. Its
// blocks take a part of k each, lay their sums into shared memory, and each adds up its part of the tile over
// all blocks, in their order, so that the result does not depend on who comes first. What limits it now: a
// small tile loads more elements for each multiply-add. Where it shows: blocks; loads from other blocks'
// shared memory; barriers of clusters.
#include "cluster.cuh"
#include "matmul.cuh"
#include "matmul_ring.cuh"

// A block's tile, of which a thread makes DOWN by ACROSS results, and a warp eight by four times as many.
template <int ROWS_, int COLUMNS_, int DOWN_, int ACROSS_> struct Shape {
    enum { ROWS = ROWS_, COLUMNS = COLUMNS_, DOWN = DOWN_, ACROSS = ACROSS_, DEEP = 16 };
    enum { WARP_ROWS = 8 * DOWN, WARP_COLUMNS = 4 * ACROSS };
    enum { THREADS = 32 * (ROWS / WARP_ROWS) * (COLUMNS / WARP_COLUMNS) };
};

// Each block adds up its part of the tile over the sums of all PARTS blocks, in their order.
template <int PARTS, int THREADS, class T, int ROWS, int COLUMNS>
__device__ void add_up(const Matrices<T> &p, uint64_t first_row, uint64_t first_column,
                       T (&tile)[ROWS][COLUMNS], unsigned part) {
    constexpr int LENGTH = Vector<T>::LENGTH;
    const bool aligned = rows_aligned(p.c, p.n);
#pragma unroll 2
    for (unsigned i = (part * THREADS + threadIdx.x) * LENGTH; i < ROWS * COLUMNS;
         i += PARTS * THREADS * LENGTH) {
        const unsigned row = i / COLUMNS, column = i % COLUMNS;
        Vector<T> all[PARTS];
#pragma unroll
        for (int other = 0; other < PARTS; ++other)
            all[other] = *in_block(reinterpret_cast<Vector<T> *>(&tile[row][column]), other);
#pragma unroll
        for (int other = 1; other < PARTS; ++other)
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                all[0].element[j] += all[other].element[j];
        if (first_row + row < p.m)
            store_vector(p.c + (first_row + row) * p.n, first_column + column, p.n, aligned, all[0]);
    }
}

template <class T, class S, bool A_TURNED, bool B_TURNED>
__device__ void matmul(const Matrices<T> &p, Block block, unsigned part, unsigned parts) {
    __shared__ alignas(16) union {
        Ring<T, S::ROWS, S::COLUMNS, S::DEEP, S::THREADS, A_TURNED, B_TURNED> ring;
        T sums[S::ROWS][S::COLUMNS];
    } shared;
    const uint64_t first_row = block.y * S::ROWS, first_column = block.x * S::COLUMNS;
    const unsigned warp = threadIdx.x / 32;
    const unsigned y = warp / (S::COLUMNS / S::WARP_COLUMNS) * S::WARP_ROWS + lane_down() * 4;
    const unsigned x = warp % (S::COLUMNS / S::WARP_COLUMNS) * S::WARP_COLUMNS + lane_across() * 4;
    // This block's part of k, whole steps but for the last.
    const uint64_t each = ((p.k + S::DEEP - 1) / S::DEEP + parts - 1) / parts * S::DEEP;
    const uint64_t first = min(each * part, p.k), end = min(first + each, p.k);

    T sums[S::DOWN][S::ACROSS] = {};
    const auto multiply = [&](const auto &tile_a, const auto &tile_b, const auto &begin_copies) {
#pragma unroll
        for (int i = 0; i < S::DEEP; ++i) {
            begin_copies(i);
            T down[S::DOWN], across[S::ACROSS];
            load_fragment<32>(&tile_a[i][y], down);
            load_fragment<16>(&tile_b[i][x], across);
            add_products_serpentine(down, across, sums);
        }
    };
    shared.ring.each_step(p, first_row, first_column, first, end, multiply);
    free_of_store(sums);
    if (parts == 1) {
        store_results<32, 16>(p, first_row + y, first_column + x, sums);
        return;
    }
    __syncthreads(); // the ring makes room for the sums
    store_to_tile<S::COLUMNS, 32, 16>(&shared.sums[y][x], sums);
    cluster_arrive();
    cluster_wait();
    switch (parts) {
    case 2:
        add_up<2, S::THREADS>(p, first_row, first_column, shared.sums, part);
        break;
    case 4:
        add_up<4, S::THREADS>(p, first_row, first_column, shared.sums, part);
        break;
    default:
        add_up<8, S::THREADS>(p, first_row, first_column, shared.sums, part);
    }
    cluster_arrive(); // before any block ends, of which others may still read
    cluster_wait();
}

// The blocks of a cluster, side by side in the grid, share a tile.
template <class T, class S, bool A_TURNED, bool B_TURNED>
__device__ void matmul_of(const gr_matmul_params &p) {
    const uint64_t pair = uint64_t(blockIdx.z) * gridDim.y + blockIdx.y;
    if (pair >= p.pairs)
        return;
    const unsigned parts = cluster_size(), tile = blockIdx.x / parts, across = unsigned(p.across);
    matmul<T, S, A_TURNED, B_TURNED>(matrices_of<T>(p, pair), Block{tile % across, tile / across},
                                     blockIdx.x % parts, parts);
}

#define GR_ENTRY(rows, columns, shape, blocks, suffix, a_turned, b_turned)                                   \
    extern "C" __global__ void __launch_bounds__(shape::THREADS, blocks)                                     \
        m10_f32_##rows##x##columns##suffix(const __grid_constant__ gr_matmul_params p) {                     \
        matmul_of<float, shape, a_turned, b_turned>(p);                                                      \
    }
// Of matrices whose rows, n, or whose columns, t, have their elements side by side: A, then B. A
// multiprocessor is to have room for so many blocks.
#define GR_MATMUL(rows, columns, down, across, blocks)                                                       \
    typedef Shape<rows, columns, down, across> Shape##rows##x##columns;                                      \
    GR_ENTRY(rows, columns, Shape##rows##x##columns, blocks, _nn, false, false)                              \
    GR_ENTRY(rows, columns, Shape##rows##x##columns, blocks, _nt, false, true)                               \
    GR_ENTRY(rows, columns, Shape##rows##x##columns, blocks, _tn, true, false)                               \
    GR_ENTRY(rows, columns, Shape##rows##x##columns, blocks, _tt, true, true)

GR_MATMUL(128, 64, 16, 8, 4)
GR_MATMUL(64, 64, 8, 8, 6)
GR_MATMUL(32, 64, 4, 8, 8)
