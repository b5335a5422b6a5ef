// m9: the order of the instructions.
//
// What m8 still cost: the register file gives two operands of a multiply-add a cycle, one of an even register
// and one of an odd, and the multiply-adds waited for the third; and all copies of a step were begun at once,
// while no warp computed.
// The change: the products go forth along a row and back along the next, so that each shares an operand with
// the one before it, also at the turns, and reads that one no more. The copies are begun between them, in a
// loop without branches, for which tiles at the edges lie over their neighbours. A thread makes 16 by 8
// results, so that a warp's tile is square, and multiplies them by one before it stores them: thus none need
// lie in registers in the order of its store. What limits it now: loads from shared memory come late; small
// products leave multiprocessors idle. Where it shows: time, and nothing else.
#include "common/entry.cuh"
#include "matmul/k_steps.cuh"
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, DEEP = GR_MATMUL_TILE_K, THREADS = 128, STAGES = 2, BLOCKS = 2 };
enum { DOWN = 16, ACROSS = 8 }; // results of a thread
typedef Lane<COLUMNS, DOWN, ACROSS> In;

template <class T, bool ANYHOW> __device__ void matmul(const Matrices<T> &p, Block block) {
    __shared__ alignas(16) union {
        Steps<T, ROWS, COLUMNS, DEEP, THREADS, STAGES, ANYHOW, ANYHOW ? 1 : 4> steps;
        Rows<In, T, THREADS> rows;
    } shared;
    const TileCoord place = tile_coord<ROWS, COLUMNS>(p, block);
    const unsigned y = In::y(), x = In::x();

    T sums[DOWN][ACROSS] = {};
    const auto multiply = [&](const auto &tile_a, const auto &tile_b, const auto &begin_copies) {
#pragma unroll
        for (int i = 0; i < DEEP; ++i) {
            begin_copies(i);
            T down[DOWN], across[ACROSS];
            load_fragment<In::RUN_DOWN>(&tile_a[i][y], down);
            load_fragment<In::RUN_ACROSS>(&tile_b[i][x], across);
#pragma unroll
            for (int r = 0; r < DOWN; ++r)
#pragma unroll
                for (int j = 0; j < ACROSS; ++j) {
                    const int s = r % 2 ? ACROSS - 1 - j : j;
                    sums[r][s] = multiply_add(down[r], across[s], sums[r][s]);
                }
        }
    };
    shared.steps.each(p, place, Span::of<DEEP>(p.k, 0, 1), multiply);
    free_of_store(sums);
    if (rows_aligned(p.c, p.n)) {
        store_own_results<In>(p, place, y, x, sums);
        return;
    }
    // 2048 x 2047 x 1024 takes 185 us on an H200, and 195 where each thread stores its own, 4 bytes at once.
    __syncthreads();
    store_own_rows(p, place, y, x, shared.rows, sums);
}

template <bool ANYHOW> __device__ void matmul_of(const gr_matmul_params &p) {
    const uint64_t pair = matrix_of_block();
    const unsigned across = unsigned(p.n_tiles);
    if (pair < p.pairs)
        matmul<float, ANYHOW>(matrices_of<float>(p, pair), Block{blockIdx.x % across, blockIdx.x / across});
}

// For matrices stored by rows, and for any others.
GR_ENTRY((THREADS, BLOCKS), m9_f32, __grid_constant__ gr_matmul_params, matmul_of<false>)
GR_ENTRY((THREADS, BLOCKS), m9_f32_any, __grid_constant__ gr_matmul_params, matmul_of<true>)
