// m9: the order of the instructions.
//
// What m8 still cost: the register file delivers two operands of a multiply-add per cycle, one from an even
// register and one from an odd one, and the multiply-adds waited for the third; and all copies of a step were
// issued at once, while no warp computed.
// The change: the products run forward along a row and back along the next (a serpentine), so that each
// shares an operand with the previous one, at the turns, too, which is then read once. The copies are issued
// between them, in a loop without branches, for which tiles at the edges overlap their neighbours. A thread
// computes 16 by 8 results, so that a warp's tile is square, and multiplies them by one before it stores
// them, so that none has to be in registers in the order of its store. What limits it now: loads from shared
// memory are issued late; small products leave multiprocessors idle. Where it shows: only in the time.
#include "common/entry.cuh"
#include "matmul/k_steps.cuh"
#include "matmul/matmul.cuh"

using namespace gr::matmul;

enum { ROWS = 128, COLUMNS = 128, TILE_K = GR_MATMUL_TILE_K, THREADS = 128, STAGES = 2, BLOCKS = 2 };
enum { THREAD_M = 16, THREAD_N = 8 }; // results of a thread
static_assert(row_m9.rows == ROWS && row_m9.columns == COLUMNS && row_m9.threads == THREADS &&
              row_m9_f32_128x128[0] == THREADS && row_m9_f32_128x128[1] == BLOCKS);
typedef Lane<COLUMNS, THREAD_M, THREAD_N> In;

// ROUNDS: the sums of `rounds` parts of k, one after the other, each of which is added to C.
template <class T, Checks CHECKS, bool ROUNDS>
__device__ void matmul(const Matrices<T> &p, Block block, unsigned rounds) {
    __shared__ alignas(16) union {
        Steps<T, ROWS, COLUMNS, TILE_K, THREADS, STAGES, CHECKS, CHECKS == OF_BOTH ? 1 : 4> steps;
        Rows<In, T, THREADS> rows;
    } shared;
    const ShiftedTileCoord place = shifted_tile_coord<ROWS, COLUMNS>(p, block);
    const unsigned y = In::y(), x = In::x();

    T sums[THREAD_M][THREAD_N] = {};
    const auto multiply = [&](const auto &tile_a, const auto &tile_b, const auto &begin_copies) {
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            begin_copies(i);
            T frag_a[THREAD_M], frag_b[THREAD_N];
            load_fragment<In::RUN_M>(&tile_a[i][y], frag_a);
            load_fragment<In::RUN_N>(&tile_b[i][x], frag_b);
#pragma unroll
            for (int r = 0; r < THREAD_M; ++r)
#pragma unroll
                for (int j = 0; j < THREAD_N; ++j) {
                    const int s = r % 2 ? THREAD_N - 1 - j : j;
                    sums[r][s] = multiply_add(frag_a[r], frag_b[s], sums[r][s]);
                }
        }
    };
    const KRange range = KRange::of<TILE_K>(p.k, 0, 1);
    if (ROUNDS) {
        shared.steps.each_part(p, place, range, rounds, multiply, [&](unsigned round) {
            free_of_store(sums);
            store_own_results<In>(p, place, y, x, sums, round > 0);
            clear(sums);
        });
        return;
    }
    shared.steps.each(p, place, range, multiply);
    free_of_store(sums);
    if (rows_aligned(p.c, p.n)) {
        store_own_results<In>(p, place, y, x, sums);
        return;
    }
    // 2048 x 2047 x 1024 takes 185 us on an H200, and 195 where each thread stores its own, 4 bytes at once.
    __syncthreads();
    store_own_rows(p, place, y, x, shared.rows, sums);
}

template <Checks CHECKS, bool ROUNDS> __device__ void matmul_of(const gr_matmul_params &p) {
    const uint64_t pair = matrix_of_block();
    const unsigned tiles_n = unsigned(p.n_tiles);
    if (pair < p.pairs)
        matmul<float, CHECKS, ROUNDS>(matrices_of<float>(p, pair),
                                      Block{blockIdx.x % tiles_n, blockIdx.x / tiles_n}, unsigned(p.rounds));
}

// For matrices stored by rows, and for any others.
#define GR_MATMUL(name, checks, rounds)                                                                      \
    GR_ENTRY((THREADS, BLOCKS), name, __grid_constant__ gr_matmul_params, matmul_of<checks, rounds>)

GR_MATMUL(m9_f32, NONE, false)
GR_MATMUL(m9_f32_any, OF_BOTH, false)
GR_MATMUL(m9_f32_rounds, NONE, true)
GR_MATMUL(m9_f32_any_rounds, OF_BOTH, true)
